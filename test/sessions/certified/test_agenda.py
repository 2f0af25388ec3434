# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np

from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.sessions.certified import agenda as module
from sysid_nodes.sessions.certified.agenda import Agenda
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, PlannerNodeConfig

START: Any = SimpleNamespace(state=SimpleNamespace(q=np.zeros(1)), resting=True, goal=None)
SCENE: Any = SimpleNamespace(id="empty")
PLANNER: Any = SimpleNamespace(excite=lambda _: None, has_reached=lambda *_: False, reach=lambda *_: "way")


def make_agenda() -> Agenda:
    """Three goals, none of which is reached."""
    config = CertifiedPlannerConfig(certified_planner=PlannerNodeConfig(excite=False, goals=(1.0, 2.0, 3.0)))
    return Agenda(PLANNER, config, 1)


def interrupted(call: Callable[[], Any], at: int, other: Callable[[], None]) -> bool:
    """Makes a call in which, before an instruction of the module (the at-th), it is another thread's turn.

    Returns whether there were as many instructions.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == at:
                other()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count >= at


def test_a_goal_that_is_given_up_at_any_moment_is_gone_to_no_more() -> None:
    """The planner's thread takes one goal off the list as another thread gives up the other two."""
    at, more = 1, True
    while more:
        agenda = make_agenda()
        first, *others = agenda.goals
        agenda.give_up(first)

        def give_up_others(agenda: Agenda = agenda, others: list[Any] = others) -> None:
            for goal in others:
                agenda.give_up(goal)

        more = interrupted(lambda agenda=agenda: agenda.objective(START, SCENE, 0, None, 0.0), at, give_up_others)
        if more:
            assert agenda.objective(START, SCENE, 0, None, 0.0) is None, f"lost before instruction {at}"
            assert agenda.phase is Phase.REST
        at += 1
    assert at > 50
