# SPDX-License-Identifier: Apache-2.0
"""The identifier's node in a ROS graph of its own: topics, services, life cycle, faults."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from online_sysid.msg import ActuatorModels
from online_sysid.srv import Save
from sensor_msgs.msg import JointState
from shared.actuator_session import START, VALUES, feed, messages, run, session
from shared.low_state import GoLowCmd, GoLowState, LowMotor
from shared.refusal import check_that_configuring_says
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.messages.actuators.models import models_fields
from sysid_nodes.reports.actuators.schema import validate_actuators
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.actuators.conversions import COMMANDS, low_command_taker, low_state_taker
from sysid_nodes.ros.conversions import to_seconds, to_stamp
from sysid_nodes.ros.nodes.actuator_identifier import ActuatorIdentifierNode

pytestmark = pytest.mark.ros

MODELS = "/actuator_identifier/actuator_models"
ONE_WINDOW = 850  # messages


def identifier(bench: Any, **parameters: Any) -> Any:
    return bench.add(ActuatorIdentifierNode, {**VALUES, "diagnostics_period": 0.05} | parameters)


class Robot:
    """Publishes a run and waits, now and then, until the node has taken what was published."""

    def __init__(self, bench: Any, node: Any) -> None:
        self._bench, self._node = bench, node
        profile = qos.stream("reliable", 1000)
        self._states = bench.tester.create_publisher(JointState, "/joint_states", profile)
        self._commands = bench.tester.create_publisher(JointState, "/joint_commands", profile)
        both = (self._states, self._commands)
        bench.until(lambda: all(publisher.get_subscription_count() == 1 for publisher in both))

    def play(self, count: int, change: str = "none") -> None:
        live = self._node._live
        before = sum(live.received.values())
        k = 0
        for k, raw in enumerate(islice(messages(run(change)), count), start=1):
            is_command = isinstance(raw, RawSetPoints)
            message = JointState(name=list(raw.names))
            message.header.stamp = to_stamp(raw.begin if is_command else raw.stamp)
            message.position = (raw.q[0] if is_command else raw.position).tolist()
            (self._commands if is_command else self._states).publish(message)
            if k % 200 == 0:
                self._bench.until(lambda k=k: sum(live.received.values()) == before + k)
        self._bench.until(lambda: sum(live.received.values()) == before + k and not len(live._worker))


def stamped(raw: Any) -> Any:
    """As it is after a way through a message, whose stamps are whole nanoseconds."""
    if not isinstance(raw, RawSetPoints):
        return raw._replace(stamp=to_seconds(to_stamp(raw.stamp)))
    begin = to_seconds(to_stamp(raw.begin))
    return raw._replace(begin=begin, t=np.array([begin]))


def values(report: DiagnosticArray) -> dict[str, str]:
    return {item.key: item.value for item in report.status[0].values}


def test_the_node_publishes_what_a_session_says_of_the_same_messages(bench: Any, tmp_path: Path) -> None:
    node = identifier(bench)
    bench.start(node)
    heard = bench.listen(ActuatorModels, MODELS, qos.stream("reliable", 100))
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    Robot(bench, node).play(2 * ONE_WINDOW)
    bench.until(lambda: heard and heard[-1].window == 1)
    expected = [models_fields(u) for u in feed(session(run()), map(stamped, islice(messages(run()), 2 * ONE_WINDOW)))]
    assert [message.id for message in heard[-2:]] == [fields["id"] for fields in expected]
    late = bench.listen(ActuatorModels, MODELS, qos.LATCHED)  # who joins later hears it too
    bench.until(lambda: late)
    told = late[-1]
    assert (told.id, told.window) == (heard[-1].id, 1)
    assert told.config_id == expected[-1]["config_id"]
    assert [model.joint for model in told.models] == list(run().robot.joint_names)
    rows = {p.name: p for p in told.models[0].parameters}
    assert rows["coulomb"].lower < rows["coulomb"].estimate < rows["coulomb"].upper
    assert rows["coulomb"].unit == "N m"
    assert list(told.windows) == [0, 1]
    bench.until(lambda: values(reports[-1])["window"] == "1")
    said = values(reports[-1])
    assert int(said["received on /joint_states"]) + int(said["received on /joint_commands"]) == 2 * ONE_WINDOW
    assert float(said["replay error of FL_hip_joint [mrad]"]) < 1.5

    answer = bench.call(Save, "/actuator_identifier/save", Save.Request(path=str(tmp_path / "out")))
    assert answer.success, answer.message
    document = validate_actuators(json.loads(Path(answer.path).read_text(encoding="utf-8")))
    assert document["online"]["id"] == told.id
    assert document["online"]["windows"] == [0, 1]
    assert (tmp_path / "out" / "report.html").exists()
    assert bench.call(Trigger, "/actuator_identifier/reset", Trigger.Request()).success
    bench.until(lambda: heard[-1].status == "WAITING")
    assert not heard[-1].models
    refused = bench.call(Save, "/actuator_identifier/save", Save.Request(path=str(tmp_path / "again")))
    assert not refused.success
    assert "nothing is identified" in refused.message
    assert not (tmp_path / "again").exists()


def test_diagnostics_name_a_silent_topic_and_what_is_not_used(bench: Any) -> None:
    node = identifier(bench)
    bench.start(node)
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    bench.until(lambda: reports and "nothing on" in reports[-1].status[0].message)
    assert "/joint_commands" in reports[-1].status[0].message
    assert reports[-1].status[0].level == DiagnosticStatus.WARN
    publisher = bench.tester.create_publisher(JointState, "/joint_commands", qos.stream("reliable", 10))
    bench.until(lambda: publisher.get_subscription_count() == 1)
    publisher.publish(JointState(name=["a", "b"], position=[0.0]))
    key = "not used: a commanded joint state has 1 positions for 2 joints"
    bench.until(lambda: values(reports[-1]).get(key) == "1")
    publisher.publish(JointState(name=list(run().robot.joint_names), position=[0.0] * 3))
    bench.until(lambda: values(reports[-1]).get("not used: command: no stamp") == "1")
    assert not node._live._worker.fault


def test_a_trajectory_gives_the_numbers_of_a_recorded_one(bench: Any) -> None:
    node = identifier(bench, command_type="trajectory")
    bench.start(node)
    publisher = bench.tester.create_publisher(JointTrajectory, "/joint_commands", qos.stream("reliable", 10))
    bench.until(lambda: publisher.get_subscription_count() == 1)
    message = JointTrajectory(joint_names=list(run().robot.joint_names))
    message.header.stamp = to_stamp(100.25)
    for k in range(2):
        point = JointTrajectoryPoint(positions=[0.1 * k, 0.2, 0.3])
        point.time_from_start.nanosec = 500000000 * k
        message.points.append(point)
    raw = COMMANDS["trajectory"][1](message)
    assert raw.t.tolist() == [100.25, 100.75]
    assert raw.q.tolist() == [[0.0, 0.2, 0.3], [0.1, 0.2, 0.3]]
    assert raw.qd is None
    publisher.publish(message)
    bench.until(lambda: node._live.session.received["commands"] == 1)
    assert not node._live.session.rejected


def test_unitrees_messages_give_the_numbers_of_stamped_ones() -> None:
    """Motors in the vendor's order, gains with the commands, no stamps: they come when they are sent."""
    part = list(islice(messages(run(), gains=lambda _: 20.0), ONE_WINDOW))
    expected = feed(session(run(), gains_told=True), part)[-1].state.result
    heard = session(run(), gains_told=True)
    motors = [load_robot("go2").motor_order.index(name) for name in run().robot.joint_names]
    take_command, take_state = low_command_taker(heard), low_state_taker(heard)
    for raw in part:
        if isinstance(raw, RawSetPoints):
            command = GoLowCmd()
            for motor, q in zip(motors, raw.q[0], strict=True):
                command.motor_cmd[motor] = LowMotor(q=q, kp=20.0, kd=1.0)
            take_command(command, raw.begin)
        else:
            state = GoLowState(tick=round(1e3 * (raw.stamp - START)))
            for motor, q in zip(motors, raw.position, strict=True):
                state.motor_state[motor].q = q
            take_state(state, raw.stamp)
    found = heard.update.state.result
    assert expected is not None and found is not None
    for one, other in zip(found.joints, expected.joints, strict=True):
        np.testing.assert_allclose(one.law, other.law, rtol=1e-4, atol=1e-7)


