# SPDX-License-Identifier: Apache-2.0
"""Faults around a node, on a real graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from rclpy.parameter import Parameter
from sensor_msgs.msg import Imu, JointState

from sysid_nodes.ros.graph_watch import GraphWatch

LOOKS = 8  # in a row; more than any fault has to stand for


@contextmanager
def watched(*, simulated: bool = False) -> Iterator[tuple[GraphWatch, Any, Any]]:
    """A watch, its node, and its only subscription."""
    node = rclpy.create_node("listener", parameter_overrides=[Parameter("use_sim_time", value=simulated)])
    try:
        yield GraphWatch(node), node, node.create_subscription(JointState, "joint_states", lambda _: None, 10)
    finally:
        node.destroy_node()


@contextmanager
def stranger() -> Iterator[None]:
    """Publishes another type, as another participant: one participant has one type a topic."""
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("stranger", context=context)
    try:
        node.create_publisher(Imu, "joint_states", 10)
        yield
    finally:
        node.destroy_node()
        context.shutdown()


def test_nothing_is_said_of_a_sound_graph(bench: Any) -> None:
    bench.tester.create_publisher(JointState, "joint_states", 10)
    with watched() as (watch, node, stream):
        bench.until(lambda: node.count_publishers("joint_states"))
        assert [watch.look([stream]) for _ in range(LOOKS)] == [()] * LOOKS


def test_a_publisher_of_another_type_is_told_once(bench: Any) -> None:
    with stranger(), watched() as (watch, node, stream):
        bench.until(lambda: "stranger" in [x.node_name for x in node.get_publishers_info_by_topic("joint_states")])
        assert watch.look([stream]) == (
            "'stranger' publishes '/joint_states' as sensor_msgs/msg/Imu, which is not received: "
            "this node subscribes to sensor_msgs/msg/JointState",
        )
        assert watch.look([stream]) == ()


def test_a_publisher_without_a_name_is_told_at_the_second_look(monkeypatch: pytest.MonkeyPatch, bench: Any) -> None:
    """Names come after topics; a program without ROS has none."""
    nameless = SimpleNamespace(node_name="_NODE_NAME_UNKNOWN_", topic_type="sensor_msgs/msg/Imu")
    with watched() as (watch, node, stream):
        monkeypatch.setattr(node, "get_publishers_info_by_topic", lambda _: [nameless])
        first, second = watch.look([stream]), watch.look([stream])
    assert not first
    assert second[0].startswith("somebody publishes '/joint_states' as sensor_msgs/msg/Imu")


def test_a_clock_that_nobody_publishes_is_told(bench: Any) -> None:
    with watched(simulated=True) as (watch, _, stream):
        (fault,) = watch.look([stream])
    assert fault == "use_sim_time is set, but nobody publishes /clock: timers do not run"


def test_a_namesake_is_told_when_it_stays(bench: Any) -> None:
    """One that was killed is in the graph until its lease has run out."""
    with watched() as (watch, node, stream), watched() as (_, _, _):
        own = (node.get_name(), node.get_namespace())
        bench.until(lambda: node.get_node_names_and_namespaces().count(own) == 2)
        said = [watch.look([stream]) for _ in range(LOOKS)]
    text = "another node is called '/listener': they share services and topics; rename one"
    assert said == [()] * 5 + [(text,)] + [()] * 2


def test_an_identifying_node_warns(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch is at work in every managed node."""
    monkeypatch.setattr(GraphWatch, "PERIOD", 0.05)
    node = bench.node(robot="kinova_gen3")
    warned: list[str] = []
    monkeypatch.setattr(node, "_warn", warned.append)
    with stranger():
        node.trigger_configure()
        node.trigger_activate()
        bench.until(lambda: warned)
    assert "publishes '/joint_states' as sensor_msgs/msg/Imu" in warned[0]
