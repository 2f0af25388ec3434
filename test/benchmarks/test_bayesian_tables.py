# SPDX-License-Identifier: Apache-2.0
"""The five robots of the Bayesian paper: MuJoCo's motion obeys the mechanism's equations, and the tables are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.benchmark_report import only_report

from benchmarks import bayesian_tables, bayesian_trial
from benchmarks.bayesian_robots import ROBOTS, bench_robot
from benchmarks.bayesian_tables_report import summarise
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from benchmarks.peers.smoothed_regression import SmoothMotion, energy, inverse_dynamics
from benchmarks.report import Report
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.initial_motion import initial_positions, loop_forces
from sysid_nodes.systems.bayesian.mechanism import Motion

Array = npt.NDArray[np.float64]


@pytest.mark.parametrize("name", [*ROBOTS, "cassie"])
def test_mujoco_obeys_the_mechanisms_equations(name: str) -> None:
    own = bench_robot(name)
    mechanism = true_mechanism(own)
    truth = simulate(own, 3, 0.3 if own.feet else 0.1)
    assert truth.gap < (2e-4 if own.feet else 1e-6)  # feet stand on a floor that gives way
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
    assert np.median(np.abs(missing)) < (5e-3 if own.feet else 2e-3) * size  # who stands has joints that hardly turn


@pytest.mark.parametrize(("regress", "tolerance"), [(inverse_dynamics, 3e-3), (energy, 2e-2)])
def test_regression_on_exact_motion_finds_what_it_shows(regress: Callable[..., Array], tolerance: float) -> None:
    own = bench_robot("pendulum")
    mechanism, truth = true_mechanism(own), simulate(own, 1, 2.0)
    free = np.broadcast_to(np.eye(2), (len(truth.q), 2, 2))
    motion = SmoothMotion(0.002 * np.arange(len(truth.q)), truth.q, truth.v, truth.a, truth.torque, free)
    friction, torque, _ = bayesian_trial.errors(mechanism, truth, regress(mechanism, motion))
    assert max(friction, torque) < tolerance  # the energy of 2 s has twenty rows


def test_standing_legs_are_closed_near_their_readings() -> None:
    """The base is not read: it has to come to the legs, and not the legs to where the base was guessed."""
    own = bench_robot("quadruped")
    mechanism, truth = true_mechanism(own), simulate(own, 1, 0.5)
    q, torque, _ = readings(own, truth, 1e-4, 1)
    log = bench_log(own, q, torque, None)
    assert np.abs(initial_positions(mechanism, log) - truth.q[::10][: log.stages]).max() < 2e-3


def test_a_method_that_takes_too_long_is_ended_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object) -> dict[str, Any]:
        while True:
            pass

    monkeypatch.setitem(bayesian_trial.METHODS, "FDDP", hang)
    monkeypatch.setitem(bayesian_trial.METHODS, "energy", lambda *_: {"errors": [0.1, 0.2, 0.3]})
    found = [bayesian_trial.trial("pendulum", 1, 0.1, 3e-4, method, limit=1.0) for method in ("FDDP", "energy")]
    assert found[0]["why"] == "over 1 s of CPU" and np.isnan(found[0]["errors"]).all()
    assert found[1]["errors"] == [0.1, 0.2, 0.3]


def test_where_a_peer_is_nearer_the_report_says_so_and_what_a_peer_cannot(tmp_path: Path) -> None:
    """Two robots; a peer that ran on one of them is compared with ours on that one."""
    found = {"prior": [1.0, 0.1, 0.9], "expected": [0.6, 0.1, 0.9], "gap": 0.0, "lifted": 0.0, "seconds": 2.0}
    ours = found | {"told": [0.1, 0.1, 0.1], "status": "FOUND", "iterations": 3, "observed": 4, "inside": 3}
    records = []
    for method in bayesian_trial.METHODS:
        for noise, seed in [(noise, seed) for noise in bayesian_trial.NOISE for seed in (1, 2)]:
            key = {"robot": "biped", "seed": seed, "noise": noise, "method": method}
            mine = ours | {"errors": [0.1 * seed, 0.02, 0.3]}
            if method == "figaroh":
                mine = found | {"errors": [np.nan] * 3, "why": "trees only"}
            elif method == "FDDP":
                mine = found | {"errors": [0.12, 0.03, 0.4], "iterations": 19, "ended": False}
            elif method in bayesian_trial.PEERS:
                mine = found | {"errors": [0.2, 0.01 if noise == 1e-3 else 0.05, 0.4]}
            if method != "FDDP" or (noise, seed) == (3e-4, 1):
                records.append((key, mine))
    report = Report("x", "X", tmp_path, "command")
    summarise(report, records)
    text = report.write().read_text(encoding="utf-8")
    assert "| friction: ours best in every cell | in 3 of 3 | met |" in text
    assert "| rigid-body torque: ours best in every cell | in 2 of 3 | **not met** |" in text
    assert "rigid-body torque of the biped at 0.001 rad (inverse dynamics 1 against 2, energy 1 against 2, " in text
    assert "| biped | 2.0 | 2.0 | trees only | 2.0 | 2.0, 20 iterations, not ended | 2.0 |" in text
    assert "| biped, a power meter alone: friction error to 0.33 | to 0.25 of what the prior expects" in text


@pytest.mark.slow
def test_tables(tmp_path: Path) -> None:
    arguments = ["--seeds", "1", "--duration", "1", "--robots", "pendulum", "--records", str(tmp_path / "r.jsonl")]
    arguments += ["--slow"]
    assert bayesian_tables.main([*arguments, "--out", str(tmp_path)]) == 0
    text = only_report(tmp_path)
    assert "| pendulum, with a power meter |" in text
    assert "| pendulum, 0.001 rad |" in text
    assert "| pendulum | 1 of 1 |" in text.partition("## Without torques")[2]
    assert bayesian_tables.main([*arguments, "--out", str(tmp_path)]) == 0, "finished trials are read, not run again"
    assert only_report(tmp_path).count("FOUND") == text.count("FOUND")


@pytest.mark.parametrize("name", [pytest.param("quadruped", marks=pytest.mark.slow), "biped"])
def test_feet_stay_where_they_are(name: str) -> None:
    """Nothing but a floor's pushing and rubbing holds them; a foot that slips or tips is no bilateral contact."""
    truth = simulate(bench_robot(name), 3, 0.5)
    assert 0.0 < truth.gap < 2e-4
    assert truth.lifted < 0.05


