# SPDX-License-Identifier: Apache-2.0
"""Findings about the data themselves, from a thinned part of the stream."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from shared.payload_problem import Problem, gen3_problem

from sysid_nodes.data import JointSamples
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.results import Status
from sysid_nodes.robots import load_robot
from sysid_nodes.signals.finding import Mend
from sysid_nodes.signals.stream import Sample
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.stream_watch import Judgement, StreamWatch


@pytest.fixture(scope="module")
def gen3() -> Problem:
    return gen3_problem(np.random.default_rng(5), KnownRobotConfig())


def watch(problem: Problem, memory: float = np.inf) -> StreamWatch:
    return StreamWatch(problem.robot, IntervalIdentifierConfig(), memory)


def message(sample: Sample, names: tuple[str, ...] = load_robot("kinova_gen3").joint_names) -> RawJointState:
    return RawJointState(sample.t, names, sample.q, sample.qd, sample.tau)


def feed(watch: StreamWatch, samples: JointSamples, change: Callable[[Sample], None] = lambda _: None) -> None:
    for row in zip(samples.t, samples.q.copy(), samples.qd.copy(), samples.tau.copy(), strict=True):
        change(sample := Sample(*row))
        watch.take(message(sample))


def scale(factor: float, joint: slice = slice(None)) -> Callable[[Sample], None]:
    def change(sample: Sample) -> None:
        sample.tau[joint] *= factor

    return change


def freeze(sample: Sample) -> None:
    sample.tau[1] = 7.0


def back(sample: Sample) -> None:
    sample.qd[1] *= -1.0


def test_good_data_have_no_finding(gen3: Problem) -> None:
    watcher = watch(gen3)
    feed(watcher, gen3.samples(np.arange(200) / 100.0))
    assert watcher.judge(Status.WAITING) == Judgement()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (scale(-1.0), "has the opposite sign of the torque gravity needs"),
        (scale(1000.0), "seems to be in N mm instead of N m"),
        (freeze, "effort of 'joint_2' never changes (always 7)"),
        (back, "position of 'joint_2' runs against its velocity"),
    ],
    ids=["sign", "unit", "frozen", "velocity"],
)
def test_data_that_cannot_be_used_are_a_fault(gen3: Problem, change: Callable[[Sample], None], message: str) -> None:
    watcher = watch(gen3)
    feed(watcher, gen3.samples(np.arange(200) / 100.0), change)
    assert message in watcher.judge(Status.INCONSISTENT).faults[0].message


def test_one_odd_joint_is_a_fault_even_while_the_data_fit_the_assumptions(gen3: Problem) -> None:
    """Wide bounds let a wrong sign pass; what is proven then is not about this robot."""
    watcher = watch(gen3)
    feed(watcher, gen3.samples(np.arange(200) / 100.0), scale(-1.0, slice(1, 2)))
    (fault,) = watcher.judge(Status.PROVEN).faults
    assert fault.message == "effort of 'joint_2' has the opposite sign of the torque gravity needs"
    assert fault.mends == (Mend("signals.torque_sign", -1.0, "joint_2"),)


def test_joints_of_another_robot(gen3: Problem) -> None:
    watcher = watch(gen3)
    assert watcher.judge(Status.WAITING) == Judgement()
    watcher.take(message(Sample(0.0, *np.zeros((3, 7))), ("finger", "joint_2")))
    assert watcher.judge(Status.WAITING).faults[0].message.endswith("robot 'kinova_gen3'; it has finger, joint_2")
    watcher.reset()
    assert watcher.judge(Status.WAITING) == Judgement()


def test_rest_spoils_a_log_but_not_a_live_robot(gen3: Problem) -> None:
    log, live = watch(gen3), watch(gen3, memory=20.0)
    still = gen3.samples(np.zeros(1))
    for k in range(3):
        for watcher in (log, live):
            watcher.take(message(Sample(float(k), still.q[0], np.zeros(7), still.tau[0])))
    line = ("no joint moves; a payload cannot be told from a robot at rest",)
    fault, doubt = log.judge(Status.NOT_EXCITED), live.judge(Status.NOT_EXCITED)
    assert (fault.lines, fault.doubts) == (line, ())
    assert (doubt.lines, doubt.faults) == (line, ())
    assert live.judge(Status.PROVEN) == Judgement()


def test_memory_is_bounded_and_what_is_recent_counts(gen3: Problem) -> None:
    recent, whole = watch(gen3, memory=2.0), watch(gen3)
    good = gen3.samples(np.arange(6000) / 1000.0)
    bad = gen3.samples(6.0 + np.arange(6000) / 1000.0)
    for watcher in (recent, whole):
        feed(watcher, good)
        feed(watcher, bad, freeze)
        assert len(watcher._record._kept) <= 4000
        watcher.take(message(Sample(0.0, *np.zeros((3, 7))), [str(k) for k in range(1000)]))
        watcher.take(message(Sample(0.0, *np.zeros((3, 7))), [f"more {k}" for k in range(1000)]))
        assert len(watcher._foreign) <= 1000
    assert recent._record._kept[0][0] >= 6.0
    assert [item.message for item in recent.judge(Status.PROVEN).faults] == [
        "effort of 'joint_2' never changes (always 7)"
    ]
    assert whole._record._kept[0][0] == 0.0
    assert whole.judge(Status.PROVEN).faults == ()


def test_after_a_reset_of_the_clock_what_follows_is_judged_alone(gen3: Problem) -> None:
    watcher = watch(gen3)
    samples = gen3.samples(np.arange(200) / 100.0)
    feed(watcher, samples)
    feed(watcher, samples, freeze)
    assert watcher.judge(Status.PROVEN).faults
