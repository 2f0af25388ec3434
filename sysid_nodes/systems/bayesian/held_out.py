# SPDX-License-Identifier: Apache-2.0
"""Torques of the part of a log that was not used: predicted by the estimate, the description and least squares."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.results.bayesian import HeldOut
from sysid_nodes.systems.bayesian.initial_motion import differences, initial_positions, loop_forces
from sysid_nodes.systems.bayesian.log import LEAST_STAGES, MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion

Array = npt.NDArray[np.float64]

_RANK = 1e-8  # of the columns that least squares can tell apart


def predict_held_out(
    mechanism: Mechanism, used: MechanismLog | None, rest: MechanismLog, x: Array, q: Array | None = None
) -> HeldOut | None:
    """Predictions of what is left of a log, None where that is too short or has no torques.

    Args:
        mechanism: with its constants.
        used: part that least squares may learn from; None to leave that out.
        rest: the part that is predicted.
        x: the estimate.
        q: (K, n) positions along the rest by its readings alone, where they are known already.
    """
    if rest.stages < LEAST_STAGES or not np.isfinite(rest.torque).any():
        return None
    try:
        motion = _motion(mechanism, rest, initial_positions(mechanism, rest) if q is None else q)
    except LogError:  # a part in which some joint was not read
        return None
    own, read = mechanism.parameters, np.asarray(np.isfinite(rest.torque).any(axis=0))
    motors = np.flatnonzero(own.motors)[read]
    inside = np.all(np.isfinite(rest.torque[1:-1, read]), axis=1)
    measured = rest.torque[1:-1, read][inside]

    def reading(theta: Array) -> Array:
        forced = Motion(motion.q, motion.v, motion.a, loop_forces(mechanism, motion, theta))
        gain, offset, delay = (own.constants(theta, name)[motors] for name in ("gain", "offset", "delay"))
        torque, t = gain * mechanism.torque(forced, theta)[:, motors] + offset, rest.t[1:-1]
        late = [np.interp(t - lag, t, column) for lag, column in zip(delay, torque.T, strict=True)]
        return np.stack(late, axis=1)[inside]

    fitted = None if used is None else _least_squares(mechanism, used, motion, read)
    nominal, identified = reading(own.mean), reading(x)
    least_squares = np.full_like(measured, np.nan) if fitted is None else fitted[inside]
    errors = [part - measured for part in (nominal, least_squares, identified)]
    return HeldOut(
        tuple(np.array(mechanism.chain.joint_names)[motors].tolist()),
        rest.t[1:-1][inside] + (0.0 if used is None else rest.start - used.start),
        measured,
        nominal,
        least_squares,
        identified,
        np.array([np.sqrt(np.mean(error**2, axis=0)) for error in errors]),
    )


def _motion(mechanism: Mechanism, log: MechanismLog, positions: Array) -> Motion:
    q, v, a = differences(positions, log.step)
    return Motion(q, v, a, np.zeros((len(q), mechanism.closures.count)))


def _least_squares(
    mechanism: Mechanism, used: MechanismLog, motion: Motion, read: npt.NDArray[np.bool_]
) -> Array | None:
    """(K, m) torques of the m joints that are read, predicted by ordinary least squares on smoothed motion.

    None for other than open chains with all joints driven.
    """
    if mechanism.closures.count or not mechanism.parameters.motors.all():
        return None
    here = _motion(mechanism, used, initial_positions(mechanism, used))
    torque = used.torque[1:-1, read]
    inside = np.all(np.isfinite(torque), axis=1)
    if inside.sum() < LEAST_STAGES:
        return None
    rows, right = _regressor(mechanism, here)[inside][:, read], torque[inside]
    solution = np.linalg.lstsq(rows.reshape(-1, rows.shape[2]), right.ravel(), rcond=_RANK)[0]
    return np.asarray(_regressor(mechanism, motion)[:, read] @ solution)


def _regressor(mechanism: Mechanism, motion: Motion) -> Array:
    """(K, n, 10 n + 4 n) rigid bodies; Coulomb and viscous friction, armature and offset of each joint."""
    n = mechanism.chain.n
    v, a = mechanism.of_motors(motion.v), mechanism.of_motors(motion.a)
    turned = np.tanh(v / np.exp(mechanism.parameters.mean[mechanism.parameters.joint("turning_speed")]))
    joint = np.zeros((len(motion.q), n, 4 * n))
    for k, column in enumerate((turned, v, a, np.ones_like(v))):
        joint[:, np.arange(n), k * n + np.arange(n)] = column
    bodies = mechanism.by_motors(standard_regressor(mechanism.chain, motion.q, motion.v, motion.a))
    return np.concatenate([bodies, joint], axis=2)
