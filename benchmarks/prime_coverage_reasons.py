# SPDX-License-Identifier: Apache-2.0
"""Text of the coverage reports: how near nominal coverage is near, and known causes of what is not."""

from __future__ import annotations

CLOSE = (60.0, 76.0, 98.0)
"""Least and largest share within one sigma and least within three that count as close to nominal [%]."""

_AS_DESCRIBED = (
    "*Mass*, and with it what is in proportion to it: the sigma is mostly that of the drives' gains, the links' masses "
    "and the rotors, which in this simulation are as described, so that the estimate errs less than it may. "
)

REASONS = {
    "go2": (
        "What is known of the reasons. *Forces of a foot in the air*: the truth is zero, and the estimate is what the "
        "smoothing of the contacts leaves, as its sigma says. Upwards such an error always has the same sign and about "
        "the size of its sigma; along the ground the sigma is all that friction allows, and the error less. "
        + _AS_DESCRIBED
        + "*Iyy* is too large by part of a sigma; with `--timestep "
        "0.001` by 1.2 sigma on average (24 runs), so that part of it is the simulation's integrator. The rest is not "
        "explained: errors that stay the same throughout a log leave no trace in residuals. *Height of the base*: the "
        "feet sink in and come out with the gait, by tenths of a millimetre, and all of them together."
    ),
    "g1": (
        "What is known of the reasons. *Forces of a foot on the ground*: the corners of a flat foot share its load in "
        "a way that the motion does not tell. Their sigmas have all shares in them that the foot's force and moment "
        "leave open, and the true ones of this simulation's even soles are nearer to the estimate's. *Forces of a foot "
        "in the air*: the sigma is what the smoothing of the contacts may leave, and "
        "the error no more. *Izz* is hardly seen by this motion, and seldom observed. "
        + _AS_DESCRIBED
        + "The others are not explained."
    ),
}
