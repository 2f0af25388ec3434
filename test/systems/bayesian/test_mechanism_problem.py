# SPDX-License-Identifier: Apache-2.0
"""Residuals against MuJoCo's own dynamics, derivatives against finite differences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from shared.bayesian_derivatives import check_derivatives
from shared.bayesian_problem import ALL_TERMS, problem_and_point

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_of, leg_run, prior_constants, true_constants
from sysid_nodes.data.inertia import parameters_to_log_cholesky, pseudo_inertia_to_parameters
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import build_robot
from sysid_nodes.robots.fourbar_leg import PINS
from sysid_nodes.simulation.fourbar.leg import JOINTS, LegTruth, mjcf
from sysid_nodes.solvers.trajectory_least_squares.problem import Array
from sysid_nodes.systems.bayesian.config import (
    FrictionPriorConfig,
    InertiaPriorConfig,
    MechanismConfig,
)
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.initial_motion import loop_forces
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, build_mechanism
from sysid_nodes.systems.bayesian.problem import GROUPS
from sysid_nodes.systems.bayesian.symmetry import symmetry_rows
from sysid_nodes.systems.bayesian.turning import turns

OWN_TERM = """import casadi
CONSTANTS = [("stiffness", "N m/rad", 2.0, 1.0, 0.0), ("fan", "W s2", 0.3, 0.1)]
def torque(q, v, a, theta):
    return {"hip": theta["stiffness"] * casadi.sin(q["hip"]) * a["knee"], "knee": theta["stiffness"] * v["hip"]}
def power(q, v, a, theta):
    return theta["fan"] * v["crank_motor"] ** 2 * casadi.cos(q["knee"])
"""


def true_x(problem_mean: Array, truth: LegTruth, own: object) -> Array:
    x = problem_mean.copy()
    for i, theta in enumerate(truth.inertial_parameters()):
        x[own.body(i)] = parameters_to_log_cholesky(theta)  # type: ignore[attr-defined]
    for name in ("coulomb", "viscous", "armature"):
        x[own.joint(name)] = getattr(truth, name)  # type: ignore[attr-defined]
    return x


def test_torques_are_mujocos() -> None:
    """Accelerations that MuJoCo gives to known torques need these torques, loop forces eliminated."""
    truth = LegTruth.draw(np.random.default_rng(3))
    truth = replace(truth, coulomb=np.zeros(4))  # MuJoCo's dry friction is a constraint, not a function of the speed
    mechanism = build_mechanism(leg(), CONFIG, power=False)
    check_torques(mechanism, true_x(mechanism.parameters.mean, truth, mechanism.parameters), mjcf(truth))


def test_mujocos_leg_has_the_constants_that_it_is_given() -> None:
    """Drawn from the prior: products of inertia, and links that are not symmetric about their plane."""
    mechanism = build_mechanism(leg(), CONFIG, power=True)
    x = prior_constants(mechanism, np.random.default_rng(4))
    x[mechanism.parameters.joint("coulomb")] = 0.0
    truth = leg_of(mechanism, x)
    np.testing.assert_allclose(true_constants(truth, mechanism), x, atol=1e-9)
    check_torques(mechanism, x, mjcf(truth))


def test_a_joint_that_stands_all_along_is_not_free_to_shake() -> None:
    """It is held to its readings as closely as they stay where they are; one that moves by its noise."""
    problem, point = problem_and_point()
    motors = np.flatnonzero(problem.mechanism.parameters.motors)
    turning = np.zeros_like(problem.turning)
    turning[:, 0] = True
    position = problem.log.position.copy()
    position[:, motors[0]] = 0.1 + 2e-5 * (-1.0) ** np.arange(len(position))
    problem = replace(problem, log=replace(problem.log, position=position), turning=turning)
    first, second = (1.0 / problem.linearise(point)[0].jacobian[0, k, j] for k, j in enumerate(sorted(motors[:2])))
    assert first == pytest.approx(2e-5, rel=0.02)
    assert second == pytest.approx(problem.noise.position[motors[1]])
    still = replace(problem, log=replace(problem.log, position=np.where(np.isfinite(position), 0.1, np.nan)))
    assert 1.0 / still.linearise(point)[0].jacobian[0, 0, motors[0]] == pytest.approx(1e-7)


def test_jitter_is_the_noise_of_positions() -> None:
    """Whatever the motion; of joints that were not read, the largest of the others'."""
    rng, t = np.random.default_rng(0), 0.01 * np.arange(2000.0)[:, None]
    position = np.sin(2.0 * np.pi * t) + np.array([1e-4, 3e-4, np.nan]) * rng.standard_normal((2000, 3))
    position[100] += 0.5  # an outlier
    log = MechanismLog(0.0, 0.01, position, np.zeros((2000, 3)), np.full(2000, np.nan))
    # 2000 medians of neighbours that share readings tell a scale to some 3 %
    np.testing.assert_allclose(log.jitter, [1e-4, 3e-4, 3e-4], rtol=0.1)


