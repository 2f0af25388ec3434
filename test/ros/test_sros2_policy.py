# SPDX-License-Identifier: Apache-2.0
"""The SROS2 policy grants each node just what it says and hears."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.demo_process import LONG

from sysid_nodes.cli.demo.nodes import environment, free_domain
from sysid_nodes.data.key_file import create_key

pytestmark = pytest.mark.ros

TRACKING = {"tracking.position_error": [0.01], "tracking.velocity_error": [0.1]}
KINDS: dict[str, list[dict[str, Any]]] = {
    "robust_controller.RobustControllerNode": [{"autostart": False, "controller.recertify": False}],
    "certified_planner.CertifiedPlannerNode": [
        {"autostart": False},
        {"autostart": False, "certified_planner.output": "position", **TRACKING},
    ],
    "interval_identifier.IntervalIdentifierNode": [{"autostart": False}, {"autostart": False, "robot": "urdf"}],
    "simulated_arm.SimulatedArmNode": [{}, {"simulated_arm.interface": "position"}],
}

ALONE = """
import importlib, json, sys, time
import rclpy
from rclpy.parameter import Parameter

module, kind, parameters = *sys.argv[1].split("."), json.loads(sys.argv[2])
make = getattr(importlib.import_module(f"sysid_nodes.ros.nodes.{module}"), kind)
rclpy.init()
node = make(parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()])
if hasattr(node, "trigger_configure"):
    described = "robot" not in parameters  # a description that nobody publishes
    assert (node.trigger_configure().name == "SUCCESS") is described
    if described:
        assert node.trigger_activate().name == "SUCCESS"
if kind == "CertifiedPlannerNode":
    node._listen_to_joints(True)
name = node.get_name()
ways = (node.get_publisher_names_and_types_by_node, node.get_subscriber_names_and_types_by_node,
        node.get_service_names_and_types_by_node)
made = ({own.topic_name for own in node.publishers}, {own.topic_name for own in node.subscriptions},
        {own.service_name for own in node.services})
end = time.monotonic() + 60.0  # the graph learns of them in a thread of its own
while not all(own <= {topic for topic, _ in way(name, "/")} for own, way in zip(made, ways)):
    assert time.monotonic() < end
    time.sleep(0.01)
print(json.dumps([name, *([topic for topic, _ in way(name, "/")] for way in ways)]))
if hasattr(node, "release"):
    node.release()
node.destroy_node()
rclpy.try_shutdown()
"""
"""A process for every node: after another of its name in the same process, now and then the graph never has it."""


SIMULATED_TIME = {"/clock", "/parameter_events"}
"""Heard only where time is simulated."""


def granted(path: Path, name: str, tag: str, kind: str) -> set[str]:
    profile = ElementTree.parse(path).getroot().find(f".//profile[@node='{name}']")
    assert profile is not None
    found = profile.findall(f"{tag}s[@{kind}='ALLOW']/{tag}")
    return {str(item.text).replace("~", f"/{name}") if str(item.text)[0] in "~/" else f"/{item.text}" for item in found}


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_has_what_it_is_granted_and_no_more(kind: str, project_root: Path, tmp_path: Path) -> None:
    create_key(str(tmp_path / "key"))
    path = project_root / "config" / "sros2" / "policy.xml"
    said, heard, served = set(), set(), set()
    key = {"authority.key_file": str(tmp_path / "key")}
    told = []
    for parameters in KINDS[kind]:
        command = [sys.executable, "-c", ALONE, kind, json.dumps(key | parameters)]
        # A domain of its own: a node of the same name that another test left would be taken for this one.
        own = environment(free_domain())
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, cwd=tmp_path, env=own)
        assert done.returncode == 0, done.stderr
        told += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(told) == len(KINDS[kind])
    name = told[0][0]
    for _, publishers, subscribers, services in told:
        said |= set(publishers)
        heard |= set(subscribers)
        served |= set(services)
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
