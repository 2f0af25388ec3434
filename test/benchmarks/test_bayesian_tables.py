# SPDX-License-Identifier: Apache-2.0
"""The five robots of the Bayesian paper: MuJoCo's motion obeys the mechanism's equations, and the tables are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from shared.benchmark_report import only_report

from benchmarks import bayesian_tables
from benchmarks.bayesian_robots import ROBOTS, bench_robot
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from benchmarks.peers.smoothed_regression import SmoothMotion, energy, inverse_dynamics
from benchmarks.records import collect
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.initial_motion import initial_positions, loop_forces
from sysid_nodes.systems.bayesian.mechanism import Motion

Array = npt.NDArray[np.float64]


@pytest.mark.parametrize("name", [*ROBOTS, "cassie"])
def test_mujoco_obeys_the_mechanisms_equations(name: str) -> None:
    own = bench_robot(name)
    mechanism = true_mechanism(own)
    truth = simulate(own, 3, 0.1)
    assert truth.gap < 1e-6
    layout, away = mechanism.parameters, slice(10, None)  # friction that turns is MuJoCo's own, and so are first steps
    q, v, a = truth.q[away], truth.v[away], truth.a[away]
    motion = Motion(q, v, a, np.zeros((len(q), mechanism.closures.count)))
    motion = replace(motion, force=loop_forces(mechanism, motion, truth.x))
    missing = mechanism.torque(motion, truth.x)
    missing[:, layout.motors] -= truth.torque[away]
    if count := mechanism.closures.count:
        free = np.linalg.svd(mechanism.closures.linearise(q)[1])[2][:, count:]
        missing = (free @ missing[:, :, None])[:, :, 0]
    size = np.sqrt(np.mean(truth.torque**2))
    assert np.median(np.abs(missing)) < 2e-3 * size


@pytest.mark.parametrize(("regress", "tolerance"), [(inverse_dynamics, 3e-3), (energy, 2e-2)])
def test_regression_on_exact_motion_finds_what_it_shows(regress: Callable[..., Array], tolerance: float) -> None:
    own = bench_robot("pendulum")
    mechanism, truth = true_mechanism(own), simulate(own, 1, 2.0)
    free = np.broadcast_to(np.eye(2), (len(truth.q), 2, 2))
    motion = SmoothMotion(0.002 * np.arange(len(truth.q)), truth.q, truth.v, truth.a, truth.torque, free)
    friction, torque, _ = bayesian_tables.errors(mechanism, truth, regress(mechanism, motion))
    assert max(friction, torque) < tolerance  # the energy of 2 s has twenty rows


def test_standing_legs_are_closed_near_their_readings() -> None:
    """The base is not read: it has to come to the legs, and not the legs to where the base was guessed."""
    own = bench_robot("quadruped")
    mechanism, truth = true_mechanism(own), simulate(own, 1, 0.5)
    q, torque, _ = readings(own, truth, 1e-4, 1)
    log = bench_log(own, q, torque, None)
    assert np.abs(initial_positions(mechanism, log) - truth.q[::10][: log.stages]).max() < 2e-3


def test_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--seeds", "1", "--duration", "1", "--robots", "pendulum", "--records", str(tmp_path / "r.jsonl")]
    assert bayesian_tables.main([*arguments, "--out", str(tmp_path)]) == 0
    text = only_report(tmp_path)
    assert "| pendulum, with a power meter |" in text
    assert "| pendulum, 0.001 rad |" in text
    with (tmp_path / "r.jsonl").open("a") as file:
        file.write('{"key": {"robot"')  # a run that was ended while it wrote
    assert bayesian_tables.main([*arguments, "--out", str(tmp_path)]) == 0, "finished trials are read, not run again"
    assert only_report(tmp_path).count("FOUND") == text.count("FOUND")
    assert "was cut off" in capsys.readouterr().err
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 1


def test_a_file_that_holds_no_records_is_refused_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text('{"robot": "pendulum"}\n')
    with pytest.raises(SystemExit, match="line 1 is no record"):
        collect(tmp_path / "r.jsonl", [], dict, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadruped", "biped"])
def test_a_standing_robot_is_identified(name: str) -> None:
    own = bench_robot(name)
    mechanism, truth = true_mechanism(own), simulate(own, 1, 2.0)
    q, torque, _ = readings(own, truth, 3e-4, 1)
    result = identify(bench_log(own, q, torque, None), own.robot, own.config)
    x = mechanism.parameters.mean.copy()
    x[mechanism.parameters.free] = result.theta
    assert result.status is BayesianStatus.FOUND
    assert bayesian_tables.errors(mechanism, truth, x)[1] < 0.02
    assert bayesian_tables.errors(mechanism, truth, mechanism.parameters.mean)[1] > 0.05
