# SPDX-License-Identifier: Apache-2.0
"""The node over real DDS, in one process with its tester. Numbers are the pipeline's tests' business, not these."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from online_sysid.msg import ParameterBounds
from online_sysid.srv import Save
from rcl_interfaces.msg import Log
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from shared.joint_state_messages import messages
from shared.kinova_motion import START, measure
from shared.quick_and_slow import mark_slow
from shared.recorded import record
from std_msgs.msg import String
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from sysid_nodes.cli.main import main
from sysid_nodes.data import JointSamples
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds, to_stamp
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

pytestmark = pytest.mark.ros

RATE = 200.0  # [Hz]
NODE = "/interval_identifier"
# Latched as its publishers are: a line written before reader and writer have found each other is still heard.
ROSOUT = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE


@pytest.fixture(scope="module")
def motion() -> JointSamples:
    """Three windows of 0.1 s at 200 Hz."""
    return measure(load_robot("kinova_gen3"), 61, RATE)


class Feed:
    """A driver's publisher, matched with the node."""

    def __init__(self, bench: Any, node: Any) -> None:
        self._bench, self._node = bench, node
        self._publisher = bench.tester.create_publisher(JointState, "/joint_states", 1000)
        bench.until(self._publisher.get_subscription_count)
        bench.until(lambda: node.count_publishers("/joint_states"))

    def __call__(self, stream: list[JointState]) -> None:
        """Publishes, and waits until the node has processed it all."""
        expected = self._node._monitor._received + len(stream)
        for message in stream:
            self._publisher.publish(message)
        self._bench.until(lambda: self._node._monitor._received >= expected and not len(self._node._live._worker))
        self._node._live._worker.call(lambda: None, 60.0)


def start(bench: Any, **parameters: Any) -> tuple[Any, Feed]:
    node = bench.node(**parameters)
    assert node.trigger_configure() == SUCCESS
    assert node.trigger_activate() == SUCCESS
    return node, Feed(bench, node)


def latest(bench: Any, enough: Callable[[ParameterBounds], bool]) -> ParameterBounds:
    """What a subscriber that joins now gets to hear."""
    heard = bench.listen(ParameterBounds, f"{NODE}/parameter_bounds", qos.LATCHED)
    bench.until(lambda: heard and enough(heard[-1]))
    return heard[-1]


def test_live_gives_the_same_numbers_as_offline(bench: Any, motion: JointSamples) -> None:
    _, feed = start(bench)
    stream = messages(motion)
    every = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # none is overwritten by the next
    heard = bench.listen(ParameterBounds, f"{NODE}/parameter_bounds", every)
    bench.until(lambda: heard)
    feed(stream)
    pipeline = IntervalPipeline(load_robot("kinova_gen3"), IntervalIdentifierConfig())
    results = [pipeline.push(m.name, to_seconds(m.header.stamp), m.position, m.velocity, m.effort) for m in stream]
    expected = {result.window: result for result in results if result is not None and result.tightened}
    assert expected, "the motion teaches nothing"
    # The publisher keeps one: on a busy machine the next overwrites what has not gone out yet, but for the last.
    bench.until(lambda: heard[-1].window == max(expected))
    prior, *live = heard
    assert (prior.status, prior.window) == (ParameterBounds.WAITING, -1)
    for message in live:
        result = expected[message.window]
        # bit for bit: the same code on the same numbers
        np.testing.assert_array_equal(message.lower, result.lower)
        np.testing.assert_array_equal(message.upper, result.upper)
        np.testing.assert_array_equal(message.nominal, result.nominal)
        assert message.status == result.status
        assert message.samples_used == result.samples_used
        assert to_seconds(message.header.stamp) == pytest.approx(result.t, abs=1e-6)
    assert live[-1].header.stamp.sec == int(START), "stamps are the sensor's"


def test_who_joins_late_hears_the_last_bounds(bench: Any, motion: JointSamples) -> None:
    _, feed = start(bench)
    feed(messages(motion))
    message = latest(bench, lambda m: m.window >= 0)
    assert message.samples_used > 0
    assert message.header.frame_id == "bracelet_link"


def test_reset_goes_back_to_the_prior_and_learns_again(bench: Any, motion: JointSamples) -> None:
    _, feed = start(bench)
    feed(messages(motion))
    answer = bench.call(Trigger, f"{NODE}/reset", Trigger.Request())
    assert (answer.success, answer.message) == (True, "started over from the prior")
    message = latest(bench, lambda m: m.window == -1)
    np.testing.assert_array_equal(message.lower, IntervalIdentifierConfig().prior.lower)
    assert message.samples_used == message.samples_rejected == 0
    feed(messages(motion))
    assert latest(bench, lambda m: m.window >= 0).samples_used > 0


