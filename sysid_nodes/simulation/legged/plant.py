# SPDX-License-Identifier: Apache-2.0
"""The simulated body and the ground: state, and one tick after another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np

from sysid_nodes.robots import ContactPoint
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.state import pinocchio_state, rotation_of, set_state
from sysid_nodes.simulation.legged.footholds import Footholds
from sysid_nodes.simulation.legged.truth import TruthSample

Torque = Callable[[Array, Array], Array]
"""Torques (n,) [N m] at joint positions and velocities (n,)."""


_AXES = np.arange(3)


class LeggedPlant:
    """A MuJoCo robot moved on by torques, tick by tick, each of several integrator steps.

    Args:
        model: of ``build_legged_mujoco``.
        points: the k contact points.
        q: pinocchio configuration to start from, at rest.
        steps: integrator steps a tick.
        footholds: greatest height of the ground of each foot, see ``Footholds`` [m]; 0: level.
        rng: of their heights.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        points: Sequence[ContactPoint],
        q: Array,
        *,
        steps: int,
        footholds: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._model, self._data, self._steps = model, mujoco.MjData(model), steps
        self._footholds = None
        if footholds > 0.0:
            self._footholds = Footholds(model, points, footholds, rng or np.random.default_rng(0))
        self._timestep = float(model.opt.timestep)
        self._radii = np.array([point.radius for point in points])
        self._geoms = np.array([model.geom(point.name).id for point in points])
        # Row of each geom in an array of forces; geoms that are not contact points share the last one.
        self._row = np.full(model.ngeom, len(points))
        self._row[self._geoms] = np.arange(len(points))
        set_state(self._data, q, np.zeros(model.nv))
        self._state = pinocchio_state(self._data)
        self.specific_force = np.zeros(3)

    @property
    def state(self) -> tuple[Array, Array]:
        """Pinocchio configuration and velocity; the velocity is the mean over the integrator's last step."""
        return self._state

    @property
    def instant(self) -> Array:
        """(nv,) pinocchio velocity at the present instant.

        Semi-implicit Euler gives q_{k+1} = q_k + h v_{k+1}: its velocity belongs half a step before its configuration.
        A sensor sees neither a step nor that lag, hence half a step more at the last acceleration.
        """
        v: Array = self._data.qvel + 0.5 * self._timestep * self._data.qacc
        v[:3] = rotation_of(self._state[0][3:7]).T @ v[:3]
        return v

    def advance(self, time: float, torque: Torque, push: Array) -> TruthSample:
        """Moves on by one tick; ``specific_force`` is then the accelerometer's mean over it (3,) [m/s2].

        Args:
            time: at the tick's start [s], for the record.
            torque: asked anew at every integrator step.
            push: (3,) force on the base's origin, world frame, constant over the tick [N].
        """
        data, steps, count = self._data, self._steps, len(self._geoms)
        q, v = self._state
        data.qfrc_applied[:3] = push
        effort = np.zeros(len(data.qvel) - 6)
        specific, active, mean = np.zeros(3), np.zeros(count), np.zeros((count + 1, 3))
        first, position = mean, np.zeros((count, 3))
        for step in range(steps):
            data.qfrc_applied[6:] = torque(data.qpos[7:], data.qvel[6:])
            effort += data.qfrc_applied[6:] / steps
            mujoco.mj_step(self._model, data)
            # What mj_step leaves behind belongs to the state before the step.
            force = self._forces()
            if step == 0:
                first, position = force, data.geom_xpos[self._geoms]
            mean += force / steps
            active += (force[:count, 2] > 0.0) / steps
            specific += data.sensordata[:3] / steps
        self._state = pinocchio_state(data)
        self.specific_force = specific
        position[:, 2] -= self._radii
        ground = np.zeros(count)
        if self._footholds is not None:
            ground = self._footholds.height
            self._footholds.move(position[:, 2])
        return TruthSample(
            time=time,
            duration=steps * self._timestep,
            q=q,
            v=v,
            torque=effort,
            force=first[:count],
            force_mean=mean[:count],
            contact=active,
            position=position,
            gap=position[:, 2] - ground,
            other_mean=mean[count] + push,
        )

    def _forces(self) -> Array:
        """(k + 1, 3) forces of the last step on the robot, world frame: contact points, then all other contacts."""
        data = self._data
        forces = np.zeros((len(self._geoms) + 1, 3))
        if data.ncon:
            contact = data.contact
            address = contact.efc_address  # -1: listed, but too far apart for a force
            rows = data.efc_force[address[:, None] + _AXES] * (address >= 0)[:, None]
            # Rows of a contact's frame: normal, from the ground (the first geom) to the robot, and two tangents.
            world = (rows[:, None] @ contact.frame.reshape(-1, 3, 3))[:, 0]
            for row, force in zip(self._row[contact.geom[:, 1]].tolist(), world, strict=True):
                forces[row] += force
        return forces
