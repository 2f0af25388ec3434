# SPDX-License-Identifier: Apache-2.0
"""Integrals of the torque over windows, and by how much they may be off for what torque does between samples.

The trapezoid of a torque whose rate is at most R misses its integral over a step h by at most R h^2 / 4. Where its
curvature is at most K but for kinks at the samples, that is K h^3 / 12, and R s h for each end, as with stamps off by
s a kink may lie as far inside the step: beyond the zones of s at both ends the torque bends by K, within them it may
leave its tangent by a rate of 2 R at most, and integral and trapezoid of that differ by int_0^s 2 R (h/2 - u) du <= R
s h.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.windowed_samples import WindowedSamples

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TorqueIntegrals:
    """Integrals over each window, (W, n): torque [N m s], its magnitude, and the largest error between samples."""

    impulse: Array
    load: Array
    between: Array


def integrate_torque(windows: WindowedSamples, noise: Noise) -> TorqueIntegrals:
    """Integrals of the readings as their interpolation says."""
    dt, e, stamp = windows.dt, windows.samples.tau, windows.stamp_error
    if noise.hold:
        held = e[1:] if noise.until else e[:-1]
        error = noise.torque_relative * np.abs(e) + noise.torque_absolute
        return TorqueIntegrals(
            impulse=windows.sum(held * dt),
            load=windows.sum(np.abs(held) * dt),
            between=windows.sum(np.abs(np.diff(e, axis=0)) + error[1:] + error[:-1]) * stamp,
        )
    return TorqueIntegrals(
        impulse=windows.sum(0.5 * (e[1:] + e[:-1]) * dt),
        load=windows.sum(0.5 * (np.abs(e[1:]) + np.abs(e[:-1])) * dt),
        between=_off_the_lines(windows, noise) + noise.torque_rate * stamp * windows.duration[:, None],
    )


def _off_the_lines(windows: WindowedSamples, noise: Noise) -> Array:
    """(W, n) largest error of the trapezoids for what torque does between the samples [N m s]."""
    dt, rate, curvature = windows.dt, noise.torque_rate, noise.torque_curvature
    if not curvature.any():
        return np.asarray(0.25 * rate * windows.sum(dt**2))
    steep = 0.25 * rate * dt**2
    bent = curvature * dt**3 / 12.0 + 2.0 * rate * windows.stamp_error * dt
    # Friction that flips in any joint shakes all of them.
    smooth = np.asarray(windows.sign_certain.all(axis=1))[:, None] & (curvature > 0.0)
    return windows.sum(np.where(smooth, np.minimum(steep, bent), steep))