@pytest.mark.usefixtures("blank_figures")
@pytest.mark.parametrize("method", mark_slow(["set_membership", "sensitivity"], but=["set_membership"]))
def test_save_writes_what_a_replay_of_the_same_messages_writes(
    bench: Any, motion: JointSamples, tmp_path: Path, method: str, project_root: Path
) -> None:
    _, feed = start(bench, method=method)
    feed(messages(motion))
    live, replayed = tmp_path / "new" / "live", tmp_path / "replayed"
    answer = bench.call(Save, f"{NODE}/save", Save.Request(path=str(live)))
    assert answer.success, answer.message
    assert answer.path == str(live / "result.json")
    bag = record(tmp_path / "bag", motion)
    words = [
        "replay",
        str(bag),
        "--config",
        str(project_root / "config" / "kinova_gen3_certified.yaml"),
        "--method",
        method,
    ]
    assert main([*words, "--out", str(replayed)]) == 0
    # The node keeps no motion that a scene could show.
    shown = {"result.mcap", "scene.json"}
    assert {file.name for file in live.iterdir()} == {file.name for file in replayed.iterdir()} - shown
    one, other = (json.loads((folder / "result.json").read_text()) for folder in (live, replayed))
    assert (one.pop("source"), other.pop("source")) == ("/joint_states", str(bag))
    for document in (one, other):
        document.pop("solve_time_s")
        for step in document["history"]:
            step.pop("solve_time_s")
    assert one == other
    with np.load(live / "series.npz") as a, np.load(replayed / "series.npz") as b:
        for name in ("t", "measured", "predicted"):
            np.testing.assert_array_equal(a[name], b[name])


@pytest.mark.usefixtures("blank_figures")
def test_a_save_in_the_middle_changes_nothing_that_follows(bench: Any, motion: JointSamples, tmp_path: Path) -> None:
    _, feed = start(bench)
    stream = messages(motion)
    feed(stream[:30])  # in the middle of a window
    assert bench.call(Save, f"{NODE}/save", Save.Request(path=str(tmp_path))).success
    feed(stream[30:])
    pipeline = IntervalPipeline(load_robot("kinova_gen3"), IntervalIdentifierConfig())
    for m in stream:
        pipeline.push(m.name, to_seconds(m.header.stamp), m.position, m.velocity, m.effort)
    bounds = latest(bench, lambda m: m.window >= 0)
    np.testing.assert_array_equal(bounds.lower, pipeline.history[-1].lower)
    assert bounds.samples_rejected == 0


def test_save_before_any_data_writes_the_prior_and_is_logged(bench: Any, tmp_path: Path) -> None:
    start(bench)
    log = bench.listen(Log, "/rosout", ROSOUT)
    file = tmp_path / "new" / "prior.json"
    answer = bench.call(Save, f"{NODE}/save", Save.Request(path=str(file)))
    assert (answer.success, answer.path) == (True, str(file)), answer.message
    assert json.loads(file.read_text())["status"] == "WAITING"
    assert [item.name for item in file.parent.iterdir()] == ["prior.json"]
    bench.until(lambda: f"saved: {file} (WAITING written)" in [line.msg for line in log])


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "path is empty; give a folder, or a file that ends in .json"),
        (" ", "path is empty; give a folder, or a file that ends in .json"),
        ("taken/result.json", "cannot write: a file is where a folder should be"),
        ("taken", "cannot write: a file is where a folder should be"),
        ("folder.json", "folder.json"),
        ("x" * 5000, "cannot write: File name too long"),
    ],
    ids=["empty", "blank", "below a file", "a file", "a folder by a file's name", "too long"],
)
def test_save_to_what_cannot_be_is_refused_in_one_line(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, words: str
) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    (tmp_path / "folder.json").mkdir()
    monkeypatch.chdir(tmp_path)
    start(bench)
    refused = bench.call(Save, f"{NODE}/save", Save.Request(path=path))
    assert not refused.success
    assert words in refused.message
    assert "\n" not in refused.message
    assert refused.path == ""
    assert {item.name for item in tmp_path.iterdir()} == {"taken", "folder.json"}


def _nan(message: JointState) -> None:
    message.effort[2] = math.nan


def _infinite(message: JointState) -> None:
    message.position[0] = math.inf


def _no_effort(message: JointState) -> None:
    message.effort = []


