# SPDX-License-Identifier: Apache-2.0
"""sysid excite: motions within limits, and files that others read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio
import pytest
import yaml
from shared.actuator_stand import POSTURE as STANDING
from shared.actuator_stand import leg

from sysid_nodes.cli.main import main
from sysid_nodes.data.inertia import give_extent, log_cholesky_to_parameters, parameters_to_log_cholesky
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.description import build_robot
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators
from sysid_nodes.systems.actuators.excitation import KINDS, Excitation, ExcitationConfig, candidates, excite
from sysid_nodes.systems.actuators.link_excitation import Judge, excite_links
from sysid_nodes.systems.actuators.optimal_excitation import _with_gains, excite_best, log_sigmas, requested_parameters

POSTURE = np.tile([0.0, 0.85, -1.95], 4)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "links"])
@pytest.mark.parametrize("amplitude", [0.1, 3.0])
def test_a_motion_stays_within_its_limits_and_begins_and_ends_at_rest(kind: str, amplitude: float) -> None:
    limits = load_robot("go2").limits
    config = ExcitationConfig(kind=kind, duration=8.0, amplitude=amplitude, draws=3, share=0.5)
    motion = excite_best(config, load_robot("go2"), POSTURE) if kind == "optimal" else excite(config, limits, POSTURE)
    room = np.minimum(POSTURE - limits.position_lower, limits.position_upper - POSTURE)
    assert (np.abs(motion.q - POSTURE).max(axis=0) <= np.minimum(amplitude, 0.5 * room) + 1e-12).all()
    assert (np.abs(motion.qd).max(axis=0) <= 0.5 * limits.velocity + 1e-12).all()
    for end in (0, -1):
        np.testing.assert_allclose(motion.q[end], POSTURE, atol=1e-12)
        np.testing.assert_allclose(motion.qd[end], 0.0, atol=1e-3)
    # Velocity and acceleration are those of the positions.
    np.testing.assert_allclose(np.gradient(motion.q, motion.t, axis=0), motion.qd, atol=1e-9)
    assert np.ptp(motion.q, axis=0).min() > 0.05


LINKS = ExcitationConfig(kind="links", duration=6.0, amplitude=0.6, draws=12)
BENT = np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.6, 0.6])


def test_a_motion_for_links_tells_more_than_what_it_is_made_of_within_all_limits() -> None:
    robot = load_robot("panda")
    chirp = excite(replace(LINKS, kind="chirp"), robot.limits, BENT)
    judge, best = Judge.of(robot, chirp, LINKS.share), excite_links(LINKS, robot, BENT)
    others = [motion for motion in candidates(LINKS, robot.limits, BENT) if judge.allows(motion)]
    assert judge.information(best) > max(map(judge.information, others)) + 2.0, "nats"
    assert (np.abs(best.qd).max(axis=0) <= LINKS.share * robot.limits.velocity + 1e-12).all()
    model, data = robot.model, robot.model.createData()
    needed = [pinocchio.rnea(model, data, *at).copy() for at in zip(*best[1:], strict=True)]
    assert (np.abs(needed).max(axis=0) <= LINKS.share * robot.limits.torque).all()


def _minus_sine(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(-np.sin(x))


def test_information_is_the_determinant_of_what_is_left_over_what_was_known() -> None:
    """Of two joints, constant by constant: torques by differences of log-Cholesky coordinates, friction and rotors."""
    robot = build_robot(example_urdf("double_pendulum_description/urdf/double_pendulum_simple.urdf"))
    t, speed = np.arange(201) / 100.0, np.array([5.0, 8.0])
    motion = Excitation(t, *(by(speed * t[:, None]) * speed**k for k, by in enumerate((np.sin, np.cos, _minus_sine))))
    judge = Judge.of(robot, motion, 1.0)
    etas = np.array([parameters_to_log_cholesky(give_extent(theta)[0]) for theta in robot.inertial_parameters()])
    rows = standard_regressor(judge.chain, *(part[::2] for part in motion[1:]))
    columns = []
    for i, k in np.ndindex(etas.shape):
        step = np.zeros_like(etas)
        step[i, k] = 1e-6
        after, before = (log_cholesky_to_parameters(etas + sign * step).ravel() for sign in (1.0, -1.0))
        columns.append(0.3 * rows @ (after - before) / 2e-6)
    v, a = motion.qd[::2], motion.qdd[::2]
    columns += [0.1 * judge.size * np.eye(2)[j] * by for by in (np.tanh(v / 0.05), v, a) for j in range(2)]
    whitened = np.stack(columns, axis=2).reshape(-1, 26) / np.tile(0.01 * judge.size, len(v))[:, None]
    expected = 0.5 * np.linalg.slogdet(np.eye(26) + whitened.T @ whitened)[1]
    assert judge.information(motion) == pytest.approx(expected, rel=1e-6)  # of differences


def test_motions_for_links_need_a_base_that_stands_and_torque_enough() -> None:
    with pytest.raises(ConfigError, match="kind=links is for robots with a fixed base"):
        excite_links(LINKS, load_robot("go2"), POSTURE)
    robot = load_robot("panda")
    weak = replace(robot, limits=replace(robot.limits, torque=0.01 * robot.limits.torque))
    with pytest.raises(ConfigError, match="none of 2 motions keeps to 0"):
        excite_links(replace(LINKS, draws=1), weak, BENT)


OPTIMAL = ExcitationConfig(kind="optimal", duration=12.0, last=4.0, draws=30, stiffness=(20.0,), damping=(1.0,))


def test_the_optimal_motion_leaves_no_joint_less_known_than_the_chirp() -> None:
    robot = leg()
    config = _with_gains(OPTIMAL, robot, STANDING)
    names = requested_parameters(OPTIMAL)
    chirp = log_sigmas(excite(replace(OPTIMAL, kind="chirp"), robot.limits, STANDING), robot, config, names)
    best = log_sigmas(excite_best(OPTIMAL, robot, STANDING), robot, config, names)
    assert (best.mean(axis=1) <= chirp.mean(axis=1)).all()
    assert (best.mean(axis=1) < chirp.mean(axis=1) - 0.05).any()


def test_where_nothing_is_better_it_is_the_chirp() -> None:
    """A joint has the chirp's motion to the last digit, or a better one."""
    one = replace(OPTIMAL, duration=4.0, draws=1, seed=3)
    robot = leg()
    best, chirp = excite_best(one, robot, STANDING), excite(replace(one, kind="chirp"), robot.limits, STANDING)
    config, names = _with_gains(one, robot, STANDING), requested_parameters(one)
    found, plain = (log_sigmas(motion, robot, config, names).mean(axis=1) for motion in (best, chirp))
    same = (best.q == chirp.q).all(axis=0)
    assert (same | (found < plain)).all()


