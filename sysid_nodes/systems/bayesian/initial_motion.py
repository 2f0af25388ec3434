# SPDX-License-Identifier: Apache-2.0
"""A first motion: readings smoothed, joints that are not read placed so that the loops close."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.models.loop_closure import LoopClosures
from sysid_nodes.models.loop_motion import CLOSED, close_loops
from sysid_nodes.solvers.wiener_smoother import smooth_motion
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_AROUND = 6  # stages on one side of an impact that tell its speed at first
_EVERY = 4  # stages between those that are closed one by one


def initial_positions(mechanism: Mechanism, log: MechanismLog) -> Array:
    """(N, n) positions that close the loops, near the readings.

    Raises:
        LogError: a joint of an open chain was not read, or a loop cannot be closed at the readings.
    """
    read = np.any(np.isfinite(log.position), axis=0)
    q = np.zeros_like(log.position)
    for j in np.flatnonzero(read):
        for side in mechanism.contacts.sides(log.stages, log.step):
            measured = np.isfinite(log.position[side, j])
            if not measured.any():
                raise LogError("a joint was not read between two impacts")
            q[side, j] = _smooth(log.position[side, j], measured, log.step)
    if read.all() and not mechanism.loops.count:
        return q
    free = ~read
    freedom = mechanism.chain.n - mechanism.loops.count
    if int(read.sum()) < freedom:
        names = ", ".join(np.array(mechanism.chain.joint_names)[free])
        raise LogError(f"{freedom} joints must be read to tell the motion; not read: {names}")
    before = np.zeros((1, int(free.sum())))
    nodes = [*range(0, len(q) - 1, _EVERY), len(q) - 1]
    for k in nodes:  # one after the other, each beginning at the one before: that holds on to a branch
        q[k] = _close(mechanism.loops, q[k : k + 1], free, before, k == 0)[0]
        before = q[k : k + 1, free]
    between = np.arange(len(q))
    guess = np.stack([np.interp(between, nodes, q[nodes, j]) for j in np.flatnonzero(free)], axis=1)
    q = _close(mechanism.loops, q, free, guess, False)
    if mechanism.loops.has_turned_round(q):
        raise LogError("a loop closes with its links turned round: are joints at zero where its frames agree?")
    return q


def differences(q: Array, step: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (N - 2, n) at inner stages."""
    return q[1:-1], (q[2:] - q[:-2]) / (2.0 * step), (q[2:] - 2.0 * q[1:-1] + q[:-2]) / step**2


def impact_constants(mechanism: Mechanism, q: Array, step: float, x: Array) -> Array:
    """All constants (P,), those of impacts told by the motion q (N, n) on both sides."""
    x = x.copy()
    for impact in mechanism.contacts.impacts:
        k, t = impact.stage(step), x[impact.instant]
        sides = (np.arange(k + 1 - _AROUND, k + 1), np.arange(k + 1, k + 1 + _AROUND))
        before, after = (np.polyfit(step * at - t, q[at], 2) for at in sides)
        x[impact.jump], x[impact.bend] = after[1] - before[1], 2.0 * (after[0] - before[0])
        change, place = x[impact.jump][None], before[2][None]
        across = mechanism.closures.linearise(place)[1][0][impact.held]
        x[impact.impulse] = np.linalg.pinv(across.T) @ mechanism.momentum(place, change, x)[0][0]
    free = mechanism.parameters.sigma > 0.0
    return np.where(free, np.clip(x, mechanism.parameters.lower, mechanism.parameters.upper), x)


def loop_forces(mechanism: Mechanism, motion: Motion, x: Array) -> Array:
    """(N, c) forces in the loops that leave nothing to do to joints without a motor [N]."""
    if not mechanism.closures.count:
        return motion.force
    passive = ~mechanism.parameters.motors
    free = mechanism.torque(Motion(motion.q, motion.v, motion.a, np.zeros_like(motion.force)), x)[:, passive]
    _, jacobian = mechanism.closures.linearise(motion.q)
    across = jacobian[:, :, passive].swapaxes(1, 2)
    return np.asarray((np.linalg.pinv(across) @ free[:, :, None])[:, :, 0])


def _smooth(y: Array, measured: BoolArray, step: float) -> Array:
    n = len(y)
    filled = np.interp(np.arange(n), np.flatnonzero(measured), y[measured])
    if np.ptp(y[measured]) == 0.0:
        return np.asarray(filled)
    return smooth_motion(filled, measured, np.ones(n - 2), np.zeros(n - 2), step).position


def _close(closures: LoopClosures, q: Array, free: BoolArray, before: Array, first: bool) -> Array:
    """(N, n) configurations with free joints placed by Newton's method from where they were, (N, free joints)."""
    q = q.copy()
    q[:, free] = before
    placed, left = close_loops(closures, q, free)
    if left >= CLOSED and int(free.sum()) < closures.count:
        # Readings of more joints than there are freedoms do not close by themselves: then all joints give way a little.
        placed, left = close_loops(closures, placed, np.ones_like(free))
    if left >= CLOSED:
        where = "the first positions" if first else "some positions"
        raise LogError(
            f"a loop cannot be closed at {where} that were read: {1e3 * left:.3g} mm or mrad stay open",
            kind=f"a loop cannot be closed at {where} that were read",
        )
    return placed
