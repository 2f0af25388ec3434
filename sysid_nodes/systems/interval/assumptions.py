# SPDX-License-Identifier: Apache-2.0
"""The assumptions of the guarantee in words, with the numbers in force."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.calibration_file import Calibration
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.noise import Noise


def describe(
    config: IntervalIdentifierConfig,
    noise: Noise,
    calibration: Calibration | None,
    earlier: Sequence[tuple[float, Noise]] = (),
) -> list[str]:
    """The assumptions that all methods share, one sentence each.

    Args:
        noise: errors stated at present.
        calibration: of the known robot, where there is one.
        earlier: errors that were stated before, each with the stamp up to which it was used [s].
    """
    lines = [
        "The body is rigid, rigidly attached, and stays the same while data are taken.",
        "The robot's base is fixed, its gravity vector and its kinematics (joint axes, link lengths, zeros of "
        "the encoders) are exact, and nothing touches the arm, cables and springs included.",
        "Links and joints do not bend and gears have no play: the angles read are those of the links, and of the same "
        "instant as the efforts.",
        *_errors(noise),
        *_earlier(noise, earlier),
    ]
    known = config.known_robot
    if calibration is not None:
        lines.append(f"The rest of the robot lies in the box of its calibration ({calibration.summary()}).")
        n = len(calibration.joints)
        gain = slice(14 * n, 15 * n)
        lower, upper = calibration.lower[gain], calibration.upper[gain]
        lines.append(
            "Torque is the reading times a factor that is constant in time and known to within "
            f"{_percent((upper - lower) / (upper + lower))}: without a load of known mass nothing tells it."
        )
        lines.append("Drives rub as they did during the calibration, as warm as then, whatever they carry.")
        if calibration.unshown:
            names = ", ".join(calibration.unshown)
            lines.append(f"The efforts of {names} are measured torques, though the calibration's runs do not show it.")
    else:
        lines.append(
            f"Every inertial parameter of the other links lies within {100 * known.inertia_relative:g} % of "
            f"{'its nominal value' if known.inertia_scale == 'value' else 'what the mass and size of its link give'}, "
            f"friction within {100 * known.friction_relative:g} %, armature within "
            f"{100 * known.armature_relative:g} %, torque offset within "
            f"{_numbers(np.array(known.offset_absolute))} N m, torque gain within "
            f"{_percent(np.array(known.gain_relative))}."
        )
    lines.append(
        "Friction is F_c sign(qd) + F_v qd; while the sign of qd is not certain it is anything in [-F_c, F_c]."
    )
    prior = config.prior.bounds
    what = "The body" if config.target == "body" else "The payload"
    lines.append(f"{what} lies in the prior box, its mass in [{prior.lower[0]:g}, {prior.upper[0]:g}] kg.")
    lines.append(f"{what} is physically consistent: its mass density is nowhere negative.")
    return lines


def _earlier(noise: Noise, earlier: Sequence[tuple[float, Noise]]) -> list[str]:
    """Assumptions about the data before a change of the parameters: the bounds rest on them too."""
    now = set(_errors(noise))
    latest = {line: t for t, before in earlier for line in _errors(before) if line not in now}
    return [f"Of the data up to t = {t:.3f} s this was assumed instead: {line}" for line, t in latest.items()]


def _errors(noise: Noise) -> list[str]:
    torque = f"{_percent(noise.torque_relative)} of the reading plus {_numbers(noise.torque_absolute)} N m"
    if not noise.itemised:
        return [
            "The mean torque over a window is explained by the model to within "
            f"{torque}, all errors of measurement, sampling and friction together."
        ]
    between = (
        "Torque is constant from one stamp to the next" + (", as the later reading says." if noise.until else ".")
        if noise.hold
        else f"Between samples torque changes by at most {_numbers(noise.torque_rate)} N m/s, "
        "but for the jump when friction changes its sign"
        + (
            f", and that rate, while no joint reverses, by at most {_numbers(noise.torque_curvature)} N m/s2"
            f"{_where_stated(noise.torque_curvature)}; at the samples it may jump."
            if noise.torque_curvature.any()
            else "."
        )
    )
    return [
        f"A torque reading is wrong by at most {torque}.",
        f"A position reading is wrong by at most {_numbers(noise.position)} rad, "
        f"a velocity reading by at most {_numbers(noise.velocity)} rad/s, a stamp by at most {noise.stamp:g} s.",
        f"No joint accelerates by more than {_numbers(noise.acceleration)} rad/s2"
        + (
            f", and between two samples acceleration changes by at most {_numbers(noise.jerk)} rad/s3."
            if noise.jerk.all()
            else "."
        ),
        between,
        "Sliding joints stay within their limits.",
    ]


def _where_stated(values: npt.NDArray[np.float64]) -> str:
    return "" if values.all() else " (0: not assumed)"


def _numbers(values: npt.NDArray[np.float64]) -> str:
    if np.ptp(values) == 0.0:
        return f"{values[0]:.4g}"
    return f"{values.min():.4g} to {values.max():.4g} (by joint)"


def _percent(values: npt.NDArray[np.float64]) -> str:
    return _numbers(100.0 * values) + " %"
