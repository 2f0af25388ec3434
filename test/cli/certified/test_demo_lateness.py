# SPDX-License-Identifier: Apache-2.0
"""A robot short of its goal: the machine is blamed for what came late and for nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sysid_nodes.cli.certified.demo_summary import interruptions, is_late
from sysid_nodes.reports.certified.history import Event
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.systems.certified.control.output import Mode


@pytest.mark.parametrize(
    ("reason", "refused", "robot_stop", "blamed"),
    [
        (StopReason.PLAN_ENDED, StopReason.NONE, "", True),
        (StopReason.JOINT_STATES_LOST, StopReason.TRAJECTORY_LATE, "", True),
        (StopReason.PLANNER_SILENT, StopReason.NONE, "COMMAND_TIMEOUT: no command for 0.1 s", True),
        (StopReason.BOUNDS_WIDENED, StopReason.NONE, "", False),
        (StopReason.PLAN_ENDED, StopReason.TRAJECTORY_NOT_CERTIFIED, "", False),
        (StopReason.PLAN_ENDED, StopReason.NONE, "TRACKING_ERROR: far off", False),
    ],
)
def test_only_lateness_is_the_machines(reason: StopReason, refused: StopReason, robot_stop: str, blamed: bool) -> None:
    named = "p1" if refused is not StopReason.NONE else ""
    events = (Event(1.0, Mode.BRAKING, reason, "", named, "", refused), Event(2.0, Mode.HOLDING, StopReason.NONE, ""))
    loop: Any = SimpleNamespace(history=SimpleNamespace(events=events, robot_stop=robot_stop))
    assert is_late(loop) is blamed


def test_what_made_it_brake_and_what_was_refused_is_said_in_the_end() -> None:
    silent, ended, past = StopReason.PLANNER_SILENT, StopReason.PLAN_ENDED, StopReason.TRAJECTORY_LATE
    told = ((silent, ""), (silent, ""), (ended, ""), (StopReason.NONE, "p1"))
    events = [Event(1.0, Mode.BRAKING, why, "", of, "", past if of else StopReason.NONE) for why, of in told]
    loop: Any = SimpleNamespace(history=SimpleNamespace(events=events))
    assert interruptions(loop) == [
        "It braked on its way, 2 times: no further trajectory arrived in time.",
        f"A trajectory was refused, once: {past.message}.",
    ]