def _no_joint(message: JointState) -> None:
    message.name = ["gripper", *list(message.name)[1:]]


def _short(message: JointState) -> None:
    message.velocity = message.velocity[:-1]


def _no_stamp(message: JointState) -> None:
    message.header.stamp = to_stamp(0.0)


def _same_stamp(message: JointState) -> None:
    message.header.stamp = to_stamp(START + 4 / RATE)  # the message before has it


def _earlier(message: JointState) -> None:
    message.header.stamp = to_stamp(START - 1.0)


def _next_century(message: JointState) -> None:
    message.header.stamp = to_stamp(START + 1e8)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_nan, "not finite"),
        (_infinite, "not finite"),
        (_no_effort, "missing effort"),
        (_no_joint, "missing joint"),
        (_short, "wrong length"),
        (_no_stamp, "absurd stamp"),
        (_same_stamp, "duplicate stamp"),
        (_earlier, "backward stamp"),
        (_next_century, "absurd stamp"),
    ],
)
def test_a_bad_message_is_dropped_counted_and_diagnosed(
    bench: Any, motion: JointSamples, change: Callable[[JointState], None], reason: str
) -> None:
    _, feed = start(bench)
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    stream = messages(motion)
    change(stream[5])
    feed(stream)

    def counted() -> bool:
        values = [{v.key: v.value for v in report.status[0].values} for report in diagnostics]
        return any(value.get(f"not used: {reason}") == "1" for value in values)

    bench.until(counted)
    # The sentence may be of something worse about so short a motion; test_interval_diagnostics has which comes first.
    bench.until(lambda: any(report.status[0].level == b"\x01" for report in diagnostics))
    # and it went on: one sample less than without
    assert latest(bench, lambda m: m.window >= 0).samples_used > 0


def test_a_gap_is_counted_and_costs_its_window_only(bench: Any, motion: JointSamples) -> None:
    _, feed = start(bench)
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    stream = messages(motion)
    for message in stream[30:]:
        message.header.stamp = to_stamp(to_seconds(message.header.stamp) + 0.5)
    feed(stream)

    def counted() -> bool:
        values = [{v.key: v.value for v in report.status[0].values} for report in diagnostics]
        # the edge of the window in progress belongs to the one before it, which was used
        return any(value.get("not used: gap") == "9" for value in values)

    bench.until(counted)
    longest = "longest step between stamps [s]"
    steps = [float(v.value) for report in diagnostics for v in report.status[0].values if v.key == longest]
    assert max(steps) > 0.5
    assert latest(bench, lambda m: m.window >= 1).samples_used > 20, "it goes on behind the gap"


def test_another_joint_order_and_further_joints_change_nothing(bench: Any, motion: JointSamples) -> None:
    _, feed = start(bench)
    stream = messages(motion)
    order = [6, 0, 3, 1, 5, 2, 4]
    for message in stream:
        message.name = ["finger", *(message.name[k] for k in order)]
        for field in ("position", "velocity", "effort"):
            setattr(message, field, [0.0, *(getattr(message, field)[k] for k in order)])
    feed(stream)
    pipeline = IntervalPipeline(load_robot("kinova_gen3"), IntervalIdentifierConfig())
    for m in messages(motion):
        pipeline.push(m.name, to_seconds(m.header.stamp), m.position, m.velocity, m.effort)
    bounds = latest(bench, lambda m: m.window >= 0)
    np.testing.assert_array_equal(bounds.lower, pipeline.history[-1].lower)


