# SPDX-License-Identifier: Apache-2.0
"""Actuators as PACE (arXiv 2509.06342, Isaac Lab) finds them, in MuJoCo: 4 n + 1 parameters at once by CMA-ES.

Armature, viscous and Coulomb friction and encoder bias of every joint, and one delay in whole steps of the commands for
all; a candidate's cost is the squared error of one rollout of the whole, coupled robot over the whole log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cma
import mujoco
import numpy as np
from mujoco import rollout

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.simulation.arm.mujoco_arm import arm_spec
from sysid_nodes.solvers.shooting.problem import Array

_LOWER = np.array([0.0, 0.0, 0.0, -0.1])
_UPPER = np.array([0.1, 2.0, 2.0, 0.1])
"""Of armature [kg m2], viscous [N m s/rad], Coulomb [N m] and bias [rad]; PACE's own."""

_LONGEST = 10.0  # delay in steps
_SPREAD = 0.25  # of the first population, relative to the ranges
_THREADS = 2


@dataclass(frozen=True)
class Pace:
    """A search's end.

    Attributes:
        values: (4 n + 1,) relative to the ranges.
        rollouts: of the whole log.
    """

    values: Array
    rollouts: int


class PaceRobot:
    """The coupled robot, commanded as a log says.

    Args:
        robot: with a fixed base.
        step: of the physics [s].
    """

    def __init__(self, robot: Robot, step: float) -> None:
        self._robot, self._step = robot, step
        none = np.zeros(robot.n)
        spec = arm_spec(robot, robot.model.inertias.tolist()[1:], MotorConstants(none, none, none, none), None)
        spec.option.timestep, spec.option.integrator = step, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        for name in robot.joint_names:
            spec.joint(name).solref_friction = (2.0 * step, 1.0)
            spec.joint(name).frictionloss = 1.0  # a constraint that a model does not have cannot be given one later
            spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(kp=1.0, kv=0.1)
        self._spec = spec

    def replay(self, log: ActuatorLog, candidates: Array) -> Array:
        """(P, N, n) positions of the encoders for candidates (P, 4 n + 1)."""
        n, dt = self._robot.n, float(np.median(np.diff(log.t)))
        every = round(dt / self._step)
        models, controls, starts = [], [], []
        for candidate in candidates:
            armature, viscous, coulomb, bias = (_LOWER + candidate[:-1].reshape(n, 4) * (_UPPER - _LOWER)).T
            model = self._spec.compile()
            model.dof_armature[:], model.dof_frictionloss[:] = armature, np.maximum(coulomb, 1e-6)
            model.dof_damping[:] = viscous[:, None] if model.dof_damping.ndim > 1 else viscous
            model.actuator_gainprm[:, 0] = log.stiffness
            model.actuator_biasprm[:, 1], model.actuator_biasprm[:, 2] = -log.stiffness, -log.damping
            late = np.maximum(np.arange(len(log.t)) - round(_LONGEST * float(candidate[-1])), 0)
            at = np.clip(np.searchsorted(log.command_t, log.t + 1e-9, side="right") - 1, 0, None)
            controls.append(np.repeat(log.command[at][late] - bias, every, axis=0)[: (len(log.t) - 1) * every])
            starts.append(np.concatenate([[0.0], log.q[0], np.zeros(n)]))
            models.append(model)
        data = [mujoco.MjData(models[0]) for _ in range(_THREADS)]
        states, _ = rollout.rollout(models, data, np.array(starts), np.array(controls))
        positions = states[:, every - 1 :: every, 1 : 1 + n]
        return np.concatenate([np.repeat(log.q[None, :1], len(models), axis=0), positions], axis=1)


def error(log: ActuatorLog, replayed: Array) -> Array:
    """(P,) RMSE of replays [rad]."""
    off = np.where(np.isfinite(replayed), replayed, 1e3) - log.q
    return np.asarray(np.sqrt(np.mean(off**2, axis=(1, 2))))


def fit_pace(
    robot: PaceRobot, log: ActuatorLog, budget: int, seed: int, progress: Callable[[int, float], None]
) -> Pace:
    """CMA-ES until it has spent `budget` rollouts."""
    options = {"seed": seed, "maxfevals": budget, "verbose": -9, "bounds": [0.0, 1.0]}
    search = cma.CMAEvolutionStrategy(np.full(4 * log.n + 1, 0.5), _SPREAD, options)
    while not search.stop():
        candidates = np.array(search.ask())
        costs = error(log, robot.replay(log, candidates))
        search.tell(list(candidates), (costs**2).tolist())
        progress(search.countevals, float(np.sqrt(search.best.f)))
    return Pace(np.array(search.result.xbest), int(search.countevals))