@pytest.mark.parametrize(("speed", "noise", "left_out"), [(0.03, 1e-5, False), (0.03, 1e-4, True), (0.2, 1e-4, False)])
def test_dry_friction_is_not_told_by_speeds_that_are_not_known(speed: float, noise: float, left_out: bool) -> None:
    """Friction turns over 0.02 rad/s: 1e-4 rad leave 7e-3 rad/s between neighbours of 10 ms, 1e-5 a tenth of that."""
    mechanism, log = build_mechanism(leg(), CONFIG, power=False), leg_log(leg_run(0, 0.4)[1])
    (motors,) = np.nonzero(mechanism.parameters.motors)
    q = np.zeros_like(log.position)
    q[:, motors] = speed * log.t[:, None]
    rng, read = np.random.default_rng(0), np.full_like(q, np.nan)
    read[:, motors] = q[:, motors] + noise * rng.standard_normal((len(q), len(motors)))
    passive = replace(CONFIG, friction=replace(CONFIG.friction, passive="none"))
    mechanism = build_mechanism(leg(), passive, power=False)
    x = mechanism.parameters.mean
    at = Estimate(q, np.zeros((len(q), mechanism.closures.count)), x)
    found = turns(mechanism, replace(log, position=read), at)
    assert found.all() if left_out else not found.any()


def test_torques_of_a_welded_loop_are_mujocos(tmp_path: Path) -> None:
    """The rod's end is a link of its own, hinged to the shank and welded to the rod askew."""
    *_, (_, _, pin) = PINS
    place, turn = (" ".join(map(str, part)) for part in (pin, (np.cos(0.2), 0.0, np.sin(0.2), 0.0)))
    end = '<inertial pos="0.01 0 0.02" mass="0.2" diaginertia="2e-4 2e-4 1e-4"/>'
    truth = replace(LegTruth.draw(np.random.default_rng(3), 0.0), coulomb=np.zeros(4))
    text = mjcf(truth)
    site = next(part for part in text.split("<") if part.startswith('site name="lever_pin"'))
    body = f'body name="lever_pin" pos="{place}" quat="{turn}"><joint name="pin" axis="0 1 0"/>{end}</body>'
    text = text.replace(site, body)
    text = text.replace(
        'connect site1="rod_end" site2="lever_pin"', 'weld body1="rod" body2="lever_pin" torquescale="0.1"'
    )
    (tmp_path / "leg.xml").write_text(text)
    inertial = (
        '<inertial><origin xyz="0.01 0 0.02"/><mass value="0.2"/>'
        '<inertia ixx="2e-4" iyy="2e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    urdf = leg().urdf.replace('<link name="lever_pin"/>', f'<link name="lever_pin">{inertial}</link>')
    fixed, hinge = (
        '<joint name="lever_pin_fixed" type="fixed">',
        '<joint name="pin" type="continuous"><axis xyz="0 1 0"/>',
    )
    urdf = urdf.replace(fixed, hinge + '<limit effort="1" velocity="1"/>')
    at = '<child link="lever_pin"/><origin xyz="0.045 0.06 0.0"'
    robot = build_robot(urdf.replace(at, at + ' rpy="0 0.4 0"'), name="welded_leg")
    config = replace(
        CONFIG, mechanism=MechanismConfig(loops=(str(tmp_path / "leg.xml"),), passive=("rod_joint", "knee", "pin"))
    )
    mechanism = build_mechanism(robot, config, power=False)
    assert mechanism.closures.count == 3
    x = mechanism.parameters.mean.copy()
    for name in ("viscous", "armature"):
        for joint, value in zip(JOINTS, getattr(truth, name), strict=True):
            x[mechanism.parameters.joint(name)][robot.joint_names.index(joint)] = value
    check_torques(mechanism, x, text)


def check_torques(mechanism: Mechanism, x: Array, text: str) -> None:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    motions, torques = [], []
    for k in range(3000):
        data.ctrl[:] = torque = 3.0 * np.sin(0.002 * k * np.array([1.0, 1.7]) + 0.5)
        mujoco.mj_step(model, data)
        if k % 500 == 499:
            mujoco.mj_forward(model, data)
            motions.append([data.qpos.copy(), data.qvel.copy(), data.qacc.copy()])
            torques.append(torque)
    names = [model.joint(j).name for j in range(model.njnt)]
    order = [names.index(name) for name in mechanism.robot.joint_names]
    q, v, a = np.moveaxis(np.array(motions)[:, :, order], 1, 0)
    # The configuration of MuJoCo is off the loop by nanometres, its acceleration by what pulls it back.
    motion = Motion(q, v, a, np.zeros((len(q), mechanism.closures.count)))
    motion = replace(motion, force=loop_forces(mechanism, motion, x))
    found = mechanism.torque(motion, x)
    np.testing.assert_allclose(found[:, mechanism.parameters.motors], torques, atol=2e-3)
    np.testing.assert_allclose(found[:, ~mechanism.parameters.motors], 0.0, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in GROUPS if name != "impact"])
