# SPDX-License-Identifier: Apache-2.0
"""The SROS2 policy grants each node just what it says and hears."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from rclpy.parameter import Parameter

from sysid_nodes.data.key_file import create_key
from sysid_nodes.ros.nodes.certified_planner import CertifiedPlannerNode
from sysid_nodes.ros.nodes.interval_identifier import IntervalIdentifierNode
from sysid_nodes.ros.nodes.robust_controller import RobustControllerNode
from sysid_nodes.ros.nodes.simulated_arm import SimulatedArmNode

pytestmark = pytest.mark.ros

TRACKING = {"tracking.position_error": [0.01], "tracking.velocity_error": [0.1]}
KINDS: dict[Any, list[dict[str, Any]]] = {
    RobustControllerNode: [{"autostart": False, "controller.recertify": False}],
    CertifiedPlannerNode: [
        {"autostart": False},
        {"autostart": False, "certified_planner.output": "position", **TRACKING},
    ],
    IntervalIdentifierNode: [{"autostart": False}, {"autostart": False, "robot": "urdf"}],
    SimulatedArmNode: [{}, {"simulated_arm.interface": "position"}],
}


SIMULATED_TIME = {"/clock", "/parameter_events"}
"""Heard only where time is simulated."""


def granted(path: Path, name: str, tag: str, kind: str) -> set[str]:
    profile = ElementTree.parse(path).getroot().find(f".//profile[@node='{name}']")
    assert profile is not None
    found = profile.findall(f"{tag}s[@{kind}='ALLOW']/{tag}")
    return {str(item.text).replace("~", f"/{name}") if str(item.text)[0] in "~/" else f"/{item.text}" for item in found}


@pytest.mark.parametrize("make", KINDS, ids=lambda kind: kind.__name__)
def test_a_node_has_what_it_is_granted_and_no_more(make: Any, project_root: Path, tmp_path: Path) -> None:
    create_key(str(tmp_path / "key"))
    path = project_root / "config" / "sros2" / "policy.xml"
    said, heard, served = set(), set(), set()
    rclpy.init()
    try:
        for parameters in KINDS[make]:
            values = {"authority.key_file": str(tmp_path / "key")} | parameters
            node = make(parameter_overrides=[Parameter(name, value=value) for name, value in values.items()])
            if make is not SimulatedArmNode:
                node.trigger_configure()
            if make is not SimulatedArmNode and "robot" not in parameters:
                node.trigger_activate()
            if make is CertifiedPlannerNode:
                node._listen_to_joints(True)
            name = node.get_name()
            said |= {topic for topic, _ in node.get_publisher_names_and_types_by_node(name, "/")}
            heard |= {topic for topic, _ in node.get_subscriber_names_and_types_by_node(name, "/")}
            served |= {service for service, _ in node.get_service_names_and_types_by_node(name, "/")}
            if hasattr(node, "release"):
                node.release()
            node.destroy_node()
    finally:
        rclpy.try_shutdown()
    actions = {f"{action}/_action" for action in granted(path, name, "action", "execute")}
    ways = {f"{action}/{way}" for action in actions for way in ("feedback", "status")}
    calls = {f"{action}/{call}" for action in actions for call in ("send_goal", "get_result", "cancel_goal")}
    assert ways <= said and calls <= served
    said, served = said - ways, served - calls
    assert granted(path, name, "topic", "publish") == said
    assert granted(path, name, "topic", "subscribe") - SIMULATED_TIME == heard - SIMULATED_TIME
    assert granted(path, name, "service", "reply") >= served - {f"/{name}/get_type_description"}
    assert granted(path, name, "service", "reply") - served <= {f"/{name}/get_type_description"}


def test_nobody_joins_without_a_certificate(project_root: Path) -> None:
    root = ElementTree.parse(project_root / "config" / "sros2" / "governance.xml").getroot()
    text = {item.tag: item.text for item in root.iter()}
    assert text["allow_unauthenticated_participants"] == "false"
    assert text["enable_join_access_control"] == "true"
    assert text["topic_expression"] == "*" and text["data_protection_kind"] == "ENCRYPT"
