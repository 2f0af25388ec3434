# SPDX-License-Identifier: Apache-2.0
"""The sticking arm: friction within its law at all times, energy and momentum accounted for, and rest that is rest."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio
import pytest

from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.rollouts.arm_model import build_mujoco
from sysid_nodes.simulation.arm.coulomb import breakaway
from sysid_nodes.simulation.arm.plant import Plant
from sysid_nodes.simulation.payload import dumbbell

SLIDER = """<robot name="slider"><link name="rail"/><link name="cart"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/></joint></robot>"""


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def _plant(robot: Robot, motor: MotorConstants, q: np.ndarray, qd: np.ndarray) -> Plant:
    load = dumbbell(3.0).spatial_inertia(robot) if robot.n == 7 else None
    return Plant(build_mujoco(robot, robot.model.inertias.tolist()[1:], motor, load), motor, q, qd)


def _slider(coulomb: float, speed: float) -> Plant:
    zero = np.zeros(1)
    motor = MotorConstants(coulomb=np.array([coulomb]), viscous=zero, armature=zero, offset=np.array([0.3]))
    return _plant(load_robot("", urdf_text=SLIDER), motor, zero, np.array([speed]))


def test_slider_stops_where_it_must_and_stays() -> None:
    """2 kg at 0.1 m/s against 4 N: at rest after 0.05 s and 2.5 mm, in the middle of a step, then held for ever."""
    plant = _slider(4.0, 0.1)
    hold = np.array([0.3])  # the motor's offset
    plant.advance(hold, 0.04, 3)
    assert plant.qd[0] == pytest.approx(0.02, abs=1e-12)
    plant.advance(hold, 0.02, 1)
    assert plant.qd[0] == 0.0
    assert plant.q[0] == pytest.approx(0.0025, abs=1e-10)
    plant.advance(hold + 3.999, 1.0, 10)
    assert plant.q[0] == pytest.approx(0.0025, abs=1e-10)
    plant.advance(hold + 5.0, 0.1, 7)
    assert plant.qd[0] == pytest.approx(0.5 * 1.0 * 0.1, abs=1e-12)
    assert plant.unresolved == 0


def test_slider_reverses_within_a_step() -> None:
    """Braked by 4 + 6 N to rest after 0.02 s, it goes back under 6 - 4 N: both phases in one step of 0.05 s."""
    plant = _slider(4.0, 0.1)
    plant.advance(np.array([0.3 - 6.0]), 0.05, 1)
    assert plant.qd[0] == pytest.approx(-1.0 * 0.03, abs=1e-10)
    assert plant.q[0] == pytest.approx(0.001 - 0.5 * 1.0 * 0.03**2, abs=1e-10)


@pytest.mark.parametrize(
    "size",
    [pytest.param(1.05, marks=pytest.mark.slow), 1.3, 30.0],
    ids=["mostly stuck", "stick and slip", "mostly moving"],
)
def test_friction_keeps_its_law_and_the_energy_balance_holds(robot: Robot, size: float) -> None:
    """Two seconds of coupled motion, driven by about as much as friction holds, and by far more.

    Change of energy = work of the motors - Coulomb, viscous and offset losses. Work is taken by Simpson's rule over the
    ends and the middle of each tick; it is off by up to 1e-7 J (measured), for power has a kink where a joint turns.
    """
    rng = np.random.default_rng(3)
    motor, n = robot.motor, robot.n
    q = rng.uniform(-1.0, 1.0, n)
    plant = _plant(robot, motor, q, np.zeros(n))
    frequency, phase = rng.uniform(3.0, 9.0, n), rng.uniform(0.0, 6.0, n)
    model, data = plant._model, mujoco.MjData(plant._model)

    def energy() -> float:
        data.qpos[:], data.qvel[:] = plant.q, plant.qd
        locked = np.array(model.dof_armature)
        model.dof_armature[:] = motor.armature
        mujoco.mj_forward(model, data)
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        model.dof_armature[:] = locked
        return float(data.energy.sum())

    def power(torque: np.ndarray) -> float:
        qd = plant.qd
        return float((torque - motor.offset - motor.viscous * qd) @ qd - motor.coulomb @ np.abs(qd))

    start, work, stuck, events, dt = energy(), 0.0, 0, 0, 1e-3
    for k in range(2000):
        torque = plant.holding_torque() + size * motor.coulomb * np.sin(frequency * k * dt + phase)
        friction = plant.response(torque)[1]
        qd, before = plant.qd, power(torque)
        assert (np.abs(friction) <= breakaway(motor.coulomb)).all()
        np.testing.assert_array_equal(friction[qd != 0.0], (motor.coulomb * np.sign(qd))[qd != 0.0])
        plant.advance(torque, 0.5 * dt, 1)
        middle = power(torque)
        plant.advance(torque, 0.5 * dt, 1)
        work += dt / 6.0 * (before + 4.0 * middle + power(torque))
        turned = np.sign(plant.qd) != np.sign(qd)
        stuck, events = stuck + int((qd == 0.0).sum()), events + int(turned.sum())
    assert abs(energy() - start - work) < 1e-6
    assert plant.unresolved == 0
    assert events > 5
    assert {1.05: stuck > 7000, 1.3: 1000 < stuck < 7000, 30.0: stuck < 100}[size]


def test_it_is_mujoco_under_constant_friction_while_no_joint_turns(robot: Robot) -> None:
    rng = np.random.default_rng(1)
    q, torque = rng.uniform(-1.0, 1.0, 7), rng.uniform(-20.0, 20.0, 7)
    load, motor = dumbbell(3.0).spatial_inertia(robot), robot.motor
    model = build_mujoco(robot, robot.model.inertias.tolist()[1:], motor, load)
    model.opt.timestep = 5e-4
    data, qd = mujoco.MjData(model), rng.choice([-1.0, 1.0], 7)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, torque - motor.coulomb * qd - motor.offset
    plant = _plant(robot, motor, q, qd)
    for _ in range(50):
        plant.advance(torque, 1e-3, 2)
        mujoco.mj_step(model, data, 2)
    assert (np.sign(plant.qd) == np.sign(qd)).all()
    np.testing.assert_array_equal(plant.qd, data.qvel)


@pytest.mark.parametrize("name", ["kinova_gen3", "ur10", "panda"])
def test_accelerations_are_pinocchio_s_with_stuck_joints_as_constraints(name: str) -> None:
    """UR10 and Panda have no armature here: links alone, strongly coupled."""
    robot, rng = load_robot(name), np.random.default_rng(4)
    n = robot.n
    motor = MotorConstants(rng.uniform(1.0, 5.0, n), rng.uniform(0.1, 1.0, n), np.zeros(n), rng.uniform(0.0, 1.0, n))
    bodies = robot.model.inertias.tolist()[1:]
    data = robot.model.createData()
    for _ in range(20):
        q, qd = rng.uniform(-2.0, 2.0, n), np.where(rng.uniform(size=n) < 0.5, 0.0, rng.normal(size=n))
        plant = Plant(build_mujoco(robot, bodies, motor, None), motor, q, qd)
        torque = pinocchio.rnea(robot.model, data, q, qd, np.zeros(n)) + rng.uniform(-6.0, 6.0, n)
        acceleration, friction = plant.response(torque)
        balance = pinocchio.rnea(robot.model, data, q, qd, acceleration) + motor.viscous * qd + motor.offset + friction
        np.testing.assert_allclose(balance, torque, atol=1e-8)
        stuck = (qd == 0.0) & (acceleration == 0.0)
        plant.advance(torque, 1e-7, 1)
        assert (plant.q[stuck] == q[stuck]).all()
        moving = qd != 0.0
        # Over 0.1 us the acceleration changes by the jerk's share, large where bare wrists accelerate by 7000 rad/s2.
        np.testing.assert_allclose((plant.qd - qd)[moving] / 1e-7, acceleration[moving], rtol=1e-2, atol=1e-2)


def test_holding_torque_balances_gravity(robot: Robot) -> None:
    q = np.array([0.0, 0.8, 0.1, 1.0, -0.3, 0.5, 0.0])
    plant = _plant(robot, robot.motor, q, np.zeros(7))
    acceleration, friction = plant.response(plant.holding_torque())
    np.testing.assert_array_equal(acceleration, 0.0)
    np.testing.assert_allclose(friction, 0.0, atol=1e-12)
