# SPDX-License-Identifier: Apache-2.0
"""Of which link and in which axes a velocity is taken to be, against a simulated robot's true way."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.models import rotations
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Samples, States
from sysid_nodes.sensors.base_velocity import BaseVelocityConfig, base_velocity
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig

SIGMA = 1e-3
"""[m/s]"""


@pytest.fixture(scope="module")
def trot() -> tuple[Robot, np.ndarray, np.ndarray, float]:
    """Robot, true q and v, and the time between two of them [s]; it walks in a direction that is no axis's."""
    sim = LeggedRobotSim(LeggedSimulationConfig(motion="trot"), np.random.default_rng(0))
    for _ in sim.run(1.0):
        pass
    truth, half = sim.series(), 1.0  # of the turn about the vertical [rad]
    turn = np.array([0.0, 0.0, np.sin(half), np.cos(half)])
    q = truth.q.copy()
    q[:, :3] = q[:, :3] @ rotations.quaternion_matrix(turn[None])[0].T
    q[:, 3:7] = rotations.quaternion_product(turn, truth.q[:, 3:7])
    return sim.robot, q, truth.v, truth.duration


def way(robot: Robot, link: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, 3) places of a link in the world and (N, 3, 3) its attitudes, by pinocchio."""
    data = robot.model.createData()
    frame = robot.model.getFrameId(link or "base", pinocchio.FrameType.BODY)
    places, turns = [], []
    for row in q:
        pinocchio.forwardKinematics(robot.model, data, row)
        placement = pinocchio.updateFramePlacement(robot.model, data, frame)
        places.append(placement.translation.copy())
        turns.append(placement.rotation.copy())
    return np.array(places), np.array(turns)


@pytest.mark.parametrize("link", ["", "FL_foot"])
@pytest.mark.parametrize("axes", ["body", "world"])
def test_a_velocity_is_the_change_of_the_links_place_in_the_axes_named(
    trot: tuple[Robot, np.ndarray, np.ndarray, float], link: str, axes: str
) -> None:
    robot, q, v, dt = trot
    place, turn = way(robot, link, q)
    world = (place[2:] - place[:-2]) / (2.0 * dt)
    inner = slice(1, -1)
    states = States(q[inner], v[inner])
    readings = {"world": world, "body": np.einsum("kji,kj->ki", turn[inner], world)}
    sensor = base_velocity(robot, BaseVelocityConfig(link=link, axes=axes, sigma=SIGMA))

    def error(values: np.ndarray) -> float:
        """Mean error of a reading [m/s]."""
        samples = Samples(np.arange(len(values)), values, np.ones(len(values)))
        return SIGMA * float(np.linalg.norm(sensor.residual(samples, states, np.zeros(0)), axis=1).mean())

    moved = float(np.linalg.norm(world, axis=1).mean())
    assert error(readings[axes]) < 0.05 * moved  # in the mean: a foot that lands has no velocity at that instant
    (other,) = set(readings) - {axes}
    for wrong in (-readings[axes], readings[other]):
        assert error(wrong) > moved
