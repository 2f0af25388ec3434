# SPDX-License-Identifier: Apache-2.0
"""Torque law of one actuated joint and its derivatives, in NumPy; joint_rollout.cpp has the same formulas.

A drive holds the joint at the command u by a PD law, adds the torque t that it is told, and is limited by its torque
and by its speed; friction acts behind it, all on the joint's side of the gear:

    tau = sat(D_z(gain (k_p d + k_d d' + t))) + offset
          - (sum_b c_b B_b + f_s exp(-(w / w_s)^2)) s(w) - f_v w,            s(w) = w / sqrt(w^2 + w_0^2)

sat has the limit L (1 - w / w_n) in the direction of the torque while the joint moves that way, else L: the
torque-speed line of a motor whose voltage is limited (back-EMF). The drive acts through the gear's backlash b: what it
turns is the deflection d = D_b/2(u - q - bias) beyond the gap, d' its rate (the dead-zone model, Nordin and Gutman
2002); z is the dead zone of its torque; D is `play`. B_b are levels of dry friction: 1 for Coulomb's,
others follow the load or the position. The delay acts on u, u', t before they come here; armature is inertia.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

LAW = (
    "armature",
    "delay",
    "gain",
    "encoder_bias",
    "torque_offset",
    "backlash",
    "dead_zone",
    "torque_limit",
    "no_load_speed",
    "viscous",
    "stribeck",
    "stribeck_speed",
)
"""Order of a law's parameters; the coefficients of the dry friction's levels follow them.

[kg m2], [s], [1], [rad], [N m], [rad], [N m], [N m], [rad/s], [N m s/rad], [N m], [rad/s]; limits may be infinite.
"""

(
    ARMATURE, DELAY, GAIN, BIAS, OFFSET, BACKLASH, DEAD_ZONE, LIMIT, NO_LOAD, VISCOUS, STRIBECK, STRIBECK_SPEED,
) = range(len(LAW))  # fmt: skip

PLAY_ROUNDING, ZONE_ROUNDING = 1e-4, 1e-3
"""Over which the corners of backlash and dead zone are rounded [rad, N m]."""

SIGNALS = 10
COMMAND, COMMAND_RATE, TORQUE, COMMAND_SLOPE, RATE_SLOPE, TORQUE_SLOPE, STIFFNESS, DAMPING, INERTIA, LOAD = range(
    SIGNALS
)
"""Columns of a step's signals; the levels B_b follow them.

Command u [rad], u' [rad/s] and t [N m], their derivatives by the delay, k_p [N m/rad], k_d [N m s/rad], the rigid
body's inertia about the joint [kg m2] and torque that the rest of its dynamics takes [N m].
"""


class LawValue(NamedTuple):
    """Torque (P,) [N m], its derivatives by q and w (P,), and by the law's parameters (P, K)."""

    torque: Array
    by_position: Array
    by_velocity: Array
    by_parameters: Array


class Play(NamedTuple):
    """The part of x beyond a gap, two derivatives of it by x, those of value and slope by the half width."""

    value: Array
    slope: Array
    curvature: Array
    by_half: Array
    slope_by_half: Array


def play(x: Array, half: float, rounding: float) -> Play:
    """D(x) = x + (r(x - half) - r(x + half)) / 2, r(y) = sqrt(y^2 + rounding^2): nothing inside, less x outside."""
    above, below = x - half, x + half
    a, b = np.sqrt(above**2 + rounding**2), np.sqrt(below**2 + rounding**2)
    sharp_a, sharp_b = rounding**2 / a**3, rounding**2 / b**3
    return Play(
        x + 0.5 * (a - b),
        1.0 + 0.5 * (above / a - below / b),
        0.5 * (sharp_a - sharp_b),
        -0.5 * (above / a + below / b),
        -0.5 * (sharp_a + sharp_b),
    )


