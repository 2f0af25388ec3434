# SPDX-License-Identifier: Apache-2.0
"""Gears that couple joints, against MuJoCo's tendons, and with every derivative."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from shared.bayesian_derivatives import check_derivatives
from shared.bayesian_problem import ALL_TERMS, problem_and_point

from benchmarks.bayesian_log import CONFIG, leg
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import build_robot
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.config import BayesianConfig, DrivePriorConfig, MechanismConfig, SearchConfig
from sysid_nodes.systems.bayesian.coupling_signs import coupled_joints
from sysid_nodes.systems.bayesian.estimate import Estimate, Noise
from sysid_nodes.systems.bayesian.held_out import _regressor
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, build_mechanism
from sysid_nodes.systems.bayesian.noise import Correlation
from sysid_nodes.systems.bayesian.problem import GROUPS, MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns

TURNS = 0.7
BODIES = ((3.0, "0.02 0.1 0.01", "0.03 0.02 0.025"), (2.0, "0.1 0.03 -0.02", "0.01 0.012 0.015"))
LINK = """<link name="link{k}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>
<inertia ixx="{x}" iyy="{y}" izz="{z}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>
<origin xyz="{place}"/><limit effort="50" velocity="9" lower="-3" upper="3"/></joint>"""
MJCF = """<mujoco><option timestep="1e-4" integrator="RK4"/><compiler autolimits="true" angle="radian"/><worldbody>
<body><joint name="pitch" axis="0 1 0" armature="0.2" damping="1.5"/>
<inertial pos="{0}" mass="3" diaginertia="0.03 0.02 0.025"/>
<body pos="0 0.3 0"><joint name="roll" axis="1 0 0"/>
<inertial pos="{1}" mass="2" diaginertia="0.01 0.012 0.015"/></body></body></worldbody>
<tendon><fixed name="wrist" armature="0.1" damping="0.8"><joint joint="roll" coef="1"/><joint joint="pitch" coef="{2}"/>
</fixed></tendon><actuator><motor joint="pitch"/><motor tendon="wrist"/></actuator></mujoco>"""


def wrist(words: tuple[str, ...] = (f"roll:pitch:{TURNS}",)) -> Mechanism:
    links = [
        LINK.format(k=k, com=com, mass=mass, **dict(zip("xyz", size.split(), strict=True)))
        for k, (mass, com, size) in enumerate(BODIES)
    ]
    joints = [
        JOINT.format(name="pitch", parent="base", child="link0", axis="0 1 0", place="0 0 0"),
        JOINT.format(name="roll", parent="link0", child="link1", axis="1 0 0", place="0 0.3 0"),
    ]
    robot = build_robot(f'<robot name="wrist"><link name="base"/>{"".join(links + joints)}</robot>', name="wrist")
    return build_mechanism(robot, BayesianConfig(mechanism=MechanismConfig(couplings=words)), power=True)


def constants(mechanism: Mechanism, **values: list[float]) -> np.ndarray:
    x = mechanism.parameters.mean.copy()
    for name, value in values.items():
        x[mechanism.parameters.joint(name)] = value
    return x


def test_torques_are_mujocos() -> None:
    """Rotor and friction of a motor that acts by a tendon over two joints."""
    mechanism = wrist()
    x = constants(mechanism, armature=[0.2, 0.1], viscous=[1.5, 0.8], coulomb=[0.0, 0.0])
    model = mujoco.MjModel.from_xml_string(MJCF.format(BODIES[0][1], BODIES[1][1], TURNS))
    data = mujoco.MjData(model)
    motions, torques = [], []
    for k in range(4000):
        data.ctrl[:] = [6.0 * np.sin(0.002 * k), 4.0 * np.cos(0.003 * k)]
        mujoco.mj_step(model, data)
        if k % 500 == 499:
            mujoco.mj_forward(model, data)
            motions.append([data.qpos.copy(), data.qvel.copy(), data.qacc.copy()])
            torques.append(data.ctrl.copy())
    q, v, a = np.moveaxis(np.array(motions), 1, 0)
    motion = Motion(q, v, a, np.zeros((len(q), 0)))
    np.testing.assert_allclose(mechanism.torque(motion, x), torques, atol=1e-6)
    loss = mechanism.parameters.joint("loss")
    assert np.all(x[loss] == 0.0)
    drawn = np.array(torques)[:, 0] * v[:, 0] + np.array(torques)[:, 1] * (v[:, 1] + TURNS * v[:, 0])
    np.testing.assert_allclose(mechanism.power(motion, np.array(torques), x), drawn, rtol=1e-9)
    uncoupled = wrist(())
    assert np.abs(uncoupled.torque(motion, x) - torques).max() > 1.0


@pytest.mark.parametrize("group", ["torque", "passive", "power"])
def test_derivatives(group: str) -> None:
    mechanism = replace(ALL_TERMS.mechanism, couplings=("hip:crank_motor:0.6", "crank_motor:hip:-0.3"))
    problem, point = problem_and_point(config=replace(ALL_TERMS, mechanism=mechanism))
    assert problem.mechanism.coupled
    check_derivatives(problem, point, GROUPS.index(group))


def test_least_squares_have_the_same_model() -> None:
    mechanism, rng = wrist(), np.random.default_rng(0)
    q, v, a = rng.standard_normal((3, 5, 2))
    motion = Motion(q, 30.0 * v, a, np.zeros((5, 0)))  # fast enough that friction has turned, stiction is over
    own = mechanism.parameters
    x = constants(mechanism, armature=[0.2, 0.1], viscous=[1.5, 0.8], coulomb=[0.4, 0.6], stiction=[0.4, 0.6])
    values = [own.constants(x, name) for name in ("coulomb", "viscous", "armature")]
    solution = np.concatenate([own.inertia(x).ravel(), *values, np.zeros(2)])
    np.testing.assert_allclose(_regressor(mechanism, motion) @ solution, mechanism.torque(motion, x), rtol=1e-9)


def test_dry_friction_turns_with_the_motor() -> None:
    """The motor stands while both joints move, and moves while its own joint stands."""
    mechanism, t = wrist(), 0.01 * np.arange(60.0)
    q = np.stack([0.6 * t, np.where(t < 0.3, -TURNS * 0.6 * t, -TURNS * 0.18)], axis=1)
    log = MechanismLog(0.0, 0.01, q, np.zeros((60, 2)), np.full(60, np.nan))
    found = turns(mechanism, log, Estimate(q, np.zeros((60, 0)), mechanism.parameters.mean))
    assert not found[:, 0].any()
    assert found[:25, 1].all() and not found[35:, 1].any()


def test_a_motor_s_speed_is_no_better_known_than_both_joints() -> None:
    """1 mrad at the other joint alone leave 50 mrad/s at a motor of 30, over which its friction turns."""
    mechanism, t = wrist(), 0.01 * np.arange(400.0)
    smooth = np.stack([0.3 * t, (0.03 - 0.3 * TURNS) * t], axis=1)
    noise = np.random.default_rng(0).standard_normal(400)
    at = Estimate(smooth, np.zeros((400, 0)), constants(mechanism, turning_speed=np.log([0.02, 0.02])))
    for joint in (0, 1):
        q = smooth.copy()
        q[:, joint] += 1e-3 * noise
        log = MechanismLog(0.0, 0.01, q, np.zeros((400, 2)), np.full(400, np.nan))
        assert turns(mechanism, log, at)[:, 1].all()
    log = MechanismLog(0.0, 0.01, smooth, np.zeros((400, 2)), np.full(400, np.nan))
    assert not turns(mechanism, log, at)[:, 1].any()


@pytest.mark.slow
def test_errors_that_follow_another_motor_are_told_of() -> None:
    """Readings of coupled gears, identified with the coupling and without."""
    coupled, alone = wrist(), wrist(())
    x = constants(coupled, armature=[0.2, 0.1], viscous=[1.5, 0.8], coulomb=[0.4, 0.6])
    t, rng = 0.01 * np.arange(500.0), np.random.default_rng(0)
    phase = t[:, None] * [4.1, 2.7] + [0.3, 1.1]
    q, v, a = 0.8 * np.sin(phase), 0.8 * np.cos(phase) * [4.1, 2.7], -0.8 * np.sin(phase) * np.array([4.1, 2.7]) ** 2
    torque = coupled.torque(Motion(q, v, a, np.zeros((500, 0))), x) + 0.05 * rng.standard_normal((500, 2))
    log = MechanismLog(0.0, 0.01, q + 1e-4 * rng.standard_normal((500, 2)), torque, np.full(500, np.nan))
    drag = np.array([0.6, 0.0]) * v * np.abs(v)  # goes with the joint's own torque, and with no other's
    dragged = alone.torque(Motion(q, v, a, np.zeros((500, 0))), x) + drag + 0.05 * rng.standard_normal((500, 2))
    found = []
    for mechanism, read in ((coupled, torque), (alone, torque), (alone, dragged)):
        words = (f"roll:pitch:{TURNS}",) if mechanism.coupled else ()
        config = BayesianConfig(
            held_out=0.0, mechanism=MechanismConfig(couplings=words), drive=DrivePriorConfig(armature_sigma=0.3)
        )
        result = identify(replace(log, torque=read), mechanism.robot, replace(config, search=SearchConfig(starts=1)))
        found.append([finding for finding in result.findings if "couple" in finding])
    assert found == [
        [],
        ["errors at 'roll' follow the torque of 'pitch': do gears couple them (mechanism.couplings)?"],
        [],
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hip:crank_motor",), "is not JOINT:OTHER:TURNS"),
        (("hip:crank_motor:half",), "is not JOINT:OTHER:TURNS"),
        (("hip:toe:1",), "there is no joint 'toe'"),
        (("hip:knee:1",), "'knee' has no motor"),
        (("hip:hip:1",), "does not couple two joints"),
        (("hip:crank_motor:nan",), "does not couple two joints"),
        (("hip:crank_motor:1", "crank_motor:hip:1"), "leave joints that no motor moves"),
    ],
)
def test_bad_couplings(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_mechanism(leg(), replace(CONFIG, mechanism=replace(CONFIG.mechanism, couplings=words)), power=False)


def test_errors_that_follow_the_motor_s_own_torque_are_no_coupling() -> None:
    """Readings of which one is three quarters of what it should be, all along."""
    mechanism, t = wrist(()), 0.01 * np.arange(300.0)
    q = 0.8 * np.sin(t[:, None] * [4.1, 2.7] + [0.3, 1.1])
    none = np.zeros((300, 2))
    log = MechanismLog(0.0, 0.01, q, none, np.full(300, np.nan))
    at = Estimate(q, np.zeros((300, 0)), mechanism.parameters.mean)
    noise = Noise(np.full(2, 1e-4), np.full(2, 0.1), 0.01, 1.0)
    problem = MechanismProblem(mechanism, log, noise, np.zeros((298, 2), dtype=bool))
    read = none.copy()
    read[1:-1] = mechanism.torque(problem.motion(at), at.x) * [0.75, 1.0]
    problem = replace(problem, log=replace(log, torque=read))
    best = SimpleNamespace(point=SimpleNamespace(point=at))
    fitted = SimpleNamespace(problem=problem, found=SimpleNamespace(best=best))
    kept = Correlation(np.array([10.0, 1.0]), 1.0, np.zeros((0, 0)))
    assert coupled_joints(fitted, kept) == ()  # type: ignore[arg-type]
