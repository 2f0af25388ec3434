# SPDX-License-Identifier: Apache-2.0
"""What the nodes of certified motion refuse, or do not move, from the start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from online_sysid.msg import ControllerStatus, ParameterBounds
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.parameter import Parameter
from shared import children
from shared.certified_processes import HOLDING, IDENTIFIER, IDLE, PLANNER, STOPPED, Loop, command
from shared.quick_and_slow import mark_slow
from shared.waiting import spin_until

from sysid_nodes.exceptions import SysidError
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.results import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.ros import qos
from sysid_nodes.ros.nodes.certified_planner import CertifiedPlannerNode
from sysid_nodes.ros.nodes.robust_controller import RobustControllerNode
from sysid_nodes.ros.nodes.simulated_arm import SimulatedArmNode
from sysid_nodes.ros.spinning import make_executor
from sysid_nodes.sessions.certified.settings import ESTIMATES

pytestmark = pytest.mark.ros

NODES = {
    "certified_planner": CertifiedPlannerNode,
    "robust_controller": RobustControllerNode,
    "simulated_arm": SimulatedArmNode,
}
QUIET = ("--log-level", "fatal")
LIGHT = [1.21, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]


@pytest.fixture
def ros() -> Iterator[None]:
    rclpy.init()
    yield
    rclpy.shutdown()


@pytest.mark.parametrize(
    ("node", "parameters", "line"),
    [
        ("certified_planner", {"planner.replan": 4.0}, r"'planner.replan' \(t_p = 4 s\) must not exceed"),
        ("certified_planner", {"planner.replam": 1.0}, "unknown key 'planner.replam'"),
        ("certified_planner", {"certifyer.intervals": 10}, "unknown key 'certifyer.intervals'"),
        ("certified_planner", {"certified_planner.goals": [1.0, 2.0]}, "needs 7 numbers for each goal, got 2"),
        ("certified_planner", {"robot": "go2"}, "floats"),
        ("certified_planner", {"robot": "ur10"}, "no shapes that cover it"),
        ("certified_planner", {"prior.upper": LIGHT}, "gripper"),
        ("certified_planner", {"body": "tail"}, "no link 'tail'"),
        ("robust_controller", {"scene": "nowhere.yaml"}, "nowhere.yaml: No such file"),
        ("robust_controller", {"control.damping": [1.0, 2.0]}, "'control.damping' needs 1 or 7 numbers"),
        ("robust_controller", {"control.period": 0.5}, "'control.period' must be at most 0.002"),
        ("simulated_arm", {"simulated_arm.payload": [1.0, 2.0]}, "needs 10 numbers"),
        ("simulated_arm", {"simulated_arm.payload": [1.0] + [0.0] * 9}, "cannot be simulated"),
        ("simulated_arm", {"simulated_arm.start": [0.0]}, "start' has 1 positions, robot 'kinova_gen3' has 7 joints"),
        ("simulated_arm", {"simulated_arm.fault.kind": "gremlins"}, "must be one of none, off"),
    ],
)  # fmt: skip
def test_a_parameter_that_makes_no_sense_is_refused(
    ros: None, node: str, parameters: dict[str, Any], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    managed = {} if node == "simulated_arm" else {"autostart": False}
    overrides = [Parameter(name, value=value) for name, value in (managed | parameters).items()]
    try:
        made = NODES[node](parameter_overrides=overrides)
    except SysidError as error:
        refused = str(error)
    else:
        assert made.trigger_configure() == TransitionCallbackReturn.FAILURE
        made.destroy_node()
        refused = capfd.readouterr().err
    assert re.search(line, refused)


@pytest.mark.parametrize("status", [Status.ESTIMATED, Status.DOUBTFUL])
@pytest.mark.parametrize("estimates", [True, False])
def test_what_is_not_proven_counts_where_it_is_let_in_and_that_is_told(
    ros: None, estimates: bool, status: Status, capfd: pytest.CaptureFixture[str]
) -> None:
    overrides = [Parameter("autostart", value=False), Parameter("estimates", value=estimates)]
    node, prior = CertifiedPlannerNode(parameter_overrides=overrides), PriorConfig()
    try:
        node.trigger_configure()
        message = ParameterBounds(
            status=int(status), robot="kinova_gen3", body=node._setup.body, window=7,
            lower=prior.lower, upper=prior.upper,
        )  # fmt: skip
        node._bounds(message)
        assert (node._planning.known.window, node._planning.known.consistent) == (
            (7, True) if estimates else (-1, False)
        )
        assert (ESTIMATES in capfd.readouterr().err) is estimates
    finally:
        node.release()
        node.destroy_node()


def test_a_step_that_breaks_off_is_told_of_and_the_next_one_is_made(ros: None) -> None:
    """Whatever a mistake of ours raises: the planner's thread lives on, and diagnostics say what happened."""
    slow = {"certified_planner.retry": 1.5, "autostart": False}  # diagnostics come every second
    overrides = [Parameter(name, value=value) for name, value in slow.items()]
    node, executor = CertifiedPlannerNode(parameter_overrides=overrides), make_executor()
    node.trigger_configure()
    node.trigger_activate()
    tester = rclpy.create_node("tester")
    executor.add_node(node)
    executor.add_node(tester)
    status = tester.create_publisher(ControllerStatus, "robust_controller/status", qos.LATCHED)
    heard: list[DiagnosticStatus] = []
    tester.create_subscription(DiagnosticArray, "/diagnostics", lambda message: heard.extend(message.status), 10)
    steps = []

    def step(*_: object) -> None:
        steps.append(1)
        if len(steps) == 1:
            raise ZeroDivisionError("by nothing")

    node._planning.step = step
    try:
        status.publish(ControllerStatus(mode=HOLDING))
        spin_until(
            executor,
            lambda: len(steps) >= 2 and any("by nothing" in one.message for one in heard),
            lambda: str(heard),
        )
        told = next(one for one in heard if "by nothing" in one.message)
        assert told.message == "a step broke off: ZeroDivisionError: by nothing"
        assert told.level == DiagnosticStatus.ERROR
        assert {item.key: item.value for item in told.values}["phase"] == Phase.EXCITE.name, "what the demo ends by"
    finally:
        node.release()
        executor.shutdown()
        node.destroy_node()
        tester.destroy_node()


