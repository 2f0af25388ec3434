# SPDX-License-Identifier: Apache-2.0
"""A UR5 in MuJoCo with effects that no identifier is told of; its drives' readings are the torques commanded.

The truth shares the rigid-body equations with nothing of the suite but the parameters: MuJoCo integrates at half a
millisecond, a controller that knows neither load nor effects tracks sines at 500 Hz, and a log is kept at 125 Hz.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.truth import SineMotion
from benchmarks.untold_effects import Readings, Untold, spoil
from benchmarks.untold_plant import STEP, Frame, Load, Plant
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.systems.interval.config import (
    IntervalIdentifierConfig,
    NoiseConfig,
    SetMembershipConfig,
    WindowConfig,
)

Array = npt.NDArray[np.float64]

CONFIG = IntervalIdentifierConfig(
    robot="urdf",
    target="payload",
    window=WindowConfig(duration=0.25, max_gap=0.05),
    noise=NoiseConfig(
        model="window",
        torque_relative=(0.0,),
        position_error=(1e-4,),
        velocity_error=(1e-3,),
        acceleration=(10.0,),
    ),
    known_robot=KnownRobotConfig(
        inertia_relative=0.3,
        inertia_scale="body",
        coulomb=(10.0, 10.0, 10.0, 4.0, 4.0, 4.0),
        viscous=(8.0, 8.0, 8.0, 3.0, 3.0, 3.0),
        friction_relative=0.8,
        armature=(1.0, 1.0, 1.0, 0.3, 0.3, 0.3),
        armature_relative=0.8,
        offset_absolute=(1.0,),
    ),
    prior=PriorConfig(
        lower=(0.0, -3.0, -3.0, -3.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0),
        upper=(8.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
    set_membership=SetMembershipConfig(max_rows=800),
)
"""Everything that is stated of the arm."""

_CONTROL, _LOG = 4, 16
"""Steps of the simulation between commands, and between samples of the log."""
_BANDWIDTH = 2.0 * np.pi * 6.0
_SETTLING = 1.0
"""Of the controller, not logged [s]."""


class Arm:
    """A UR5 whose parameters are drawn once, within what `CONFIG` states, and its runs."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.robot: Robot = load_robot("urdf", urdf_text=example_urdf("ur_description/urdf/ur5_robot.urdf"))
        n, known = self.robot.n, CONFIG.known_robot
        scale = 1.0 + 0.6 * known.inertia_relative * rng.uniform(-1.0, 1.0, n)
        nominal = [self.robot.model.inertias[k + 1] for k in range(n)]
        bodies = [pinocchio.Inertia(b.mass * s, b.lever, b.inertia * s) for b, s in zip(nominal, scale, strict=True)]

        def draw(centre: object, relative: float) -> Array:
            return np.asarray(np.array(centre) * (1.0 + 0.9 * relative * rng.uniform(-1.0, 1.0, n)))

        motor = MotorConstants(
            0.7 * draw(known.coulomb, known.friction_relative),
            0.7 * draw(known.viscous, known.friction_relative),
            draw(known.armature, known.armature_relative),
            0.9 * known.offset_absolute[0] * rng.uniform(-1.0, 1.0, n),
        )
        self._frame = Frame(self.robot, bodies, motor)
        self._sides = rng.uniform(-1.0, 1.0, n)
        self._noise = rng.uniform(0.2, 0.5, n) * np.where(np.arange(n) < 3, 1.0, 0.3)
        self._rng = rng

    def run(self, untold: Untold, load: Load | None, duration: float) -> JointSamples:
        """A log of random sines [s]. Raises RuntimeError where the simulation runs away."""
        rng, friction = self._rng, 1.0 - (untold.drift if load is not None else 0.0)
        plant = Plant(self._frame, untold, load, friction)
        t: Array = np.arange(int(duration / STEP), dtype=np.float64) * STEP
        q, qd, qdd = SineMotion.random(rng, self.robot.n)(t[::_CONTROL])
        angles = rng.uniform(0.0, 2.0 * np.pi, self.robot.n)
        plant.place(q[0], qd[0])
        kept = []
        for k in range(len(t)):
            if k % _CONTROL == 0:
                at = k // _CONTROL
                torque = self._control(*plant.state, q[at], qd[at], qdd[at])
            if k % _LOG == 0:
                kept.append((*plant.state, torque + self._frame.motor.offset))
            plant.step(torque, angles)
        true = Readings(t[::_LOG], *(np.array(part) for part in zip(*kept, strict=True)))
        return self._log(untold, true)

    def _control(self, q: Array, v: Array, to: Array, speed: Array, rate: Array) -> Array:
        a = rate + 2.0 * _BANDWIDTH * (speed - v) + _BANDWIDTH**2 * (to - q)
        model = self.robot.model
        rigid = pinocchio.rnea(model, model.createData(), q, v, a)
        motor = self._frame.motor
        return np.asarray(rigid + motor.armature * a + motor.coulomb * np.tanh(speed / 0.05) + motor.viscous * v)

    def _log(self, untold: Untold, true: Readings) -> JointSamples:
        rng = self._rng
        if not np.isfinite(true.q).all() or np.abs(true.qd).max() > 5.0:
            raise RuntimeError("the simulation ran away")
        read = spoil(true, untold, self._sides, rng)
        q = read.q + 1e-5 * rng.uniform(-1.0, 1.0, read.q.shape)
        qd = read.qd + 5e-4 * rng.uniform(-1.0, 1.0, q.shape)
        effort = read.effort + self._noise * rng.uniform(-1.0, 1.0, q.shape)
        settled = true.t >= _SETTLING
        return JointSamples(self.robot.joint_names, read.t[settled], q[settled], qd[settled], effort[settled])
