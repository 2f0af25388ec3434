# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from shared.interval_result import make_result

from sysid_nodes.results import Status
from sysid_nodes.sessions.interval.health import IntervalHealth, Pace, interval_report, judge
from sysid_nodes.sessions.live_session import Level
from sysid_nodes.signals.finding import Finding
from sysid_nodes.systems.interval.stream_watch import Judgement


def judgement(faults: Sequence[str] = (), doubts: Sequence[str] = ()) -> Judgement:
    """Of findings that say so."""
    made = [tuple(Finding("signal", "joint_2", 0.0, line) for line in lines) for lines in (faults, doubts)]
    return Judgement(*made)


GOOD = IntervalHealth(
    topic="/joint_states",
    active=True,
    received=1000,
    received_now=100,
    rate=1000.0,
    longest_step=0.001,
    queue=3,
    lag=0.003,
    rejected={},
    rejected_now={},
    fault="",
    judgement=Judgement(),
    result=make_result(Status.PROVEN),
)


@pytest.mark.parametrize(
    ("change", "level", "words"),
    [
        ({}, Level.OK, "bounds are proven"),
        ({"result": make_result(Status.WAITING)}, Level.OK, "no complete window"),
        ({"active": False, "received_now": 0}, Level.OK, "inactive"),
        ({"received_now": 0}, Level.WARN, "no joint states on /joint_states"),
        ({"rejected_now": {"not finite": 1, "overload": 7}}, Level.WARN, "8 samples not used, most for: overload"),
        ({"result": make_result(Status.NOT_EXCITED)}, Level.WARN, "blind: Izz"),
        ({"result": make_result(Status.INCONSISTENT)}, Level.ERROR, "no parameters explain the data"),
        (
            {"result": make_result(Status.DOUBTFUL), "judgement": judgement(doubts=["98 % are needed"])},
            Level.ERROR,
            "may miss the truth and are not proven; 98 % are needed",
        ),
        ({"judgement": judgement(doubts=["sign of joint_2"])}, Level.WARN, "sign of joint_2"),
        ({"judgement": judgement(["joint_3 is dead"], ["sign of joint_2"])}, Level.ERROR, "joint_3 is dead"),
        (
            {"judgement": judgement(["dead"]), "result": make_result(Status.INCONSISTENT)},
            Level.ERROR,
            "no bounds are claimed; dead",
        ),
        ({"judgement": judgement(["dead"]), "received_now": 0}, Level.WARN, "no joint states"),
        ({"fault": "ValueError: x", "received_now": 0}, Level.ERROR, "internal failure: ValueError: x"),
    ],
)
def test_the_worst_thing_is_said_first(change: dict[str, Any], level: Level, words: str) -> None:
    found, message = judge(replace(GOOD, **change))
    assert found == level
    assert words in message


def test_the_status_carries_what_an_operator_asks_for() -> None:
    report = interval_report(replace(GOOD, rejected={"gap": 2, "overload": 5}))
    values = report.values
    assert report.subject == "/joint_states"
    assert values["rate [Hz]"] == "1000.0"
    assert values["samples rejected"] == "7"
    assert values["messages lost to overload"] == "5"
    assert values["not used: gap"] == "2"
    assert "not used: overload" not in values
    assert values["condition number"] == "250"
    assert values["blind directions"] == "Izz"
    assert values["solve time [s]"] == "0.0200"
    assert values["messages waiting"] == "3"
    assert values["lag [s]"] == "0.003"
    assert values["finding"] == ""


def test_every_finding_is_in_the_values() -> None:
    report = interval_report(replace(GOOD, judgement=judgement(["a", "b"], ["c"])))
    assert report.values["finding"] == "a; b; c"


def test_the_pace_counts_steps_ahead_only() -> None:
    pace = Pace()
    assert pace.rate == 0.0
    for stamp in (10.0, 10.5, 10.25, 11.25):
        pace.add(stamp)
    assert (pace.steps, pace.span, pace.longest, pace.last) == (2, 1.5, 1.0, 11.25)
    assert pace.rate == pytest.approx(4.0 / 3.0)


def test_a_report_amid_a_stamp_invents_no_longer_step() -> None:
    pace, count = Pace(), 50_000
    worker = Thread(target=lambda: [pace.add(0.001 * k) for k in range(count)], daemon=True)
    parts, before = [], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        worker.start()
        while worker.is_alive():
            parts.append(pace.renew())
    finally:
        sys.setswitchinterval(before)
        worker.join(60.0)
    assert not worker.is_alive()
    parts.append(pace.renew())
    assert max(part.longest for part in parts) < 0.0011
    assert sum(part.steps for part in parts) == count - 1
