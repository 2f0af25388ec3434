# SPDX-License-Identifier: Apache-2.0
"""Planner and controller under a lifecycle manager, goals as an action, and publishers that latch nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from action_msgs.msg import GoalStatus
from online_sysid.action import GoTo
from online_sysid.msg import (
    CertifiedTrajectory,
    ContactForces,
    ControllerStatus,
    InertialEstimate,
    Obstacles,
    StopRequest,
)
from rclpy.action import ActionClient
from rclpy.lifecycle import TransitionCallbackReturn
from shared.obstacle_messages import to_obstacles
from std_msgs.msg import String

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.latest import subscribe_latest
from sysid_nodes.ros.nodes.certified_planner import CertifiedPlannerNode
from sysid_nodes.ros.nodes.robust_controller import RobustControllerNode
from sysid_nodes.systems.certified.control.output import Mode

pytestmark = pytest.mark.ros

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
JOINTS = list(load_robot("kinova_gen3").joint_names)


@pytest.mark.parametrize(
    ("message", "enum"),
    [
        (StopRequest, StopReason),
        (CertifiedTrajectory, Verdict),
        (ContactForces, PrimeStatus),
        (InertialEstimate, PrimeStatus),
        (ControllerStatus, Mode),
    ],
)
def test_constants_of_messages_are_the_suites_numbers(message: Any, enum: Any) -> None:
    assert {item.name: getattr(message, item.name) for item in enum} == dict(enum.__members__)


@pytest.fixture
def controller(bench: Any) -> Any:
    node = bench.add(RobustControllerNode, {"controller__recertify": False})
    bench.start(node)
    return node


def test_a_controller_does_not_leave_a_robot_it_commands(bench: Any, controller: Any) -> None:
    controller._controller._committed.mode = Mode.TRACKING
    assert controller.trigger_deactivate() == FAILURE
    stops = bench.listen(StopRequest, "stop_request", qos.stream("reliable", 10))
    bench.until(lambda: controller.count_subscribers("stop_request"))
    controller.trigger_shutdown()
    bench.until(lambda: stops)
    assert stops[0].reason == StopRequest.REQUESTED


def test_an_idle_controller_goes_through_its_life_twice_and_tells_nobody_while_inactive(
    bench: Any, controller: Any
) -> None:
    heard = bench.listen(ControllerStatus, "robust_controller/status", qos.LATCHED)
    bench.until(lambda: heard)
    assert controller.trigger_deactivate() == SUCCESS
    bench.until(lambda: not controller.count_subscribers("joint_states"))
    assert controller.trigger_cleanup() == SUCCESS
    bench.start(controller)
    count = len(heard)
    bench.until(lambda: len(heard) > count)


@pytest.mark.parametrize("profile", [qos.LATCHED, 10], ids=["latched", "default"])
def test_obstacles_are_heard_from_any_reliable_publisher(bench: Any, controller: Any, profile: Any) -> None:
    scene = Scene((Obstacle("ball", "sphere", (0.5, 0.0, 0.3), (0.1,)),))
    publisher = bench.tester.create_publisher(Obstacles, "obstacles", profile)
    bench.until(lambda: publisher.get_subscription_count() and controller.count_publishers("obstacles"))
    publisher.publish(to_obstacles(scene, "base_link"))
    bench.until(lambda: controller._surroundings == scene)


def test_what_two_subscriptions_get_counts_once(bench: Any) -> None:
    taken: list[str] = []
    publisher = bench.tester.create_publisher(String, "news", qos.LATCHED)
    publisher.publish(String(data="before"))
    subscribe_latest(bench.tester, String, "news", lambda message: taken.append(message.data))
    bench.until(lambda: publisher.get_subscription_count() == 2 and taken)
    for word in ("one", "two"):
        publisher.publish(String(data=word))
        bench.until(lambda word=word: word in taken)
    end = bench.tester.create_publisher(String, "news", qos.LATCHED)
    end.publish(String(data="end"))
    bench.until(lambda: taken[-1] == "end")
    assert taken == ["before", "one", "two", "end"]


class Client:
    """Sends goals to a planner that plans nothing, for no controller speaks."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench
        self.planner = bench.add(CertifiedPlannerNode, {"certified_planner__excite": False})
        bench.start(self.planner)
        self.agenda = self.planner._planning.agenda
        self.client = ActionClient(bench.tester, GoTo, "certified_planner/go_to")
        self.told: list[Any] = []
        bench.until(self.client.server_is_ready)

    def ask(self, names: list[str], position: list[float]) -> Any:
        goal = GoTo.Goal(joint_names=names, position=position)
        future = self.client.send_goal_async(goal, feedback_callback=lambda m: self.told.append(m.feedback))
        self.bench.until(future.done)
        return future.result()

    def result(self, handle: Any) -> Any:
        future = handle.get_result_async()
        self.bench.until(future.done)
        return future.result()

    def close(self) -> None:
        self.client.destroy()


@pytest.fixture
def client(bench: Any) -> Any:
    made = Client(bench)
    yield made
    made.close()


def test_a_goal_that_does_not_name_every_joint_is_refused(client: Client) -> None:
    assert not client.ask(["joint_1"], [0.0]).accepted
    assert not client.agenda.goals


@pytest.mark.parametrize(
    ("why", "status", "words"),
    [("", GoalStatus.STATUS_SUCCEEDED, "the robot is there"), ("no way", GoalStatus.STATUS_ABORTED, "no way")],
)
def test_the_end_of_a_goal_is_told(client: Client, why: str, status: int, words: str) -> None:
    handle = client.ask(JOINTS[::-1], [0.1 * k for k in range(7)])
    assert handle.accepted
    np.testing.assert_allclose(client.agenda.goals[0], [0.1 * k for k in range(6, -1, -1)])
    client.bench.until(lambda: client.told)
    assert client.told[-1].before == 0
    client.agenda._end(why)
    answer = client.result(handle)
    assert (answer.status, answer.result.message) == (status, words)
    assert not client.agenda.goals


def test_a_goal_that_is_cancelled_is_passed_over(client: Client) -> None:
    first, second = (client.ask(JOINTS, [angle] * 7) for angle in (0.1, 0.2))
    client.bench.until(lambda: any(told.before == 1 for told in client.told))
    future = first.cancel_goal_async()
    client.bench.until(future.done)
    assert client.result(first).status == GoalStatus.STATUS_CANCELED
    assert any(goal is client.agenda.goals[0] for goal in client.agenda._given_up.values())
    client.planner.trigger_deactivate()
    client.planner.trigger_cleanup()
    assert client.result(second).status == GoalStatus.STATUS_ABORTED
