# SPDX-License-Identifier: Apache-2.0
"""The MuJoCo arm against pinocchio's equations of motion."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.rollouts.arm_model import build_mujoco
from sysid_nodes.simulation.arm.plant import Plant
from sysid_nodes.simulation.payload import Payload

SLIDER = """<robot name="slider"><link name="rail"/>
<link name="cart"><inertial><mass value="2"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="arm"><inertial><origin xyz="0 0.1 0.3"/><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="slide" type="prismatic"><origin rpy="0.3 0.2 0"/><parent link="rail"/><child link="cart"/>
<axis xyz="1 2 0"/></joint>
<joint name="turn" type="continuous"><origin xyz="0 0.2 0" rpy="0 0.5 1"/><parent link="cart"/><child link="arm"/>
<axis xyz="1 0 1"/></joint></robot>"""


def _robots() -> list[Robot]:
    return [*(load_robot(name) for name in ("kinova_gen3", "ur10", "panda")), load_robot("", urdf_text=SLIDER)]


def _motor(n: int, rng: np.random.Generator) -> MotorConstants:
    return MotorConstants(*(rng.uniform(0.1, 1.0, n) for _ in range(4)))


@pytest.mark.parametrize("robot", _robots(), ids=lambda robot: robot.name)
def test_accelerations_are_pinocchio_s(robot: Robot) -> None:
    """Loaded arm with every friction term, in random states under random torque."""
    rng = np.random.default_rng(2)
    motor = _motor(robot.n, rng)
    load = Payload(1.5, np.array([0.1, -0.05, 0.2]), np.diag([0.02, 0.03, 0.04])).spatial_inertia(robot)
    bodies = robot.model.inertias.tolist()[1:]
    model = build_mujoco(robot, bodies, motor, load)
    truth = robot.model.copy()
    truth.inertias[load[0] + 1] = truth.inertias[load[0] + 1] + load[1]
    data = truth.createData()
    for _ in range(10):
        q, qd, tau = rng.uniform(-2, 2, robot.n), rng.uniform(-1, 1, robot.n), rng.uniform(-20, 20, robot.n)
        found, _ = Plant(model, motor, q, qd).response(tau)
        mass = pinocchio.crba(truth, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T + np.diag(motor.armature)
        bias = pinocchio.nonLinearEffects(truth, data, q, qd)
        friction = motor.coulomb * np.sign(qd) + motor.viscous * qd + motor.offset
        expected = np.linalg.solve(mass, tau - bias - friction)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8)


def test_model_has_no_contacts_and_the_robot_s_gravity() -> None:
    robot = load_robot("kinova_gen3")
    model = build_mujoco(robot, robot.model.inertias.tolist()[1:], robot.motor, None)
    assert (model.ngeom, model.nq, model.nu) == (0, 7, 0)
    assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4
    np.testing.assert_array_equal(model.opt.gravity, [0.0, 0.0, -9.81])
    np.testing.assert_array_equal(model.dof_armature, robot.motor.armature)


def test_floating_base_is_refused() -> None:
    robot = load_robot("go2")
    with pytest.raises(RobotError, match="'go2' has a floating base"):
        build_mujoco(robot, robot.model.inertias.tolist()[1:], robot.motor, None)