def test_messages_lost_to_overload_end_the_window_and_are_counted(bench: Any) -> None:
    node = identifier(bench, buffer=50)
    bench.start(node)
    live = node._live
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    taken: list[Any] = []
    release = {"now": False}

    def slow(message: Any) -> None:
        taken.append(message)
        bench_wait(lambda: release["now"])

    live.put("x", slow, 0)
    bench.until(lambda: taken)
    for k in range(1, 60):
        live.put("x", taken.append, k)
    release["now"] = True
    bench.until(lambda: reports and values(reports[-1])["messages lost to overload"] == "50")
    bench.until(lambda: not len(live._worker) and not live._lost)


def bench_wait(condition: Any) -> None:
    """On the worker's thread, for an event that the test makes."""
    import time

    deadline = time.monotonic() + 60.0
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)


def test_it_may_be_deactivated_cleaned_up_and_started_again(bench: Any) -> None:
    node = identifier(bench)
    for _ in range(2):
        bench.start(node)
        assert node._live is not None
        node.trigger_deactivate()
        node.trigger_cleanup()
        assert node._live is None


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"robot": "r2d2"}, "unknown robot 'r2d2'"),
        ({"joints": "XX"}, "no joint whose name begins with 'XX'"),
        ({"actuators__law__stiffness": [1.0, 2.0]}, "'law.stiffness' must have 1 or 3 values, got 2"),
        ({"urdf": "/nowhere.urdf"}, "/nowhere.urdf"),
        ({"command_type": "low_cmd"}, "LowCmd of 'go2' needs the message package unitree_go, not installed"),
    ],
)
def test_what_cannot_be_configured_says_why(
    bench: Any, parameters: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_that_configuring_says(line, identifier(bench, **parameters), monkeypatch)
