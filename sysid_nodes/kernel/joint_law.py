# SPDX-License-Identifier: Apache-2.0
"""Torque law of one actuated joint and its derivatives, in NumPy; joint_rollout.cpp has the same formulas.

A drive holds the joint at the command u by a PD law and is limited by its torque and by its speed; friction acts
behind it, all on the joint's side of the gear:

    tau = sat(gain (k_p (u - q - bias) + k_d (u' - w)))
          - (sum_b c_b B_b + f_s exp(-(w / w_s)^2)) s(w) - f_v w,            s(w) = w / sqrt(w^2 + w_0^2)

sat has the limit L (1 - w / w_n) in the direction of the torque while the joint moves that way, else L: the
torque-speed line of a motor whose voltage is limited (back-EMF). B_b are levels of dry friction: 1 for Coulomb's,
others follow the load or the position. The delay acts on u, u' before they come here; armature is inertia.
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
    "torque_limit",
    "no_load_speed",
    "viscous",
    "stribeck",
    "stribeck_speed",
)
"""Order of a law's parameters; the coefficients of the dry friction's levels follow them.

[kg m2], [s], [1], [rad], [N m], [rad/s], [N m s/rad], [N m], [rad/s]; limits may be infinite.
"""

ARMATURE, DELAY, GAIN, BIAS, LIMIT, NO_LOAD, VISCOUS, STRIBECK, STRIBECK_SPEED = range(len(LAW))

COMMAND, COMMAND_RATE, COMMAND_SLOPE, RATE_SLOPE, STIFFNESS, DAMPING, INERTIA, LOAD = range(8)
"""Columns of a step's signals; the levels B_b follow them.

Command u [rad] and u' [rad/s], their derivatives by the delay, k_p [N m/rad], k_d [N m s/rad], the rigid body's
inertia about the joint [kg m2] and torque that the rest of its dynamics takes [N m].
"""

SIGNALS = 8


class LawValue(NamedTuple):
    """Torque (P,) [N m], its derivatives by q and w (P,), and by the law's parameters (P, K)."""

    torque: Array
    by_position: Array
    by_velocity: Array
    by_parameters: Array


def joint_law(q: Array, w: Array, signals: Array, law: Array, smoothing: float, hard: bool) -> LawValue:
    """The law at P states.

    Args:
        q, w: (P,) position and velocity [rad, rad/s].
        signals: (P, 8 + B).
        law: (9 + B,).
        smoothing: w_0 [rad/s], positive.
        hard: the limit cuts off; else sat(x) = A tanh(x / A).
    """
    stiffness, damping = signals[:, STIFFNESS], signals[:, DAMPING]
    wanted = stiffness * (signals[:, COMMAND] - q - law[BIAS]) + damping * (signals[:, COMMAND_RATE] - w)
    drive, by_drive, by_available = _saturated(law[GAIN] * wanted, w, law, hard)
    available_by_speed, available_by_limit, available_by_no_load = _available_slopes(law[GAIN] * wanted, w, law)

    root = np.sqrt(w**2 + smoothing**2)
    sign, sign_slope = w / root, smoothing**2 / root**3
    level = signals[:, SIGNALS:] @ law[len(LAW) :]
    real = level > 0.0  # dry friction never drives
    bump = np.exp(-((w / law[STRIBECK_SPEED]) ** 2))
    amplitude = np.where(real, level, 0.0) + law[STRIBECK] * bump
    bump_slope = -2.0 * w / law[STRIBECK_SPEED] ** 2 * bump

    by_parameters = np.zeros((len(q), len(law)))
    by_wanted = by_drive * law[GAIN]
    by_parameters[:, DELAY] = by_wanted * (stiffness * signals[:, COMMAND_SLOPE] + damping * signals[:, RATE_SLOPE])
    by_parameters[:, GAIN] = by_drive * wanted
    by_parameters[:, BIAS] = -by_wanted * stiffness
    by_parameters[:, LIMIT] = by_available * available_by_limit
    by_parameters[:, NO_LOAD] = by_available * available_by_no_load
    by_parameters[:, VISCOUS] = -w
    by_parameters[:, STRIBECK] = -bump * sign
    by_parameters[:, STRIBECK_SPEED] = law[STRIBECK] * bump_slope * w / law[STRIBECK_SPEED] * sign
    by_parameters[:, len(LAW) :] = -np.where(real, sign, 0.0)[:, None] * signals[:, SIGNALS:]
    return LawValue(
        drive - amplitude * sign - law[VISCOUS] * w,
        -by_wanted * stiffness,
        -by_wanted * damping
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


def _saturated(torque: Array, w: Array, law: Array, hard: bool) -> tuple[Array, Array, Array]:
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
