# SPDX-License-Identifier: Apache-2.0
"""Nodes with a key, in processes of their own: who lacks it, edits, repeats or comes late is refused and named."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from online_sysid.msg import CertifiedTrajectory, ControllerStatus, Goal, Obstacles, ParameterBounds, StopRequest
from online_sysid.srv import Save, SignedRequest
from sensor_msgs.msg import JointState
from shared import children
from shared.certified_processes import BOUNDS, IDENTIFIER, PLANNER, TRACKING, Loop, start_node
from shared.waiting import spin_until
from std_srvs.srv import Trigger

from sysid_nodes.data.key_file import AuthorityConfig, create_key, read_key
from sysid_nodes.messages.signing import Doubt, Inspector, Signer
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros import qos
from sysid_nodes.ros.authority import Authority
from sysid_nodes.ros.spinning import make_executor
from sysid_nodes.sessions.certified.config import CertifiedConfig, set_up

pytestmark = pytest.mark.ros

CONTROL, PLANNING, IDENTIFYING = "robust_controller: control", "certified_planner: planning", "interval_identifier"
NODES = {
    "robust_controller": {"controller.recertify": False, "robust_controller.diagnostics_period": 0.1},
    "certified_planner": {"certified_planner.diagnostics_period": 0.1},
    "interval_identifier": {"diagnostics_period": 0.1},
}


class Guarded:
    """Three nodes with a key, and a tester that may have it as well.

    Attributes:
        key: theirs.
        status: of the controller, all that came.
        diagnostics: newest by the status' name.
    """

    def __init__(self, folder: Path) -> None:
        create_key(str(folder / "key"))
        self.key, self.status = read_key(str(folder / "key")), list[ControllerStatus]()
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self._processes = [start_node(name, NODES[name] | {"authority.key_file": folder / "key"}) for name in NODES]
        rclpy.init()
        self.node = rclpy.create_node("tester")
        self._executor = make_executor()
        self._executor.add_node(self.node)
        self.node.create_subscription(ControllerStatus, "robust_controller/status", self.status.append, qos.LATCHED)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnose, 10)
        self._publishers: dict[str, Any] = {}
        self._signer = Signer(self.key, "/tester")
        self.until(lambda: self.status and any(name.startswith(IDENTIFYING) for name in self.diagnostics))

    def until(self, condition: Callable[[], Any]) -> None:
        spin_until(self._executor, condition, lambda: f"last status: {self.status[-1:]}")

    def sign(self, message: Any, topic: str, *, late: float = 0.0) -> Any:
        signer = Signer(self.key, "/tester") if late else self._signer
        signer.sign(message, topic, time.time_ns() - round(1e9 * late))
        return message

    def send(self, message: Any, topic: str) -> None:
        kind = type(message)
        if topic not in self._publishers:
            self._publishers[topic] = self.node.create_publisher(kind, topic, qos.LATCHED)
        self.until(self._publishers[topic].get_subscription_count)
        self._publishers[topic].publish(message)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def expect_named(self, *words: str) -> None:
        """Waits until the controller's status tells of a refusal in these words."""
        self.until(lambda: all(word in self.status[-1].unauthorised_text for word in words))

    def value(self, status: str, key: str) -> str:
        """A value of the newest diagnostics of which the name begins so; empty: not heard of yet."""
        found = [item for name, item in self.diagnostics.items() if name.startswith(status)]
        return next((pair.value for item in found for pair in item.values if pair.key == key), "")

    def close(self) -> None:
        children.kill(*self._processes)
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()

    def _diagnose(self, message: DiagnosticArray) -> None:
        self.diagnostics.update({status.name: status for status in message.status})


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(tmp_path_factory.mktemp("key"))
    yield made
    made.close()


TRAJECTORIES = "/certified_trajectory"


def trajectory(name: str) -> CertifiedTrajectory:
    """Nonsense but for its signature."""
    return CertifiedTrajectory(id=name, joint_names=["one"])


def test_the_status_says_that_commands_are_signed(guarded: Guarded) -> None:
    assert guarded.status[-1].commands_signed
    for node in (CONTROL, PLANNING, IDENTIFYING):
        guarded.until(lambda node=node: guarded.value(node, "authority").startswith("signed"))


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        (TRAJECTORIES, trajectory("unsigned")),
        (f"/{BOUNDS}", ParameterBounds()),
        ("/obstacles", Obstacles()),
        ("/robot_stop", StopRequest(reason=int(StopReason.COMMAND_TIMEOUT))),
    ],
)
def test_who_lacks_the_key_is_refused_and_named(guarded: Guarded, topic: str, message: Any) -> None:
    before = guarded.status[-1].unauthorised
    guarded.send(message, topic)
    guarded.expect_named(topic, "in the name of nobody", "no signature")
    assert guarded.status[-1].unauthorised > before
    Signer(bytes(32), "/certified_planner").sign(message, topic, time.time_ns())
    guarded.send(message, topic)
    guarded.expect_named(topic, "in the name of /certified_planner", "another key")
    guarded.until(lambda: topic in guarded.value(CONTROL, "last refused"))
    assert guarded.status[-1].refused_id == ""