def test_a_failure_inside_is_reported_and_the_node_goes_on(
    bench: Any, motion: JointSamples, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, feed = start(bench)
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    push = IntervalPipeline.push

    def fail_once(pipeline: IntervalPipeline, names: Any, stamp: float, *values: Any) -> Any:
        if stamp == START:
            raise ZeroDivisionError("made up")
        return push(pipeline, names, stamp, *values)

    monkeypatch.setattr(IntervalPipeline, "push", fail_once)
    feed(messages(motion))
    bench.until(lambda: any(d.status[0].level == b"\x02" for d in diagnostics))
    assert diagnostics[-1].status[0].message == "internal failure: ZeroDivisionError: made up"
    assert latest(bench, lambda m: m.window >= 0).samples_used > 0


def _flipped(message: JointState) -> None:
    message.effort = [-x for x in message.effort]


def _millimetres(message: JointState) -> None:
    message.effort = [1000.0 * x for x in message.effort]


def _frozen(message: JointState) -> None:
    message.effort[1] = -12.5


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (_flipped, "has the opposite sign of the torque gravity needs"),
        (_millimetres, "seems to be in N mm instead of N m"),
        (_frozen, "effort of 'joint_2' never changes (always -12.5)"),
        (_no_joint, "has no joint joint_1 of robot 'kinova_gen3'; it has gripper, joint_2,"),
    ],
)
def test_a_stream_that_cannot_be_used_is_named(
    bench: Any, motion: JointSamples, tmp_path: Path, change: Callable[[JointState], None], finding: str
) -> None:
    _, feed = start(bench)
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    heard = bench.listen(ParameterBounds, f"{NODE}/parameter_bounds", qos.LATCHED)
    stream = messages(motion)
    for message in stream:
        change(message)
    feed(stream[:-1])
    diagnostics.clear()
    bench.until(lambda: diagnostics)
    feed(stream[-1:])  # the data are judged with the first message after a report

    def found() -> bool:
        values = {item.key: item.value for item in diagnostics[-1].status[0].values}
        return finding in values["finding"] and diagnostics[-1].status[0].level == b"\x02"

    bench.until(found)
    assert finding in bench.call(Save, f"{NODE}/save", Save.Request(path=str(tmp_path / "result.json"))).message
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"], "a file gets the result alone"
    if heard[-1].status == ParameterBounds.INCONSISTENT:
        assert finding in heard[-1].message
    else:
        assert heard[-1].status == ParameterBounds.WAITING, "nothing false is published"


def test_markers_come_with_the_bounds(bench: Any, motion: JointSamples) -> None:
    _, feed = start(bench)
    feed(messages(motion))
    bounds = latest(bench, lambda m: m.window >= 0)
    heard = bench.listen(MarkerArray, f"{NODE}/markers", qos.LATCHED)
    bench.until(lambda: heard)
    assert {marker.header.frame_id for marker in heard[-1].markers} == {bounds.header.frame_id}
    assert "kg" in heard[-1].markers[-1].text


def test_no_data_is_diagnosed(bench: Any) -> None:
    start(bench)
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    bench.until(lambda: any(d.status[0].message == "no joint states on /joint_states" for d in diagnostics))


def test_overload_is_counted_and_diagnosed(bench: Any, motion: JointSamples) -> None:
    node, _ = start(bench, buffer=10)
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    held = node._live._worker
    stream = messages(motion)

    def flood() -> None:
        # on the worker's thread: nothing is taken out while this puts
        for message in stream[:25]:
            node._live.put(message)

    held.call(flood, 60.0)
    bench.until(lambda: any("overload" in d.status[0].message for d in diagnostics))
    assert held.overflowed == 20


def test_a_best_effort_driver_is_heard_on_request(bench: Any, motion: JointSamples) -> None:
    node = bench.node(reliability="best_effort")
    node.trigger_configure()
    node.trigger_activate()
    publisher = bench.tester.create_publisher(JointState, "/joint_states", qos.stream("best_effort", 10))
    bench.until(publisher.get_subscription_count)
    message = messages(motion)[0]

    def heard() -> bool:
        publisher.publish(message)  # any one of them may be lost
        return bool(node._monitor._received)

    bench.until(heard)


