# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo model has the pinocchio model's dynamics, and its state is translated exactly."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio
import pytest

from sysid_nodes.data.config import from_flat, to_flat
from sysid_nodes.exceptions import ConfigError, InputError, RobotError
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts.legged_model import GroundConfig, build_legged_mujoco
from sysid_nodes.rollouts.shells import shell
from sysid_nodes.rollouts.state import pinocchio_state, rotation_of, set_state
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import LoadConfig, loaded_bodies
from sysid_nodes.simulation.legged.programme import standing_configuration


def random_state(robot, rng):
    q = standing_configuration(robot)
    q[:3] += rng.normal(0.0, 0.3, 3) + np.array([0.0, 0.0, 2.0])
    q[3:7] = pinocchio.Quaternion(pinocchio.exp3(rng.normal(0.0, 1.0, 3))).coeffs()
    q[7:] += rng.normal(0.0, 0.3, robot.n)
    return q, rng.normal(0.0, 1.0, robot.model.nv)


@pytest.mark.parametrize("name", ["go2", "g1"])
def test_free_flight_has_pinocchios_acceleration(name):
    """In the air, both libraries must give the same acceleration for the same state, load and torques."""
    robot, rng = load_robot(name), np.random.default_rng(1)
    body, bodies = loaded_bodies(robot, LoadConfig(mass=3.0, position=(0.1, -0.05, 0.08), com_shift=(0.0, 0.02, -0.1)))
    model = build_legged_mujoco(robot, bodies, shell(robot), GroundConfig(), timestep=1e-3)
    data = mujoco.MjData(model)
    loaded = robot.model.copy()
    for k, inertia in enumerate(bodies):
        loaded.inertias[k + 1] = inertia
    loaded.armature = np.concatenate([np.zeros(6), robot.motor.armature])
    assert body == robot.body_index()
    for _ in range(5):
        q, v = random_state(robot, rng)
        torque = rng.normal(0.0, 5.0, robot.n)
        set_state(data, q, v)
        data.qfrc_applied[6:] = torque
        mujoco.mj_forward(model, data)
        expected = pinocchio.aba(loaded, loaded.createData(), q, v, np.concatenate([np.zeros(6), torque]))
        # MuJoCo's base acceleration is that of the world velocity: a_world = R (a_body + omega x v).
        rotation = rotation_of(q[3:7])
        expected[:3] = rotation @ (expected[:3] + np.cross(v[3:6], v[:3]))
        np.testing.assert_allclose(data.qacc, expected, rtol=1e-7, atol=1e-6)


def test_state_goes_there_and_back():
    robot, rng = load_robot("go2"), np.random.default_rng(2)
    model = build_legged_mujoco(robot, robot.model.inertias.tolist()[1:], (), GroundConfig(), timestep=1e-3)
    data = mujoco.MjData(model)
    q, v = random_state(robot, rng)
    set_state(data, q, v)
    again = pinocchio_state(data)
    np.testing.assert_allclose(again[0], q, atol=1e-14)
    np.testing.assert_allclose(again[1], v, atol=1e-13)


@pytest.mark.parametrize("name", ["go2", "g1"])
def test_standing_touches_the_ground(name):
    robot = load_robot(name)
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, standing_configuration(robot))
    heights = [
        data.oMi[robot.model.getJointId(point.joint)].act(point.position)[2] - point.radius for point in robot.contacts
    ]
    np.testing.assert_allclose(heights, 0.0, atol=5e-4)  # the standing angles level the soles to half a millimetre


def test_truth_holds_the_loaded_body():
    """Mass and first moment add up by hand: body at its shifted centre plus box."""
    config = from_flat(
        LeggedSimulationConfig,
        {"load.mass": 3.0, "load.position": (0.1, 0.0, 0.08), "load.com_shift": (0.0, 0.0, -0.1)},
    )
    sim = LeggedRobotSim(config, np.random.default_rng(0))
    own = sim.robot.inertial_parameters()[sim.truth.body]
    mass = own[0] + 3.0
    moment = own[1:4] + own[0] * np.array([0.0, 0.0, -0.1]) + 3.0 * np.array([0.1, 0.0, 0.08])
    np.testing.assert_allclose(sim.truth.theta[0], mass)
    np.testing.assert_allclose(sim.truth.theta[1:4], moment)
    np.testing.assert_allclose(sim.truth.total_mass, sim.robot.inertial_parameters()[:, 0].sum() + 3.0)


def test_configuration_survives_flattening():
    config = from_flat(LeggedSimulationConfig, {"robot": "g1", "sensors.imu.gyro": 0.02, "ground.friction": 0.3})
    assert from_flat(LeggedSimulationConfig, to_flat(config)) == config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tick": 0.0025}, "'tick' (0.0025 s) must be a multiple of 'timestep' (0.001 s)"),
        ({"control_period": 0.003}, "'control_period' (0.003 s) must be a multiple of 'tick' (0.002 s)"),
        ({"load.position": (0.0, 1.0)}, "'load.position' must be three numbers, got 2"),
        ({"push.force": (1.0,)}, "'push.force' must be three numbers, got 1"),
        ({"robot": "g1", "motion": "hop"}, "robot 'g1' has no motion 'hop'; it has show, stand, sway"),
    ],
)
def test_bad_configuration(options, message):
    with pytest.raises(ConfigError) as caught:
        LeggedRobotSim(from_flat(LeggedSimulationConfig, options), np.random.default_rng(0))
    assert str(caught.value) == message


def test_a_fixed_base_is_refused():
    robot = load_robot("panda")
    with pytest.raises(RobotError, match="robot 'panda' has a fixed base; the legged simulation needs a floating one"):
        build_legged_mujoco(robot, robot.model.inertias.tolist()[1:], (), GroundConfig(), timestep=1e-3)
    with pytest.raises(RobotError, match="no simulation of robot 'panda'; there is one of go2, g1"):
        shell(robot)


def test_no_truth_before_the_first_tick():
    with pytest.raises(InputError, match="no truth was recorded"):
        LeggedRobotSim(LeggedSimulationConfig(), np.random.default_rng(0)).series()