@pytest.mark.parametrize("node", mark_slow(NODES, but=["robust_controller"]))  # all start by the same function
def test_a_process_says_so_in_one_line_and_exits_with_2(node: str) -> None:
    status, _, errors = children.run(*(word for word in command(node, {"robot": "r2d2"}) if word not in QUIET))
    assert status == 2
    lines = errors.strip().splitlines()
    assert len(lines) == 1
    assert re.search(rf"{node}\]?: unknown robot 'r2d2'", lines[0])


@pytest.mark.slow  # the same without processes: benchmarks/test_certified_loop.py
def test_a_payload_outside_its_bounds_is_not_moved_on() -> None:
    """Five and a half kilograms in the hand where four are the most: the identifier finds out, and nothing goes on."""
    loop = Loop({"simulated_arm.pounds": 12.0}, also={"certified_planner": PLANNER, "interval_identifier": IDENTIFIER})
    try:
        reasons = (StopReason.BOUNDS_INCONSISTENT, StopReason.TRACKING_ERROR)
        loop.until(lambda: any(status.reason in reasons for status in loop.status))
        assert loop.mode(IDLE, HOLDING, STOPPED).reason in reasons
        loop.until(lambda: "simulated_arm: robot" in loop.diagnostics)
        assert loop.value("simulated_arm: robot", "saturated ticks") == "0"
        assert float(loop.value("simulated_arm: robot", "clearance to itself [m]")) > 0.0
    finally:
        loop.close()