def test_derivatives(name: str) -> None:
    problem, point = problem_and_point()
    if name == "unread":
        position = problem.log.position.copy()
        position[3] = np.nan
        problem = replace(problem, log=replace(problem.log, position=position))
    check_derivatives(problem, point, GROUPS.index(name))


@pytest.mark.parametrize("group", ["torque", "passive", "power"])
def test_derivatives_of_bristles(group: str) -> None:
    """LuGre's friction at motors, or at all other joints; where a joint turns, there are no second derivatives."""
    kind = "passive" if group == "passive" else "motors"
    friction = replace(ALL_TERMS.friction, **{kind: "lugre"}, deflection=0.02, load_sigma=0.0)  # type: ignore[arg-type]
    check_derivatives(*problem_and_point(config=replace(ALL_TERMS, friction=friction)), GROUPS.index(group), 1e-8)


def test_derivatives_of_a_term_of_ones_own(tmp_path: Path) -> None:
    pytest.importorskip("casadi", reason="CasADi is optional")
    (tmp_path / "term.py").write_text(OWN_TERM)
    config = replace(ALL_TERMS, mechanism=replace(ALL_TERMS.mechanism, term=str(tmp_path / "term.py")))
    problem, point = problem_and_point(config=config)
    for name in ("torque", "passive", "power", "prior", "told"):
        check_derivatives(problem, point, GROUPS.index(name))
    usual, _ = problem_and_point()
    k, x = usual.mechanism.parameters.idle, np.concatenate([point.x[: problem.mechanism.parameters.idle + 1]])
    motion = problem.motion(point)
    more = problem.mechanism.torque(motion, point.x) - usual.mechanism.torque(motion, x)
    names = leg().joint_names
    hip, knee = names.index("hip"), names.index("knee")
    expected = point.x[k + 1] * np.sin(motion.q[:, hip]) * motion.a[:, knee]
    np.testing.assert_allclose(more[:, hip], expected, atol=1e-9 * np.abs(expected).max())


def test_total_mass_row() -> None:
    problem, point = problem_and_point()
    row = problem.parameter_rows(point).equality[0]
    masses = problem.mechanism.parameters.inertia(point.x)[:, 0]
    assert row[-1] == pytest.approx(masses.sum() - 3.4)
    eps, theta = 1e-6, np.random.default_rng(1).standard_normal(problem.layout.parameters)
    zero = np.zeros_like(point.q)
    ends = [
        problem.parameter_rows(problem.retract(point, zero, s * eps * theta, 0.0 * point.force)).equality[0, -1]
        for s in (1.0, -1.0)
    ]
    assert (ends[0] - ends[1]) / (2 * eps) == pytest.approx(row[:-1] @ theta, rel=1e-6)


