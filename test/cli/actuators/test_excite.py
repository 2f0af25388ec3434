# SPDX-License-Identifier: Apache-2.0
"""sysid excite: motions within limits, and files that others read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from shared.actuator_stand import POSTURE as STANDING
from shared.actuator_stand import leg

from sysid_nodes.cli.main import main
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators
from sysid_nodes.systems.actuators.excitation import KINDS, ExcitationConfig, excite
from sysid_nodes.systems.actuators.optimal_excitation import _with_gains, excite_best, log_sigmas, requested_parameters

POSTURE = np.tile([0.0, 0.85, -1.95], 4)


@pytest.mark.parametrize("kind", KINDS)
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
