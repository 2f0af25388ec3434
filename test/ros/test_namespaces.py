# SPDX-License-Identifier: Apache-2.0
"""In a namespace no node says or hears anything outside it, and the page of topics says how each is sent and heard."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from shared.ros_endpoints import NODES, endpoints, make_node

from sysid_nodes.ros import nodes

pytestmark = pytest.mark.ros

SHARED = {"/diagnostics", "/rosout", "/parameter_events", "/clock", "/tf", "/tf_static"}
"""Meant for all by ROS's own conventions."""


def test_every_node_but_the_player_of_bags_is_looked_at() -> None:
    """Which has nothing to do without a recording."""
    files = {module.name for module in pkgutil.iter_modules(nodes.__path__)}
    assert files == {kind.__module__.rpartition(".")[2] for kind, _ in NODES} | {"bag_player"}


@pytest.mark.parametrize(("kind", "parameters"), NODES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_node_keeps_to_its_namespace(kind: Any, parameters: dict[str, Any]) -> None:
    rclpy.init()
    try:
        node = make_node(kind, parameters, "left")
        name = node.get_name()
        endpoints = (
            node.get_publisher_names_and_types_by_node(name, "/left"),
            node.get_subscriber_names_and_types_by_node(name, "/left"),
            node.get_service_names_and_types_by_node(name, "/left"),
            node.get_client_names_and_types_by_node(name, "/left"),
        )
        used = {endpoint for found in endpoints for endpoint, _ in found}
        assert any(endpoint.startswith(f"/left/{name}/") for endpoint in used)
        assert not [endpoint for endpoint in used - SHARED if not endpoint.startswith("/left/")]
        if hasattr(node, "release"):
            node.release()
        node.destroy_node()
    finally:
        rclpy.shutdown()


def test_the_page_says_how_every_topic_is_sent_and_heard(project_root: Path) -> None:
    rows = re.findall(
        r"^\| `([a-z_]+)` \| `([^`]+)` \| (in|out) \| ([a-z ]+) \|",
        (project_root / "docs" / "ros.md").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    found = set()
    rclpy.init()
    try:
        for kind, parameters in NODES:
            node = make_node(kind, parameters)
            found |= {(node.get_name(), *end) for end in endpoints(node)}
            if hasattr(node, "release"):
                node.release()
            node.destroy_node()
    finally:
        rclpy.shutdown()
    assert set(rows) == {row for row in found if row[1] != "diagnostics"}
