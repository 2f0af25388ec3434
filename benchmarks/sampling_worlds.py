# SPDX-License-Identifier: Apache-2.0
"""Robots on which controllers are tuned and tried: the described one, an identified one, and the hidden truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from benchmarks.sampling_log import TRUTH
from sysid_nodes.data.config import from_flat
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinds import spread
from sysid_nodes.rollouts import (
    Drive,
    Simulations,
    Variants,
    WalkingConfig,
    build_legged_mujoco,
    commanded_policy,
    walk,
)
from sysid_nodes.rollouts.closed_loop import Commands
from sysid_nodes.rollouts.shells import shell
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import loaded_bodies
from sysid_nodes.simulation.legged.set_point_drive import with_friction
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.identify import nominal_drive
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]

POSTURE = np.tile([0.0, 0.8, -1.6], 4)
EVERY = 0.01  # between two states that are looked at [s]
_ROOM = 128  # simulations at a time


@dataclass(frozen=True)
class World:
    """One robot, or several that it may be, many times over: simulation k is of the robot k modulo their number.

    Attributes:
        robot: as its controller knows it, which carries the weight that this robot has.
        drive: of its joints.
        simulations: of it.
        variants: parameters of these.
    """

    robot: Robot
    drive: Drive
    simulations: Simulations
    variants: Variants

    def play(self, count: int, law: Callable[[float], Array], duration: float) -> Array:
        """States (B, T, nq + nv) of `count` robots under set-points (B, n) of a time [s]."""
        step = self.simulations.timestep
        start, every, found = self._standing(count), round(EVERY / step), []
        made = self.simulations.follow(
            self.variants, self._which(count), start, round(duration / step), lambda k: law(k * step)
        )
        for k, _ in enumerate(made, start=1):
            if k % every == 0:
                found.append(np.concatenate([self.simulations.positions, self.simulations.velocities], axis=1))
        return np.stack(found, axis=1)

    def obey(
        self, count: int, commands: Commands, duration: float, config: WalkingConfig
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """States (B, T, nq + nv) of `count` robots under commands, and (B,) whether they have fallen."""
        policy = commanded_policy(self.robot, self.drive, config)
        which, every = self._which(count), round(EVERY / self.simulations.timestep)
        start = self._standing(count)
        walks = walk(self.simulations, policy, self.variants, which, start, commands, duration, every=every)
        return walks.states[:, 1:], walks.fallen

    def _which(self, count: int) -> npt.NDArray[np.int64]:
        return np.arange(count) % len(self.variants)

    def _standing(self, count: int) -> Array:
        start = np.zeros((count, 13 + 2 * self.robot.n))
        policy = commanded_policy(self.robot, self.drive, WalkingConfig())
        start[:, 3], start[:, 7 : 7 + self.robot.n] = 1.0, policy.posture
        start[:, 2] = policy.standing_height
        return start


def as_known(robot: Robot, inertia: Array) -> Robot:
    """The robot with other parameters (10,) of its own body."""
    model = robot.model.copy()
    model.inertias[robot.body_index(robot.body) + 1] = pin.Inertia.FromDynamicParameters(inertia)  # first is the world
    return replace(robot, model=model)


def model_world(robot: Robot, config: SamplingConfig, vectors: Sequence[Array]) -> World:
    """The robots that vectors (K,) of the unknowns stand for, in the identification's own simulation.

    They have their bodies' shapes, other than there: in a deep crouch knees touch the ground. The controller knows the
    first of them.
    """
    drive, bodies = nominal_drive(robot, config), robot.model.inertias.tolist()[1:]
    model = build_legged_mujoco(robot, bodies, shell(robot), config.ground, timestep=config.step)
    unknowns = Unknowns(robot, config)
    known = as_known(robot, unknowns.inertia(vectors[0], 0))
    return World(known, drive, Simulations(model, drive, capacity=_ROOM), unknowns.variants(vectors))


def true_world(robot: Robot, options: Mapping[str, Any]) -> World:
    """The hidden truth of `sampling_log`: a smaller step, softer ground, MuJoCo's own dry friction.

    Args:
        options: of the simulation that the log is from, beside `TRUTH`.
    """
    config = from_flat(LeggedSimulationConfig, {**TRUTH, **options})
    body, bodies = loaded_bodies(robot, config.load)
    own = with_friction(robot, config.drive)
    model = build_legged_mujoco(own, bodies, shell(robot), config.ground, timestep=config.timestep)
    drive = Drive(*(spread(getattr(config.drive, name), robot, name) for name in ("stiffness", "damping")))
    n, strength = robot.n, spread(config.drive.strength, robot, "strength")
    variants = Variants(
        bodies=(body,),
        inertia=np.array([[bodies[body].toDynamicParameters()]]),
        gain=np.ones((1, n)),
        weakness=np.where(strength > 0.0, 1.0 / np.maximum(strength, 1e-9), 0.0)[None],
        dry=np.zeros((1, n)),
        holding=np.zeros((1, n)),
        bristles=np.zeros((1, n)),
        friction=np.array([config.ground.friction]),
        time_constant=np.array([config.ground.time_constant]),
    )
    known = as_known(robot, variants.inertia[0, 0])
    return World(known, drive, Simulations(model, drive, capacity=_ROOM), variants)
