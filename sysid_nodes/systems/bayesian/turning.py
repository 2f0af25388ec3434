# SPDX-License-Identifier: Apache-2.0
"""Stages at which dry friction is not to be told from a joint's speed, and what that leaves open of power.

The model's friction turns smoothly over a small speed, and linear in it: from there a torque would tell a speed a
hundred times better than any encoder. So torques of such stages are not used. Power is another matter: what friction
takes is its torque times a speed that is next to nothing there.

Nor are torques left out where loops hold more forces than there are joints without a motor, as of two feet that stand:
torques alone tell those forces, and with one motor left out the others' torques next to nothing. A biped's dozen motors
turn slowly, one or another, at nearly all times. There such torques count in the doubt that friction leaves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism
from sysid_nodes.systems.bayesian.problem import MechanismProblem

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_TURNED = 2.65  # turning speeds at which friction is up to a hundredth what it will be
_WITHIN = 1.5  # stages: a speed is a difference over two, and readings are means over one
_COARSE = 0.2  # turning speeds by which a speed may change within a stage
_STILL = 0.05  # turning speeds below which a joint may as well stand still, and dry friction be anything up to its size


def turns(mechanism: Mechanism, log: MechanismLog, at: Estimate, smoothed: Array | None = None) -> BoolArray:
    """(N - 2, m) stages at which a motor's dry friction is not to be told from its speed.

    Or that of a joint without a motor, which loops hand on to all motors. A joint that stands still is held by as much
    friction as it takes, which the model's smooth turn denies. And where the speed changes by a fifth of what friction
    turns over from one stage to the next, what happens between is not to be told from the stages' speeds; nor is dry
    friction from a speed that readings tell no better than that: a linear model would have it that torques tell speeds.

    Args:
        mechanism: whose joints they are.
        log: readings.
        at: the estimate.
        smoothed: (N, n) positions by the readings alone: torques of other joints shake an estimate of one that stands.
    """
    own = mechanism.parameters
    v, a = (mechanism.of_motors(rate) for rate in mechanism.contacts.inner_motion(at.q, at.x, log.step))
    jitter = np.sqrt(mechanism.coupling**2 @ log.jitter**2)
    over, change = own.constants(at.x, "turning_speed"), log.step * np.abs(a)
    dry = (own.sigma[own.joint("coulomb")] > 0.0) | (own.mean[own.joint("coulomb")] > 0.0)
    # Bristles have bent over at the speed that a joint has after that way from where it turned.
    turned = np.where(own.bristles, np.sqrt(2.0 * np.abs(a) * own.constants(at.x, "deflection")), over)
    unsure = np.hypot(change, jitter / (np.sqrt(2.0) * log.step))
    quick = (unsure > _COARSE * turned) & (np.abs(v) < _TURNED * turned + _WITHIN * unsure)
    by_readings = v
    if smoothed is not None:
        by_readings = mechanism.of_motors(mechanism.contacts.inner_motion(smoothed, at.x, log.step)[0])
    slowest = np.minimum(np.abs(v), np.abs(by_readings))
    slow = dry & (quick | (slowest < _STILL * over))
    return np.asarray(slow[:, own.motors] | slow[:, ~own.motors].any(axis=1, keepdims=True))


def with_doubts(problem: MechanismProblem, at: Estimate) -> MechanismProblem:
    """The problem with what dry friction of joints that turn or stand leaves open of torques and of power.

    Of a motor it is off by up to F, its size and a prior sigma more.
    """
    own = problem.mechanism.parameters
    friction = np.sum(
        [own.constants(at.x, name) + own.sigma[own.joint(name)] for name in ("coulomb", "stiction")], axis=0
    )
    if friction[~own.motors].any():  # loops hand on who knows how much of it to all motors
        return replace(problem, torque_doubt=None, power_doubt=None)
    if problem.mechanism.closures.count > np.count_nonzero(~own.motors):
        return replace(problem, torque_doubt=_torque_doubt(problem.turning, friction[own.motors]), power_doubt=None)
    return replace(problem, torque_doubt=None, power_doubt=_power_doubt(problem, at, friction))


def _torque_doubt(turning: BoolArray, friction: Array) -> Array:
    """(N, m) of stages that turn (N, m), for friction of motors (m,) [N m].

    What is off the same way all along a stretch of stages, they count for as one reading.
    """
    lasts = np.zeros(turning.shape)
    for j, column in enumerate(turning.T):
        stretch = np.cumsum(np.diff(column, prepend=column[0]))
        lasts[:, j] = np.bincount(stretch)[stretch]
    return np.asarray(friction * np.sqrt(lasts))


def _power_doubt(problem: MechanismProblem, at: Estimate, friction: Array) -> Array | None:
    """(N - 2,) standard deviation of power that it leaves open [W]: a joint's speed times F, and its losses' share.

    Not in a short log, which such stages may be most of: of half a second of 15 legs, intervals of 95 % held 86 % with
    it, 92 without.
    """
    if problem.log.is_short:
        return None
    mechanism, own = problem.mechanism, problem.mechanism.parameters
    motion = problem.motion(at)
    speed, torque = np.abs(mechanism.of_motors(motion.v)), np.abs(mechanism.torque(motion, at.x))
    off = (friction * (speed + own.constants(at.x, "loss") * (2.0 * torque + friction)))[:, own.motors]
    return np.asarray(np.sqrt(np.sum((problem.turning * off) ** 2, axis=1)))
