# SPDX-License-Identifier: Apache-2.0
"""A whole robot in MuJoCo as the actuators' peers simulate it: position drives, armature, viscous and dry friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco import rollout

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.rollouts.arm_model import arm_spec
from sysid_nodes.solvers.shooting.problem import Array

_THREADS = 2


@dataclass(frozen=True)
class Drives:
    """Parameters of n drives, (n,) each: armature [kg m2], viscous [N m s/rad] and Coulomb friction [N m], bias of the
    encoder [rad] and delay of the command [s]."""

    armature: Array
    viscous: Array
    coulomb: Array
    bias: Array
    delay: Array


class CoupledRobot:
    """The robot, commanded as a log says.

    Args:
        robot: with a fixed base.
        step: of the physics [s].
    """

    def __init__(self, robot: Robot, step: float) -> None:
        self._robot, self.step = robot, step
        none = np.zeros(robot.n)
        spec = arm_spec(robot, robot.model.inertias.tolist()[1:], MotorConstants(none, none, none, none), None)
        spec.option.timestep, spec.option.integrator = step, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        for name in robot.joint_names:
            joint = spec.joint(name)
            joint.solref_friction = (2.0 * step, 1.0)
            joint.frictionloss = 1.0  # a constraint that a model does not have cannot be given one later
            spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_position(kp=1.0, kv=0.1)
            spec.add_sensor(
                name=name, type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=mujoco.mjtObj.mjOBJ_JOINT, objname=name
            )
        self._spec = spec

    def spec(self, log: ActuatorLog) -> mujoco.MjSpec:
        """A description of its own for others to change, with the drives' gains."""
        spec = self._spec.copy()
        for name, stiffness, damping in zip(self._robot.joint_names, *_gains(log), strict=True):
            spec.actuator(name).set_to_position(kp=stiffness, kv=damping)
        return spec

    def steps(self, log: ActuatorLog) -> int:
        """From a sample to the next."""
        return round(float(np.median(np.diff(log.t))) / self.step)

    def start(self, log: ActuatorLog) -> Array:
        """(1 + 2 n,) time, positions and velocities at rest where the log begins."""
        return np.concatenate([[0.0], log.q[0], np.zeros(self._robot.n)])

    def commands(self, log: ActuatorLog, drives: Drives) -> Array:
        """(steps, n) as the drives get them: held, late, and off by the bias."""
        # Evenly over the log's time: a spacing that is 1 us longer than whole steps would put commands a sample late.
        count = (len(log.t) - 1) * self.steps(log)
        t = log.t[0] + (log.t[-1] - log.t[0]) / count * np.arange(count)
        held = np.searchsorted(log.command_t, t[:, None] - drives.delay + 1e-6, side="right") - 1
        told = np.take_along_axis(log.command, np.clip(held, 0, None), axis=0)
        return np.asarray(told - drives.bias)

    def replay(self, log: ActuatorLog, candidates: Sequence[Drives]) -> Array:
        """(P, N, n) positions of the encoders for P candidates."""
        n, every = self._robot.n, self.steps(log)
        models, controls = [], []
        stiffness, damping = _gains(log)
        for drives in candidates:
            model = self._spec.compile()
            model.dof_armature[:], model.dof_frictionloss[:] = drives.armature, np.maximum(drives.coulomb, 1e-6)
            model.dof_damping[:] = drives.viscous[:, None] if model.dof_damping.ndim > 1 else drives.viscous
            model.actuator_gainprm[:, 0] = stiffness
            model.actuator_biasprm[:, 1], model.actuator_biasprm[:, 2] = -stiffness, -damping
            controls.append(self.commands(log, drives))
            models.append(model)
        data = [mujoco.MjData(models[0]) for _ in range(_THREADS)]
        states, _ = rollout.rollout(models, data, np.tile(self.start(log), (len(models), 1)), np.array(controls))
        positions = states[:, every - 1 :: every, 1 : 1 + n]
        return np.concatenate([np.repeat(log.q[None, :1], len(models), axis=0), positions], axis=1)


def error(log: ActuatorLog, replayed: Array) -> Array:
    """(P,) RMSE of replays [rad]."""
    off = np.where(np.isfinite(replayed), replayed, 1e3) - log.q
    return np.asarray(np.sqrt(np.mean(off**2, axis=(1, 2))))


def _gains(log: ActuatorLog) -> tuple[Array, Array]:
    assert log.stiffness is not None and log.damping is not None
    return log.stiffness, log.damping