def test_lifecycle_over_its_services(bench: Any, motion: JointSamples) -> None:
    node = bench.node()

    def move(transition: int) -> bool:
        request = ChangeState.Request()
        request.transition.id = transition
        return bool(bench.call(ChangeState, f"{NODE}/change_state", request).success)

    def state() -> str:
        return str(bench.call(GetState, f"{NODE}/get_state", GetState.Request()).current_state.label)

    assert state() == "unconfigured"
    assert move(Transition.TRANSITION_CONFIGURE)
    assert move(Transition.TRANSITION_ACTIVATE)
    assert state() == "active"
    feed = Feed(bench, node)
    feed(messages(motion)[:41])
    before = latest(bench, lambda m: m.window >= 0)
    assert move(Transition.TRANSITION_DEACTIVATE)
    assert state() == "inactive"
    bench.until(lambda: not node.count_subscribers("/joint_states"))
    assert move(Transition.TRANSITION_ACTIVATE)
    # a pause forgets nothing
    again = latest(bench, lambda m: m.window >= 0)
    np.testing.assert_array_equal(again.lower, before.lower)
    assert move(Transition.TRANSITION_DEACTIVATE)
    assert move(Transition.TRANSITION_CLEANUP)
    assert state() == "unconfigured"
    assert move(Transition.TRANSITION_CONFIGURE)
    assert move(Transition.TRANSITION_ACTIVATE)
    assert latest(bench, lambda m: m.window == -1).status == ParameterBounds.WAITING
    assert move(Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert state() == "finalized"


def test_a_reset_while_inactive_leaves_no_old_bounds_for_who_joins(bench: Any, motion: JointSamples) -> None:
    node, feed = start(bench)
    feed(messages(motion))
    assert latest(bench, lambda m: m.window >= 0).samples_used > 0
    assert node.trigger_deactivate() == SUCCESS
    assert bench.call(Trigger, f"{NODE}/reset", Trigger.Request()).success
    prior = latest(bench, lambda m: m.window == -1)
    np.testing.assert_array_equal(prior.upper, IntervalIdentifierConfig().prior.upper)
    markers = bench.listen(MarkerArray, f"{NODE}/markers", qos.LATCHED)
    bench.until(lambda: markers and "WAITING" in markers[-1].markers[-1].text)


def test_deactivation_forgets_messages_that_wait(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the node would go on to find something for a while after it was told not to listen."""
    node = bench.node()
    assert node.trigger_configure() == SUCCESS
    assert node.trigger_activate() == SUCCESS
    forgotten: list[int] = []
    monkeypatch.setattr(node._live, "clear", lambda: forgotten.append(1))
    assert node.trigger_deactivate() == SUCCESS
    assert forgotten


def test_every_event_is_a_line_of_the_log_and_no_window_is(bench: Any, motion: JointSamples) -> None:
    log = bench.listen(Log, "/rosout", ROSOUT)
    begun = time.time()  # nodes of the same name before this one are heard too
    node = bench.node()
    assert node.trigger_configure() == SUCCESS
    assert node.trigger_activate() == SUCCESS
    Feed(bench, node)(messages(motion))
    assert node.set_parameters([Parameter("noise.velocity_error", value=[0.0002])])[0].successful
    assert bench.call(Trigger, f"{NODE}/reset", Trigger.Request()).success
    assert node.trigger_deactivate() == SUCCESS
    assert node.trigger_cleanup() == SUCCESS
    lines = [
        "configured: body at 'bracelet_link' of robot 'kinova_gen3' by set_membership",
        "active: identifying 'bracelet_link' from /joint_states",
        "WAITING -> ",
        "changed: noise.velocity_error = [0.0002]",
        "reset: started over from the prior",
        "inactive: unsubscribed",
        "cleaned up",
    ]

    def said() -> list[str]:
        return [line.msg for line in log if line.name == node.get_name() and to_seconds(line.stamp) >= begun]

    bench.until(lambda: len(said()) >= len(lines))
    for line, expected in zip(said(), lines, strict=True):
        assert line.startswith(expected)


def test_what_cannot_be_configured_stays_unconfigured_and_can_be_put_right(bench: Any, tmp_path: Path) -> None:
    node = bench.node(urdf=str(tmp_path / "missing.urdf"))
    assert node.trigger_configure() == FAILURE
    assert not node.failed, "a lifecycle manager may try again"
    node.set_parameters([Parameter("urdf", value="")])
    assert node.trigger_configure() == SUCCESS


def test_autostart_that_cannot_succeed_ends_the_node(bench: Any) -> None:
    node = bench.node(autostart=True, robot="no_such_robot")
    bench.until(lambda: node.failed)


def test_a_robot_without_a_name_waits_for_its_description(bench: Any, motion: JointSamples) -> None:
    node = bench.node(robot="urdf", autostart=True)
    publisher = bench.tester.create_publisher(String, "/robot_description", qos.LATCHED)
    bench.until(publisher.get_subscription_count)
    assert node._live is None
    publisher.publish(String(data=load_robot("kinova_gen3").urdf))
    Feed(bench, node)(messages(motion))
    assert latest(bench, lambda m: m.window >= 0).body == "bracelet_link"


def test_simulated_time_drives_the_diagnostics_and_stamps_stay_the_sensors(bench: Any, motion: JointSamples) -> None:
    node, feed = start(bench, use_sim_time=True)
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics")
    feed(messages(motion))
    assert not diagnostics, "the clock has not begun"
    clock = bench.tester.create_publisher(Clock, "/clock", 10)
    bench.until(clock.get_subscription_count)
    for k in range(20):
        clock.publish(Clock(clock=to_stamp(50.0 + 0.1 * k)))
        bench.until(lambda now=50.0 + 0.1 * k: node.get_clock().now().nanoseconds * 1e-9 >= now - 1e-6)
    bench.until(lambda: diagnostics)
    assert diagnostics[-1].header.stamp.sec in (50, 51, 52)
    assert latest(bench, lambda m: m.window >= 0).header.stamp.sec == int(START)
