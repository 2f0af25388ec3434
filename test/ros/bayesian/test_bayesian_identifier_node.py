# SPDX-License-Identifier: Apache-2.0
"""The identifier's node in a ROS graph of its own: topics, services, faults."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from online_sysid.msg import JointFriction, ParameterPosterior
from online_sysid.srv import Save
from sensor_msgs.msg import BatteryState, JointState
from shared.leg_bag import CONFIG, START, VALUES, leg_record, write_leg
from shared.refusal import check_that_configuring_says
from std_msgs.msg import Float64
from std_srvs.srv import Trigger

from sysid_nodes.cli.main import main
from sysid_nodes.data.config import read_parameters
from sysid_nodes.logs.reader import read_messages
from sysid_nodes.messages.bayesian.posterior import TYPE
from sysid_nodes.reports.bayesian.schema import validate_bayesian
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_stamp
from sysid_nodes.ros.nodes.bayesian_identifier import BayesianIdentifierNode
from sysid_nodes.simulation.fourbar.leg import MOTORS

pytestmark = pytest.mark.ros

POSTERIOR, FRICTION = "/bayesian_identifier/posterior", "/bayesian_identifier/friction"
DURATION = 2.4  # of the recording; one window of 2 s


def identifier(bench: Any, **parameters: Any) -> Any:
    given = dict(read_parameters(CONFIG)) | VALUES | {"diagnostics_period": 0.05}
    return bench.add(BayesianIdentifierNode, given | parameters)


def play(bench: Any, node: Any) -> None:
    """Publishes the recording, and waits now and then until the node has taken what was published."""
    profile = qos.stream("reliable", 1000)
    states = bench.tester.create_publisher(JointState, "/joint_states", profile)
    power = bench.tester.create_publisher(BatteryState, "/power", profile)
    bench.until(lambda: all(p.get_subscription_count() == 1 for p in (states, power)))
    _, record = leg_record(DURATION)
    state, supply = JointState(name=list(MOTORS)), BatteryState(present=True)
    for k, t in enumerate(record.t.tolist()):
        state.header.stamp = supply.header.stamp = to_stamp(START + t)
        state.position, state.effort = record.position[k].tolist(), record.torque[k].tolist()
        supply.voltage, supply.current = float(record.voltage[k]), -float(record.current[k])
        states.publish(state)
        power.publish(supply)
        if k % 100 == 99:
            bench.until(lambda k=k: sum(node._live.received.values()) == 2 * (k + 1))
    bench.until(lambda: not len(node._live._worker))


def test_the_node_publishes_what_a_replay_says_of_the_same_messages(bench: Any, tmp_path: Path) -> None:
    node = identifier(bench)
    bench.start(node)
    heard = bench.listen(ParameterPosterior, POSTERIOR, qos.LATCHED)
    curves = bench.listen(JointFriction, FRICTION, qos.LATCHED)
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    bench.until(lambda: heard and heard[-1].status == "WAITING")
    assert not list(heard[-1].names)
    play(bench, node)
    bench.until(lambda: heard[-1].window == 0 and curves)
    told = heard[-1]
    count = len(told.names)
    assert np.reshape(told.covariance, (count, count)).shape == (count, len(told.lower))
    assert told.blind[0].narrowing > 0.9
    assert curves[-1].posterior == told.id
    bench.until(lambda: {item.key: item.value for item in reports[-1].status[0].values}["windows used"] == "1")

    write_leg(tmp_path / "bag", DURATION)
    settings = [f"--set={name}={value}" for name, value in VALUES.items()]
    command = ["replay", str(tmp_path / "bag"), "--config", str(CONFIG), *settings, "--online"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    replayed = [message for _, message in read_messages(tmp_path / "out" / "result.mcap", POSTERIOR, TYPE)]
    assert [(message.window, message.id) for message in replayed] == [(0, told.id)]

    answer = bench.call(Save, "/bayesian_identifier/save", Save.Request(path=str(tmp_path / "saved")))
    assert answer.success, answer.message
    document = validate_bayesian(json.loads(Path(answer.path).read_text(encoding="utf-8")))
    assert document["online"]["id"] == told.id
    assert bench.call(Trigger, "/bayesian_identifier/reset", Trigger.Request()).success
    bench.until(lambda: heard[-1].status == "WAITING")
    refused = bench.call(Save, "/bayesian_identifier/save", Save.Request(path=str(tmp_path / "again")))
    assert "nothing is identified" in refused.message
    assert not (tmp_path / "again").exists()


def test_diagnostics_name_a_silent_topic_and_what_is_not_used(bench: Any) -> None:
    node = identifier(bench)
    bench.start(node)
    reports = bench.listen(DiagnosticArray, "/diagnostics")
    bench.until(lambda: reports and "nothing on" in reports[-1].status[0].message)
    assert "/joint_states and /power" in reports[-1].status[0].message
    assert reports[-1].status[0].level == DiagnosticStatus.WARN
    states = bench.tester.create_publisher(JointState, "/joint_states", qos.stream("reliable", 10))
    bench.until(lambda: states.get_subscription_count() == 1)
    states.publish(JointState(name=["hip"], position=[0.0]))
    key = "not used: a joint state has no joint 'crank_motor'; if it does not move, name in 'joints' those that do"
    bench.until(lambda: {item.key: item.value for item in reports[-1].status[0].values}.get(key) == "1")
    assert not node._live._worker.fault


def test_without_a_meter_there_is_no_subscription(bench: Any) -> None:
    node = identifier(bench, power="")
    bench.start(node)
    assert [stream.topic_name for stream in node._streams] == ["/joint_states"]


def test_voltage_and_current_may_be_heard_apart(bench: Any) -> None:
    """A current counts from when it is heard, with the voltage before it, and not at all before there is one."""
    node = identifier(bench, power="bus_voltage,bus_current")
    bench.start(node)
    assert [stream.topic_name for stream in node._streams] == ["/joint_states", "/bus_voltage", "/bus_current"]
    profile = qos.stream("reliable", 10)
    publishers = [bench.tester.create_publisher(Float64, topic, profile) for topic in ("/bus_voltage", "/bus_current")]
    bench.until(lambda: all(publisher.get_subscription_count() == 1 for publisher in publishers))
    began = time.time()
    for count, (which, value) in enumerate([(1, 7.0), (0, 48.0), (1, 2.5)], start=1):
        publishers[which].publish(Float64(data=value))
        bench.until(lambda count=count: sum(node._live.received.values()) == count)
    bench.until(lambda: not len(node._live._worker))
    ((stamp, drawn),) = node._live.session._session._power
    assert drawn == 120.0, "48 V and 2.5 A that are drawn"
    assert began <= stamp <= time.time()


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ({"robot": "r2d2"}, "unknown robot 'r2d2'"),
        ({"robot": "go2"}, "has a floating base"),
        ({"bayesian.mechanism.passive": ["ankle"]}, "'ankle', which is no joint"),
        ({"torque_factor": [1.0, 1.0, 1.0]}, "'torque_factor' must be one number, or 2"),
    ],
)
def test_what_cannot_be_configured_says_why(
    bench: Any, parameters: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_that_configuring_says(line, identifier(bench, **parameters), monkeypatch)
