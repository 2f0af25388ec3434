# SPDX-License-Identifier: Apache-2.0
"""A planning on its thread: what breaks ends no thread and is told, once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.sessions.certified.live import LivePlanning
from sysid_nodes.sessions.live_session import Level


class Rig:
    """A planning whose steps the test decides; steps are called here and not on the thread."""

    def __init__(self) -> None:
        bounds = SimpleNamespace(lower=[1.0], upper=[2.0])
        self.planning: Any = SimpleNamespace(
            agenda=SimpleNamespace(phase=Phase.EXCITE, goals=[]),
            made=0,
            failed=0,
            dropped=0,
            message="",
            timed_out=False,
            last=None,
            timing=SimpleNamespace(needs=0.2),
            known=SimpleNamespace(consistent=True, scene=object(), bounds=bounds),
        )
        self.outcome: Any = None
        self.replanner: Any = SimpleNamespace(
            due=lambda: "seen", step=self.step, fail=self.fail, pace=SimpleNamespace(rate=1.0)
        )
        self.published: list[Any] = []
        self.told: list[tuple[Level, str]] = []
        self.wanted = True
        self.live = LivePlanning(
            self.planning,
            self.replanner,
            publish=self.published.append,
            journal=lambda level, line: self.told.append((level, line.splitlines()[0])),
            is_wanted=lambda: self.wanted,
        )
        self.live.stop()  # steps are ours

    def step(self, _seen: object, _posture: object) -> Any:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def fail(self, message: str) -> None:
        self.planning.failed, self.planning.message = self.planning.failed + 1, message

    def make(self, outcome: Any = None) -> None:
        self.outcome = outcome
        self.live._step(("seen", None))  # type: ignore[arg-type]

    def judge(self, **change: Any) -> tuple[Level, str]:
        told = {"active": True, "deaf": "", "refused": StopReason.NONE, "robot": "gen3", "further": {}} | change
        report = self.live.report(**told)
        return report.level, report.sentence


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_no_step_is_due_while_one_is_under_way(rig: Rig) -> None:
    assert rig.live.due() == "seen"
    rig.live.begin("seen", None)  # type: ignore[arg-type]
    assert rig.live.due() is None
    rig.make()
    assert rig.live.due() == "seen"


def test_a_step_that_breaks_off_is_an_error_until_the_next(rig: Rig) -> None:
    rig.make(ZeroDivisionError("made up"))
    words = "a step broke off: ZeroDivisionError: made up"
    assert rig.told == [(Level.ERROR, words), (Level.WARN, f"no plan: {words}")]
    assert rig.judge() == (Level.ERROR, words)
    rig.planning.failed = 0
    rig.make("plan")
    assert rig.published == ["plan"]
    assert rig.judge() == (Level.OK, Phase.EXCITE.value)


def test_each_event_is_told_once(rig: Rig) -> None:
    rig.planning.failed, rig.planning.message = 1, "nothing was certified"
    for _ in range(3):
        rig.make()
    rig.planning.failed, rig.planning.dropped, rig.planning.message = 0, 1, "it came too late"
    rig.planning.agenda.phase = Phase.REST
    for _ in range(3):
        rig.make()
    assert rig.told == [
        (Level.WARN, "no plan: nothing was certified"),
        (Level.WARN, "it came too late; planning again"),
        (Level.OK, Phase.REST.value),
    ]


def test_the_end_of_the_node_is_no_event_and_publishes_nothing(rig: Rig) -> None:
    rig.wanted = False
    rig.make("plan")
    rig.make(ZeroDivisionError("shut down"))
    assert (rig.published, rig.told) == ([], [])


def test_the_worst_thing_is_said_first(rig: Rig) -> None:
    assert rig.judge(active=False, deaf="no joint states") == (Level.OK, "inactive")
    rig.planning.failed, rig.planning.message = 1, "nothing was certified"
    assert rig.judge() == (Level.WARN, "nothing was certified")
    rig.planning.known.scene = None
    assert rig.judge() == (Level.ERROR, "bounds or obstacles are unusable: no more plans")
    refused = next(reason for reason in StopReason if reason)
    assert rig.judge(refused=refused) == (Level.ERROR, f"no more plans: {refused.message}")
    assert rig.judge(refused=refused, deaf="no joint states") == (Level.WARN, "no joint states")
