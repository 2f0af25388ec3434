# SPDX-License-Identifier: Apache-2.0
"""A commanded robot follows the plan that is for its estimate and its controller, and no other."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from online_sysid.msg import ExplorationPlan as Message
from online_sysid.msg import SamplingPosterior

from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.sampling.plan import plan_fields
from sysid_nodes.results.exploration import ExplorationPlan, Vetting
from sysid_nodes.ros.simulation.obeyed_plans import Obeyed

pytestmark = pytest.mark.ros

PLAN = ExplorationPlan(
    robot="g1",
    estimate="estimate",
    policy="controller",
    segment=1.0,
    gaits=("trot",),
    points=np.zeros((1, 5, 2)),
    height=0.72,
    criterion="A",
    costs=np.ones(1),
    spreads=(),
    path=np.zeros((1, 3)),
    vetting=Vetting(4, 0, np.zeros(3), 0.7, ()),
    scale=1.0,
)


class Robot:
    """Its node, and what it was told."""

    def __init__(self) -> None:
        self.hears: dict[type, Any] = {}
        self.followed: list[float] = []
        self.told: list[str] = []

    def create_subscription(self, kind: type, _topic: str, take: Any, _profile: Any) -> None:
        self.hears[kind] = take

    def get_logger(self) -> Any:
        return SimpleNamespace(warning=self.told.append, info=self.told.append)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "follows plan"),
        ({"policy": "another"}, "was made for controller another, not for controller"),
        ({"estimate": "another"}, "was made for estimate another, not for estimate"),
        ({"robot": "go2"}, "is for robot 'go2'"),
    ],
)
def test_a_plan_is_followed_if_it_is_for_this_estimate_controller_and_robot(change: dict[str, str], words: str) -> None:
    node = Robot()
    commanded = SimpleNamespace(
        policy="controller", busy=lambda _: False, follow=lambda _, begin: node.followed.append(begin)
    )
    sim = SimpleNamespace(commanded=commanded, elapsed=2.0, robot=SimpleNamespace(name="g1"))
    config = SimpleNamespace(posterior="/posterior", plan="/plan")
    Obeyed(node, sim, config)  # type: ignore[arg-type]
    node.hears[SamplingPosterior](SamplingPosterior(id="estimate"))
    node.hears[Message](to_message(Message, plan_fields(replace(PLAN, **change))))
    assert words in node.told[-1]
    assert bool(node.followed) == (not change)