def test_an_edit_a_repetition_another_topic_and_an_old_signature_are_refused(guarded: Guarded) -> None:
    edited = guarded.sign(trajectory("edited"), TRAJECTORIES)
    edited.duration = 3.0
    guarded.send(edited, TRAJECTORIES)
    guarded.expect_named(TRAJECTORIES, "/tester", "changed after it was signed")
    guarded.send(guarded.sign(trajectory("old"), TRAJECTORIES, late=11.0), TRAJECTORIES)
    guarded.expect_named(TRAJECTORIES, "/tester", "too long ago")
    guarded.send(guarded.sign(Obstacles(), TRAJECTORIES), "/obstacles")
    guarded.expect_named("/obstacles", "/tester", "changed after it was signed")
    good = guarded.sign(trajectory("good"), TRAJECTORIES)
    before = guarded.status[-1].unauthorised
    guarded.send(good, TRAJECTORIES)
    guarded.send(good, TRAJECTORIES)
    guarded.expect_named(TRAJECTORIES, "/tester", "no newer")  # than the first, which was taken
    assert guarded.status[-1].unauthorised == before + 1


@pytest.mark.parametrize(("node", "action"), [("robust_controller", "reset"), ("interval_identifier", "reset")])
def test_requests_are_signed_too(guarded: Guarded, node: str, action: str) -> None:
    answer = guarded.call(Trigger, f"/{node}/{action}", Trigger.Request())
    assert not answer.success and "has a key" in answer.message
    name = f"/{node}/request"
    answer = guarded.call(SignedRequest, name, SignedRequest.Request(action=action))
    assert not answer.success and "no signature" in answer.message
    request = guarded.sign(SignedRequest.Request(action=action), name)
    assert guarded.call(SignedRequest, name, request).success
    answer = guarded.call(SignedRequest, name, request)
    assert not answer.success and "no newer" in answer.message
    answer = guarded.call(SignedRequest, name, guarded.sign(SignedRequest.Request(action="fly"), name))
    assert not answer.success and "no such request" in answer.message


def test_nothing_is_saved_for_who_lacks_the_key(guarded: Guarded, tmp_path: Path) -> None:
    path, name = str(tmp_path / "result.json"), "/interval_identifier/save"
    answer = guarded.call(Save, name, Save.Request(path=path))
    assert not answer.success and not Path(path).exists()
    answer = guarded.call(Save, name, guarded.sign(Save.Request(path=path), name))
    assert answer.success and Path(path).exists()


def test_goals_are_signed_too(guarded: Guarded) -> None:
    names = list(set_up(CertifiedConfig()).robot.joint_names)
    goal = JointState(name=names, position=[0.0] * len(names))
    guarded.send(goal, "/goal")
    guarded.until(lambda: "/goal" in guarded.value(PLANNING, "last refused"))
    signed = Goal(joint_names=names, position=[0.0] * len(names))
    guarded.send(signed, "/signed_goal")
    guarded.until(lambda: "/signed_goal" in guarded.value(PLANNING, "last refused"))
    assert guarded.value(PLANNING, "goals left") == "0"
    guarded.send(guarded.sign(signed, "/signed_goal"), "/signed_goal")
    guarded.until(lambda: guarded.value(PLANNING, "goals left") == "1")


def test_what_nodes_latch_is_signed_again_before_it_is_too_old(guarded: Guarded) -> None:
    heard: list[ParameterBounds] = []
    guarded.node.create_subscription(ParameterBounds, BOUNDS, heard.append, qos.LATCHED)

    def own() -> list[ParameterBounds]:
        return [message for message in heard if message.signature.signer == "/interval_identifier"]

    guarded.until(lambda: len(own()) >= 2)
    first, second = own()[:2]
    assert first.window == second.window
    inspector = Inspector(guarded.key, 1000.0)
    assert inspector.judge(first, f"/{BOUNDS}", time.time_ns()) is Doubt.NONE
    assert inspector.judge(second, f"/{BOUNDS}", time.time_ns()) is Doubt.NONE  # newer


def test_what_is_latched_for_recorders_alone_is_not_signed_again(guarded: Guarded, tmp_path: Path) -> None:
    """A plan that came twice would ask to be obeyed twice."""
    create_key(str(tmp_path / "key"))
    authority, timers = Authority(guarded.node, AuthorityConfig(str(tmp_path / "key"))), list[Any]()
    latched = guarded.node.create_publisher(CertifiedTrajectory, "latched_trajectory", qos.LATCHED)
    authority.publisher(latched, lambda *given, **_: timers.append(given), once=True)
    assert timers == []
    authority.publisher(latched, lambda *given, **_: timers.append(given))
    assert len(timers) == 1


@pytest.mark.slow
def test_the_whole_loop_runs_with_a_key(tmp_path: Path) -> None:
    create_key(str(tmp_path / "key"))
    key = {"authority.key_file": tmp_path / "key"}
    loop = Loop(key, key, {"certified_planner": PLANNER | key, "interval_identifier": IDENTIFIER | key})
    try:
        loop.until(lambda: len({status.trajectory_id for status in loop.status if status.mode == TRACKING}) >= 2)
        assert loop.status[-1].unauthorised == 0
    finally:
        loop.close()
