# SPDX-License-Identifier: Apache-2.0
"""One identification without ROS or files: news, findings, and a run that is the pipeline's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared.payload_problem import Problem
from shared.recorded import problem

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.reports.interval.files import write_run
from sysid_nodes.reports.interval.result_file import build_document, read_result
from sysid_nodes.reports.wording import verdict
from sysid_nodes.results import Status
from sysid_nodes.sessions.interval.session import IntervalSession
from sysid_nodes.signals.finding import Finding
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.doubts import Doubts
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.stream_watch import Judgement

CONFIG = IntervalIdentifierConfig()


@pytest.fixture(scope="module")
def gen3() -> Problem:
    return problem()


@pytest.fixture(scope="module")
def stream(gen3: Problem) -> list[RawJointState]:
    """Four windows and a half."""
    s = gen3.samples(10.0 + np.arange(226) / 500.0)
    return [RawJointState(float(t), s.names, *row) for t, *row in zip(s.t, s.q, s.qd, s.tau, strict=True)]


def test_a_run_is_the_pipelines_and_may_be_asked_for_at_any_time(gen3: Problem, stream: list[RawJointState]) -> None:
    session, pipeline = IntervalSession(gen3.robot, CONFIG), IntervalPipeline(gen3.robot, CONFIG)
    told = []
    for k, message in enumerate(stream):
        news = session.process(message)
        expected = pipeline.push(message.names, message.stamp, message.position, message.velocity, message.effort)
        if news is not None:
            told.append(news)
            assert expected is not None
        if k == 120:
            early = session.snapshot("early")
    assert early.result.samples_rejected == {"incomplete window": 20}
    run, final = session.snapshot("here"), pipeline.finish()
    assert [step.window for step in run.history] == [step.window for step in told] == [0, 1, 2, 3]
    np.testing.assert_array_equal(run.result.lower, final.lower)
    np.testing.assert_array_equal(run.result.upper, final.upper)
    assert run.result.samples_rejected == final.samples_rejected == {"incomplete window": 25}
    assert session.rejected == {}, "the stream goes on: nothing was rejected yet"
    assert run.result.costs.keys() == final.costs.keys()
    assert run.torques is not None
    assert run.torques.t.size == 4
    assert run.joint_names == gen3.robot.joint_names
    assert run.solve_time is not None
    assert run.solve_time >= sum(step.solve_time for step in told)
    assert session.received == len(stream)


def test_a_reset_forgets_data_counts_and_findings(gen3: Problem, stream: list[RawJointState]) -> None:
    session = IntervalSession(gen3.robot, CONFIG)
    for message in stream[:60]:
        session.process(message._replace(names=("other", *message.names[1:])))
    assert session.judge().faults
    assert session.reset().status is Status.WAITING
    assert (session.received, session.rejected, session.judgement) == (0, {}, Judgement())
    assert session.snapshot("").torques is None
    assert session.judge() == Judgement()


def test_a_clash_is_told_with_its_cause(gen3: Problem, stream: list[RawJointState]) -> None:
    session = IntervalSession(gen3.robot, CONFIG)
    for message in stream:
        news = session.process(message._replace(effort=-message.effort))
        if news is not None and news.status is Status.INCONSISTENT:
            break
    assert session.result.status is Status.INCONSISTENT
    assert "opposite sign of the torque gravity needs" in session.judgement.lines[0]


def test_a_doubt_goes_with_the_result(gen3: Problem, stream: list[RawJointState]) -> None:
    # errors as large as any torque: nothing contradicts them, not even a joint with the wrong sign
    loose = replace(CONFIG, noise=replace(CONFIG.noise, torque_absolute=(200.0,), torque_rate=(1e4,)))
    session = IntervalSession(gen3.robot, loose)
    for message in stream:
        session.process(message._replace(effort=message.effort * np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0])))
    document = build_document(session.snapshot("here"))
    assert document["status"] != "INCONSISTENT"
    line = "effort of 'joint_2' has the opposite sign of the torque gravity needs"
    assert document["findings"] == [line]
    assert any(line in sentence for sentence in verdict(document).sentences)


def test_after_a_change_the_torques_are_those_of_the_last_estimate(gen3: Problem, stream: list[RawJointState]) -> None:
    session = IntervalSession(gen3.robot, CONFIG)
    for k, message in enumerate(stream):
        # within the stated bound on the torque's rate: 100 N m/s
        session.process(message._replace(effort=message.effort + max(0.0, 0.2 * (k - 100))))
    assert session.result.status is Status.INCONSISTENT
    torques = session.snapshot("").torques
    assert torques is not None
    before, after = np.abs(torques.residual[0]), np.abs(torques.residual[-1])
    assert (before < torques.radius[0]).all()
    assert (after > torques.radius[-1]).any()


@pytest.mark.usefixtures("blank_figures")
def test_files_of_a_run_replace_those_of_an_earlier_one(
    gen3: Problem, stream: list[RawJointState], tmp_path: Path
) -> None:
    session = IntervalSession(gen3.robot, CONFIG)
    for message in stream:
        session.process(message)
    write_run(tmp_path, session.snapshot("one"))
    assert {file.name for file in tmp_path.iterdir()} == {"result.json", "report.html", "series.npz"}
    session.reset()
    written = write_run(tmp_path, session.snapshot("two"))
    assert {file.name for file in tmp_path.iterdir()} == {"result.json", "report.html"}
    assert read_result(tmp_path) == written
    assert written["status"] == "WAITING"


def test_bounds_that_are_doubted_are_told_with_their_reason(
    gen3: Problem, stream: list[RawJointState], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the window on that uses up the margin, in the result, what is judged and the run; until a reset."""
    doubt = Finding("margin", "all joints", 0.0, "hardly any margin is left")

    def weigh(doubts: Doubts, samples: JointSamples, *_: object) -> None:
        if samples.t[-1] > 10.2:
            doubts.found = doubt

    monkeypatch.setattr(Doubts, "weigh", weigh)
    session = IntervalSession(gen3.robot, CONFIG)
    told = [news for message in stream if (news := session.process(message)) is not None]
    assert [news.status is Status.DOUBTFUL for news in told] == [False, False, True, True]
    assert doubt in session.judgement.doubts
    run = session.snapshot("here")
    assert run.result.status is Status.DOUBTFUL and doubt.message in run.findings
    session.reset()
    assert session.judge() == Judgement()


def test_a_clock_that_is_set_back_is_told(gen3: Problem, stream: list[RawJointState]) -> None:
    """Once the stream has started over, as the operator reads it in the node's log and a replay's findings."""
    session = IntervalSession(gen3.robot, CONFIG)
    for message in stream:
        session.process(message)
    assert not session.judge().doubts
    for message in stream:
        session.process(message._replace(stamp=message.stamp - 5.0))
    assert ["clock went back within the data (times: 1)" in line for line in session.judge().lines] == [True]
