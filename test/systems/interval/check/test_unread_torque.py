# SPDX-License-Identifier: Apache-2.0
"""Efforts that show no torque, as of a TIAGo's wrist and its lift, are named, and no bound rests on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from shared.bare_arm import LOAD, UR10, bare_arm, loaded, unloaded_run
from shared.payload_problem import Problem, SineMotion

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.results import Status
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.calibration import calibrate
from sysid_nodes.systems.interval.calibration_file import save_calibration
from sysid_nodes.systems.interval.calibration_runs import Run
from sysid_nodes.systems.interval.check.arm_check import check_arm
from sysid_nodes.systems.interval.check.arm_fit import ArmFit
from sysid_nodes.systems.interval.check.draft import draft_lines
from sysid_nodes.systems.interval.check.rounds import check_in_rounds
from sysid_nodes.systems.interval.check.signal_record import Signals
from sysid_nodes.systems.interval.check.unread_torque import UNREAD, unread_torques
from sysid_nodes.systems.interval.check.window_means import WindowMeans
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

DEAD = 3
CONFIG = replace(UR10, noise=replace(UR10.noise, torque_absolute=(1.0,)))


@pytest.fixture(scope="module")
def arm() -> Problem:
    return bare_arm(np.random.default_rng(8), UR10)


def deaden(samples: JointSamples, joint: int, garbage: float = 1.0) -> JointSamples:
    """The effort of a joint reads hundredths that mean nothing, or so many times that."""
    tau = samples.tau.copy()
    tau[:, joint] = 0.02 * garbage * np.random.default_rng(1).normal(size=len(tau))
    return JointSamples(samples.names, samples.t, samples.q, samples.qd, tau)


def signals(samples: JointSamples) -> Signals:
    return Signals(samples.t, samples.q, samples.qd, samples.tau)


def test_an_effort_that_shows_nothing_is_found_and_mended(arm: Problem) -> None:
    samples = unloaded_run(arm, np.random.default_rng(8)).samples
    good = check_arm(arm.robot, CONFIG, signals(samples), thorough=False)
    assert UNREAD not in {finding.kind for finding in good.findings}
    rounds = check_in_rounds(arm.robot, CONFIG, signals(deaden(samples, DEAD)))
    found = [finding for finding in rounds.findings if finding.kind == UNREAD]
    assert [finding.subject for finding in found] == [arm.robot.joint_names[DEAD]]
    assert "of the torque that the described links need" in found[0].message
    stated = rounds.values["noise.torque_absolute"]
    assert stated[DEAD] >= arm.robot.limits.torque[DEAD] > stated[DEAD - 1]
    assert UNREAD not in {finding.kind for finding in rounds.last.findings}


def test_a_draft_lets_nothing_rest_on_it(arm: Problem) -> None:
    samples = deaden(unloaded_run(arm, np.random.default_rng(8)).samples, DEAD)
    text = "\n".join(draft_lines(arm.robot, UR10, signals(samples)))
    stated = yaml.safe_load(text)["/**"]["ros__parameters"]["noise"]["torque_absolute"]
    unread = stated >= arm.robot.limits.torque
    assert list(np.flatnonzero(unread)) == [DEAD]
    assert f"the effort of {arm.robot.joint_names[DEAD]} does not show what the described links need" in text


def test_a_payload_that_such_a_joint_does_not_show_stays_inside(
    arm: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the joint would have to show is far above what an unloaded run leaves over: its rows would exclude it."""
    monkeypatch.setattr(
        "sysid_nodes.systems.interval.calibration_bounds.LEAST_SUMS", 2
    )  # rows over several windows, too
    rng = np.random.default_rng(8)
    limit = arm.robot.limits.torque[DEAD]
    stated = tuple(limit if k == DEAD else 0.0 for k in range(arm.robot.n))
    run = unloaded_run(arm, rng)
    bare = Run(deaden(run.samples, DEAD), 0.0, "bare")
    carried = deaden(unloaded_run(loaded(arm, LOAD, SineMotion.random(rng, 6)), rng).samples, DEAD)
    inside = {}
    for name, known in (("stated", stated), ("taken for its torque", (0.0,))):
        config = replace(UR10, noise=replace(UR10.noise, torque_absolute=known))
        found = calibrate(arm.robot, config, [bare])
        file = tmp_path / f"{name}.json"
        save_calibration(found, file)
        assert (found.torque_absolute[DEAD] == limit) == (name == "stated")
        assert found.sum_shares
        assert all((share[DEAD] == 1.0) == (name == "stated") for share in found.sum_shares.values())
        result = IntervalPipeline(arm.robot, replace(config, calibration=str(file))).identify(carried)
        holds = ((result.lower <= LOAD) & (result.upper >= LOAD)).all()
        inside[name] = holds and result.status in (Status.PROVEN, Status.NOT_EXCITED)
        if name == "stated":
            assert result.estimate is not None
            assert ((result.estimate.lower <= LOAD) & (result.estimate.upper >= LOAD)).all()
    assert inside == {"stated": True, "taken for its torque": False}


