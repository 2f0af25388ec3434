# SPDX-License-Identifier: Apache-2.0
"""Legged robots from their URDFs alone, swaying in MuJoCo with more mass than the URDF says."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio
import pytest
from shared.legged_log import KNOWN
from shared.stage_truth import (
    STEP,
    TICKS,
    TORQUE_NOISE,
    StageTruth,
    averages,
    contact_forces,
    pinocchio_order,
    readings,
)

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import ContactSpec, Robot, load_robot, with_contacts
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.rollouts.legged_model import GroundConfig, build_legged_mujoco
from sysid_nodes.systems.prime import PrimeConfig, build_model, estimate_motion

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A URDF of example-robot-data, its feet, joint angles that it stands at by kinds, and how long it does [s]."""

    urdf: str
    feet: tuple[str, ...]
    stance: dict[str, float]
    duration: float = 1.2

    def angles(self, robot: Robot) -> Array:
        """(n,) joint angles; the longest key that a joint's name contains counts."""
        keys = sorted(self.stance, key=len)
        values = np.zeros(robot.n)
        for j, name in enumerate(robot.joint_names):
            values[j] = next((self.stance[key] for key in reversed(keys) if key in name), 0.0)
        return values


UNITREE = tuple(f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR"))
BENT = {"thigh": 0.8, "calf": -1.6}
CASES = {
    "solo12": Case(
        "solo_description/robots/solo12.urdf",
        ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"),
        {"HFE": 0.8, "KFE": -1.6},
    ),
    "a1": Case("a1_description/urdf/a1.urdf", UNITREE, BENT),
    "go1": Case("go1_description/urdf/go1.urdf", UNITREE, BENT),
    "b1": Case("b1_description/urdf/b1.urdf", UNITREE, BENT),
    "anymal": Case(
        "anymal_b_simple_description/robots/anymal.urdf",
        ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
        {"F_HFE": 0.6, "F_KFE": -1.2, "H_HFE": -0.6, "H_KFE": 1.2},
    ),
    "laikago": Case("laikago_description/urdf/laikago.urdf", UNITREE, BENT),
    "hyq": Case(
        "hyq_description/robots/hyq_no_sensors.urdf",
        ("lf_foot", "lh_foot", "rf_foot", "rh_foot"),
        {"f_hfe": 0.75, "f_kfe": -1.5, "h_hfe": -0.75, "h_kfe": 1.5},
    ),
    # Bipeds without balance fall, slowly at first.
    "bolt": Case("bolt_description/robots/bolt.urdf", ("FL_FOOT", "FR_FOOT"), {"HFE": 0.5, "KFE": -1.0}, 0.5),
    "g1": Case(
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        ("left_ankle_roll_link", "right_ankle_roll_link"),
        {"hip_pitch": -0.3, "knee": 0.6, "ankle_pitch": -0.3},
        0.7,
    ),
}


def load(name: str) -> tuple[Robot, Array]:
    """The robot and the angles that it stands at."""
    case = CASES[name]
    robot = load_robot("urdf", urdf_text=example_urdf(case.urdf), floating_base=True)
    if name == "g1":
        places = [(x, y, -0.03) for x in (-0.05, 0.12) for y in (-0.025, 0.025)]
        specs = [ContactSpec(f"{link}_{i}", link, place, 0.005) for link in case.feet for i, place in enumerate(places)]
    else:
        specs = [ContactSpec(link, link, radius=0.02) for link in case.feet]
    limits = robot.limits
    wide = replace(limits, position_lower=np.full(robot.n, -7.0), position_upper=np.full(robot.n, 7.0))
    return replace(with_contacts(robot, specs), imu=robot.body, limits=wide), case.angles(robot)


def sway(robot: Robot, stance: Array, duration: float) -> StageTruth:
    """Joints held by springs about angles that swing, with three tenths more mass in the base."""
    bodies = [robot.model.inertias[i] for i in range(1, robot.model.njoints)]
    load = pinocchio.Inertia(0.3 * bodies[0].mass, np.array([0.05, 0.02, 0.06]), 0.002 * bodies[0].mass * np.eye(3))
    bodies[0] = bodies[0] + load
    model = build_legged_mujoco(robot, bodies, (), GroundConfig(), timestep=STEP / TICKS)
    data = mujoco.MjData(model)
    data.qpos[3:7], data.qpos[7:] = [1.0, 0.0, 0.0, 0.0], stance
    mujoco.mj_kinematics(model, data)
    feet = [model.geom(point.name).id for point in robot.contacts]
    data.qpos[2] = -min(data.geom_xpos[foot, 2] - model.geom_size[foot, 0] for foot in feet)
    total = sum(body.mass for body in bodies)
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    gain = 150.0 * total * abs(float(data.qpos[2])) ** 2 / len(robot.contacts) * np.ones(robot.n)
    damping = 2.0 * np.sqrt(gain * np.diag(mass)[6:])
    phase, pace = np.linspace(0.0, 5.0, robot.n), np.linspace(1.0, 2.0, robot.n)
    q, torque, force = [], [], []
    for tick in range(round((0.3 + duration) / STEP) * TICKS):
        time = tick * STEP / TICKS
        swing = 0.1 * min(time / 0.3, 1.0) * np.sin(2.0 * np.pi * pace * time + phase)
        data.qfrc_applied[6:] = gain * (stance + swing - data.qpos[7:]) - damping * data.qvel[6:]
        q.append(data.qpos.copy())
        mujoco.mj_step(model, data)
        torque.append(data.qfrc_applied[6:].copy())
        force.append(contact_forces(model, data, feet))
    return StageTruth(*averages(pinocchio_order(np.array(q)), np.array(torque), np.array(force)), bodies[0].mass)


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[] if one == "solo12" else pytest.mark.slow) for one in CASES]
)
def test_mass_and_forces_of_a_robot_that_is_only_a_urdf(name: str) -> None:
    robot, stance = load(name)
    truth = sway(robot, stance, CASES[name].duration)
    assert truth.q[:, 2].min() > 0.8 * truth.q[0, 2]  # springs too soft let it fall, upside down through the ground
    weight = 9.81 * truth.mass
    noise = {
        "force": 0.01 * weight,
        "moment": 0.001 * weight,
        "torque": TORQUE_NOISE * float(np.abs(truth.torque).max()),
    }
    options = KNOWN | {f"process.{kind}": sigma for kind, sigma in noise.items()}
    # What some of these URDFs state as limits, 1000 N m, says nothing of the sensor.
    own = {"sensors.joint_torque.share_of_limit": 0.0, "sensors.joint_torque.sigma": noise["torque"]}
    config = from_flat(PrimeConfig, options | own)
    found = estimate_motion(build_model(robot, config), STEP * np.arange(len(truth.q)), readings(robot, truth))
    base = found.bodies[0]
    assert base.link == robot.body
    sigma = float(np.sqrt(base.covariance[0, 0]))
    assert abs(base.mass - truth.mass) < 3.0 * sigma
    assert sigma < 0.02 * truth.mass
    assert base.observed[0]
    assert found.status.usable
    inner = slice(2, -2)
    total, wanted = found.contacts.force[inner].sum(axis=1), truth.force[inner].sum(axis=1)
    assert np.sqrt(np.mean((total - wanted) ** 2)) < 0.05 * np.sqrt(np.mean(wanted**2))


def test_a_base_that_does_not_float_is_one_clear_line() -> None:
    robot = load_robot("urdf", urdf_text=example_urdf(CASES["solo12"].urdf))
    with pytest.raises(RobotError, match=r"fixed base; .* 'floating_base: true'"):
        build_model(robot, PrimeConfig())