def test_a_true_leg_is_told_better_by_the_optimal_motion_than_by_the_chirp() -> None:
    """Identified, with what the law lacks: geometric mean of the sigmas, and the truth within five of them."""
    rng = np.random.default_rng(5)
    drives = Drives.draw(3, rng)
    sigmas = []
    for kind in ("chirp", "optimal"):
        config = replace(OPTIMAL, kind=kind)
        best = kind == "optimal"
        motion = excite_best(config, leg(), STANDING) if best else excite(config, leg().limits, STANDING)
        log = move_on_stand(leg(), drives, motion.t, motion.q).read(noise=8e-4, rng=np.random.default_rng(6))
        result = identify_actuators(log, leg(), ActuatorConfig())
        rows = [(row.sigma, row.estimate, getattr(drives, row.name)[j]) for j, joint in enumerate(result.joints)
                for row in joint.parameters if row.name in ("armature", "delay", "viscous", "coulomb")]  # fmt: skip
        assert all(value is not None and abs(value - true) < 5.0 * sigma for sigma, value, true in rows)
        sigmas.append(float(np.exp(np.mean([np.log(sigma) for sigma, _, _ in rows]))))
    assert sigmas[1] < sigmas[0], sigmas  # .8 is predicted


def test_a_parameter_that_no_actuator_has_is_named() -> None:
    with pytest.raises(ConfigError, match="no parameter 'mass'"):
        excite_best(replace(OPTIMAL, parameters="armature, mass"), leg(), STANDING)


def test_files_hold_the_motion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "chirp"
    assert main(["excite", "--robot", "go2", "--set", "duration=4", "--set", "rate=50", "--out", str(out)]) == 0
    assert "condition at most" in capsys.readouterr().out
    arrays = np.load(out / "trajectory.npz")
    message = yaml.safe_load((out / "trajectory.yaml").read_text(encoding="utf-8"))
    names = load_robot("go2").joint_names
    assert message["joint_names"] == list(names)
    np.testing.assert_allclose([p["positions"] for p in message["points"]], arrays["command"], atol=1e-6)
    assert message["points"][-1]["time_from_start"] == {"sec": 4, "nanosec": 0}
    table = (out / "trajectory.csv").read_text(encoding="utf-8").splitlines()
    assert table[0] == ",".join(["t", *(f"command_{name}" for name in names)])
    assert len(table) == 202
    assert (out / "motion.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --robot or --urdf"),
        (["--robot", "go2", "--set", "kind=loud"], "must be one of chirp, fourier, optimal"),
        (["--robot", "go2", "--middle=1,2"], "--middle needs 12 finite numbers"),
        (["--robot", "go2", "--middle", ",".join(["9"] * 12)], "joint 3 is not within its limits"),
        (["--robot", "go2", "--set", "first=5"], "frequencies must rise"),
    ],
)
def test_what_makes_no_motion_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["excite", *arguments, "--out", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_posture_outside_is_a_mistake() -> None:
    with pytest.raises(ConfigError, match="joint 3"):
        excite(ExcitationConfig(), load_robot("go2").limits, POSTURE + np.eye(12)[2] * 9.0)