_NEEDED = [("figaroh", "picos"), ("FDDP", "crocoddyl"), ("mujoco.sysid", "absl")]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "package"), _NEEDED)
def test_peers_come_nearer_to_the_truth(method: str, package: str) -> None:
    pytest.importorskip(package)
    found = bayesian_trial.trial("pendulum", 1, 1.0, 3e-4, method)
    if found.get("why") == "not installed":
        pytest.skip(f"{method} is not installed")
    assert found["errors"][0] < 0.3, "friction, of a prior that knows none"
    assert found["errors"][1] < 0.2 * found["prior"][1]


def test_derivatives_of_a_step_are_those_of_what_it_solves() -> None:
    """FDDP's, through loops, by differences."""
    pytest.importorskip("crocoddyl")
    from benchmarks.peers import fddp_constants

    own = bench_robot("quadruped")
    mechanism, truth = true_mechanism(own), simulate(own, 1, 0.5)
    q, torque, _ = readings(own, truth, 1e-4, 1)
    log = bench_log(own, q, torque, None)
    shared = fddp_constants.shared_of(mechanism, log, (1e-4, 1.0))
    states, w = shared.begin(initial_positions(mechanism, log))
    shared.linearise(states)
    n, k, point = mechanism.chain.n, 3, states[2]

    def after(state: Array, push: Array) -> Array:
        return shared.step(k, state, shared.applied()[k] + w[k - 1] + push)[0]

    assert np.abs(after(point, np.zeros(n)) - states[3][n : 2 * n]).max() < 1e-9
    rng, size = np.random.default_rng(0), 1e-6
    along, push = rng.standard_normal(len(point)), 10.0 * rng.standard_normal(n)
    along[: 2 * n] *= 1e-3
    slope = (after(point + size * along, size * push) - after(point - size * along, -size * push)) / (2.0 * size)
    by_state, by_push = (part[k - 1][n : 2 * n] for part in shared.by)
    np.testing.assert_allclose(slope, by_state @ along + by_push @ push, atol=1e-5 * np.abs(slope).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadruped", "biped"])
def test_a_standing_robot_is_identified(name: str) -> None:
    """As near as the posterior says, and nearer by far than before.

    The floor gives way under soles by a tenth of a millimetre, which nobody is told: of a biped's 2 s that is half of
    the error, .025 of the torques; welded to the ground it is .011. Its posterior says .04 of either.
    """
    own = bench_robot(name)
    own = replace(own, config=replace(own.config, noise=replace(own.config.noise, rounds=12)))  # 6 do not settle
    mechanism, truth = true_mechanism(own), simulate(own, 1, 2.0)
    q, torque, _ = readings(own, truth, 3e-4, 1)
    result = identify(bench_log(own, q, torque, None), own.robot, own.config)
    x = mechanism.parameters.mean.copy()
    x[mechanism.parameters.free] = result.theta
    error, before = (bayesian_trial.errors(mechanism, truth, value)[1] for value in (x, mechanism.parameters.mean))
    assert result.status is BayesianStatus.FOUND
    assert error < bayesian_trial.told_errors(mechanism, truth, result)[1] < 0.3 * before
    held = bayesian_trial.intervals_that_hold(result, mechanism.parameters.links, mechanism.parameters.inertia(truth.x))
    assert len(held) >= 5
    assert np.mean(held) > 0.85