def test_what_such_a_joint_reads_changes_no_estimate(arm: Problem, tmp_path: Path) -> None:
    limit = arm.robot.limits.torque[DEAD]
    config = replace(UR10, noise=replace(UR10.noise, torque_absolute=tuple(limit * (np.arange(6) == DEAD))))
    beliefs, estimates = [], []
    for garbage in (1.0, 100.0):
        rng = np.random.default_rng(8)
        bare = deaden(unloaded_run(arm, rng).samples, DEAD, garbage)
        found = calibrate(arm.robot, config, [Run(bare, 0.0, "bare")])
        beliefs.append(found.belief.point[:60])
        if not estimates:
            save_calibration(found, tmp_path / "calibration.json")
        own = replace(config, calibration=str(tmp_path / "calibration.json"))
        carries = loaded(arm, LOAD, SineMotion.random(rng, 6))
        result = IntervalPipeline(arm.robot, own).identify(deaden(unloaded_run(carries, rng).samples, DEAD, garbage))
        assert result.estimate is not None
        estimates.append([result.estimate.lower, result.estimate.upper])
    np.testing.assert_allclose(*beliefs, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(*estimates, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    ("mean", "moves", "allowed", "link", "fitted", "lacks"),
    [
        (1.0, True, 5.0, 0, 0.0, True),
        (1.0, True, 100.0, 0, 0.0, False),  # the stated error covers it
        (1.0, False, 5.0, 0, 0.0, False),  # at rest a worm gear holds the weight
        (120.0, True, 5.0, 0, 0.0, False),  # an offset, of which others speak
        (1.0, True, 5.0, 6, 1.0, True),
        (1.0, True, 5.0, 6, 0.0, False),  # by what is described of the last link, but not by what was fitted of it
        (1.8, True, 0.0, 6, 100.0, False),  # the other way round: 1.8 are described
    ],
)
def test_a_weight_that_never_changes_has_to_be_read_as_well(
    mean: float, moves: bool, allowed: float, link: int, fitted: float, lacks: bool
) -> None:
    """A lift carries the same wherever it is: no motion tells what share of it is read."""
    rng = np.random.default_rng(3)
    robot, count = load_robot("kinova_gen3"), 60
    t = 0.2 * np.arange(count)[:, None] + np.array([0.0, 0.2])
    needed, reading = np.zeros((count, 7, 70)), np.zeros((count, 7))
    described = 180.0 / max(fitted, 1.0)
    needed[:, 0, 10 * link] = described * (1.0 + 1e-4 * rng.normal(size=count)) / robot.inertial_parameters()[link, 0]
    reading[:, 0] = mean + 0.02 * np.resize([1.0, -1.0, -1.0, 1.0], count)
    motion = np.zeros((count, 7, 3))
    motion[:, 0, :2] = (np.sign(np.sin(t[:, 0])) * float(moves))[:, None]
    place = np.sin(t[:, :1]) * np.ones(7)
    means = WindowMeans(t, reading, needed, motion, place, np.zeros((count, 7, 2)))
    fit = ArmFit((), fitted * robot.inertial_parameters()[6], np.zeros(10), np.ones(7))
    found = unread_torques(fit, means, np.full(7, allowed), robot, 6)
    assert [finding.subject for finding in found] == ["joint_1"] * lacks
    assert all(" in the mean where the described links need 180: " in finding.message for finding in found)