@pytest.mark.parametrize(("total", "refused"), [(3.45, False), (3.55, False), (3.6, True), (3.3, True)])
def test_a_total_mass_that_the_unknown_links_cannot_make_up(total: float, refused: bool) -> None:
    """The leg weighs 3.45 kg, its thigh 2 kg: six sigmas of 1 % of that are 0.12 kg, all that may be missing."""
    config = replace(CONFIG, inertia=replace(CONFIG.inertia, bodies="thigh", mass_sigma=0.01, total_mass=total))
    if refused:
        with pytest.raises(ConfigError, match=r"more than 6 of 'inertia\.mass_sigma' apart"):
            build_mechanism(leg(), config, power=False)
    else:
        assert build_mechanism(leg(), config, power=False).parameters.total_mass == total


@pytest.mark.parametrize(("axes", "reflection"), [("x", (-1, 1, 1)), ("yz", (1, -1, -1)), ("", (1, 1, 1))])
def test_symmetric_links_are_mirror_images(axes: str, reflection: tuple[int, int, int]) -> None:
    """Against points of mass that are reflected one by one."""
    rng = np.random.default_rng(2)
    place, mass = rng.standard_normal((20, 3)), rng.uniform(0.5, 1.5, 20)
    eta = [
        parameters_to_log_cholesky(pseudo_inertia_to_parameters(points.T @ (mass[:, None] * points)))
        for points in (np.column_stack([p, np.ones(20)]) for p in (place, place * reflection))
    ]
    links, there = ("left", "right"), np.array([True, True])
    rows = symmetry_rows([f"left:right:{axes}"], links, there, np.array(eta), np.ones((2, 10)))
    assert rows.shape == (10, 20)
    np.testing.assert_allclose(rows @ np.concatenate(eta), 0.0, atol=1e-9)
    assert len(symmetry_rows(["left:right", "right:left"], links, there, np.zeros((2, 10)), np.ones((2, 10)))) == 10
    assert len(symmetry_rows(["left:left:y"], links, there, np.zeros((2, 10)), np.ones((2, 10)))) == 3


def test_unknown_names() -> None:
    for part, message in (
        (replace(CONFIG, friction=FrictionPriorConfig(motors="lugre", load_sigma=0.1)), "not for joints with lugre"),
        (replace(CONFIG, inertia=InertiaPriorConfig(symmetric=("thigh:toe",))), "names 'toe'"),
        (replace(CONFIG, inertia=InertiaPriorConfig(symmetric=("thigh:shank",))), "is not so in the description"),
        (replace(CONFIG, inertia=InertiaPriorConfig(symmetric=("thigh:thigh",))), "needs LINK:LINK"),
        (replace(CONFIG, mechanism=replace(CONFIG.mechanism, passive=("ankle",))), "'mechanism.passive' names 'ankle'"),
        (replace(CONFIG, inertia=InertiaPriorConfig(bodies="foot")), "no link 'foot'"),
        (replace(CONFIG, mechanism=replace(CONFIG.mechanism, passive=leg().joint_names)), "no joint with a motor"),
    ):
        with pytest.raises(ConfigError, match=message):
            build_mechanism(leg(), part, power=False)


def test_white_noise_is_at_most_what_readings_scatter() -> None:
    """Motion and outliers add to it, and four standard deviations of chance: an eighth of 2000; a joint that was hardly
    read has no bound."""
    rng, t = np.random.default_rng(0), 0.01 * np.arange(2000.0)[:, None]
    position = np.sin(2.0 * np.pi * t) + np.array([1e-4, 3e-4, np.nan]) * rng.standard_normal((2000, 3))
    position[:10, 2] = 0.1
    log = MechanismLog(0.0, 0.01, position, np.zeros((2000, 3)), np.full(2000, np.nan))
    most = log.most_noise
    assert np.all(most[:2] > [1e-4, 3e-4])
    np.testing.assert_allclose(most[:2], [1.12e-4, 3.36e-4], rtol=0.05)
    assert np.isinf(most[2])
    position[1000, 0] += 0.01
    assert log.most_noise[0] > 0.01 / np.sqrt(2000)