def joint_law(q: Array, w: Array, signals: Array, law: Array, smoothing: float, hard: bool) -> LawValue:
    """The law at P states.

    Args:
        q, w: (P,) position and velocity [rad, rad/s].
        signals: (P, 10 + B).
        law: (12 + B,).
        smoothing: w_0 [rad/s], positive.
        hard: the limit cuts off; else sat(x) = A tanh(x / A).
    """
    stiffness, damping = signals[:, STIFFNESS], signals[:, DAMPING]
    rate = signals[:, COMMAND_RATE] - w
    gap = play(signals[:, COMMAND] - q - law[BIAS], 0.5 * law[BACKLASH], PLAY_ROUNDING)
    wanted = stiffness * gap.value + damping * gap.slope * rate + signals[:, TORQUE]
    by_error, by_rate = stiffness * gap.slope + damping * gap.curvature * rate, damping * gap.slope
    zone = play(law[GAIN] * wanted, law[DEAD_ZONE], ZONE_ROUNDING)
    drive, by_sent, by_available = _saturate(zone.value, w, law, hard)
    by_drive = by_sent * zone.slope
    available_by_speed, available_by_limit, available_by_no_load = _available_slopes(zone.value, w, law)

    root = np.sqrt(w**2 + smoothing**2)
    sign, sign_slope = w / root, smoothing**2 / root**3
    level = signals[:, SIGNALS:] @ law[len(LAW) :]
    real = level > 0.0  # dry friction never drives
    bump = np.exp(-((w / law[STRIBECK_SPEED]) ** 2))
    amplitude = np.where(real, level, 0.0) + law[STRIBECK] * bump
    bump_slope = -2.0 * w / law[STRIBECK_SPEED] ** 2 * bump

    by_parameters = np.zeros((len(q), len(law)))
    by_wanted = by_drive * law[GAIN]
    by_parameters[:, DELAY] = by_wanted * (
        by_error * signals[:, COMMAND_SLOPE] + by_rate * signals[:, RATE_SLOPE] + signals[:, TORQUE_SLOPE]
    )
    by_parameters[:, GAIN] = by_drive * wanted
    by_parameters[:, BIAS] = -by_wanted * by_error
    by_parameters[:, OFFSET] = 1.0
    by_parameters[:, BACKLASH] = 0.5 * by_wanted * (stiffness * gap.by_half + damping * gap.slope_by_half * rate)
    by_parameters[:, DEAD_ZONE] = by_sent * zone.by_half
    by_parameters[:, LIMIT] = by_available * available_by_limit
    by_parameters[:, NO_LOAD] = by_available * available_by_no_load
    by_parameters[:, VISCOUS] = -w
    by_parameters[:, STRIBECK] = -bump * sign
    by_parameters[:, STRIBECK_SPEED] = law[STRIBECK] * bump_slope * w / law[STRIBECK_SPEED] * sign
    by_parameters[:, len(LAW) :] = -np.where(real, sign, 0.0)[:, None] * signals[:, SIGNALS:]
    return LawValue(
        drive + law[OFFSET] - amplitude * sign - law[VISCOUS] * w,
        -by_wanted * by_error,
        -by_wanted * by_rate
        + by_available * available_by_speed
        - amplitude * sign_slope
        - law[STRIBECK] * bump_slope * sign
        - law[VISCOUS],
        by_parameters,
    )


def _available(torque: Array, w: Array, law: Array) -> tuple[Array, Array]:
    """Share of the limit that speed leaves in the direction of the torque, and whether speed takes any."""
    ahead = w * np.sign(torque)
    share = 1.0 - np.maximum(ahead, 0.0) / law[NO_LOAD]
    return np.maximum(share, 0.0), (ahead > 0.0) & (share > 0.0)


def _saturate(torque: Array, w: Array, law: Array, hard: bool) -> tuple[Array, Array, Array]:
    """sat, its derivatives by the torque and by the available torque."""
    if not np.isfinite(law[LIMIT]):
        return torque, np.ones_like(torque), np.zeros_like(torque)
    available = law[LIMIT] * _available(torque, w, law)[0]
    inside = np.abs(torque) < available
    if hard:
        cut = np.where(inside, torque, np.sign(torque) * available)
        return cut, np.where(inside, 1.0, 0.0), np.where(inside, 0.0, np.sign(torque))
    ratio = np.divide(torque, available, out=np.sign(torque) * np.inf, where=available > 0.0)
    tanh = np.tanh(ratio)
    slope = 1.0 - tanh**2
    product = np.where(np.isfinite(ratio), np.where(np.isfinite(ratio), ratio, 0.0) * slope, 0.0)
    return available * tanh, slope, tanh - product


def _available_slopes(torque: Array, w: Array, law: Array) -> tuple[Array, Array, Array]:
    """Derivatives of the available torque by w, by the limit and by the no-load speed."""
    if not np.isfinite(law[LIMIT]):
        zero = np.zeros_like(torque)
        return zero, zero, zero
    share, moving = _available(torque, w, law)
    slope = np.where(moving, law[LIMIT] / law[NO_LOAD], 0.0)
    return -slope * np.sign(torque), share, slope * np.abs(w) / law[NO_LOAD]
