# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.ros_endpoints import NODES

from sysid_nodes.ros.identifying_node import IdentifyingNode

IDENTIFYING = dict.fromkeys(kind for kind, _ in NODES if issubclass(kind, IdentifyingNode))


@pytest.mark.parametrize("node", IDENTIFYING)
@pytest.mark.parametrize(("running", "lines"), [(True, ["message not used: ValueError: x"]), (False, [])])
def test_failures_are_logged_while_ros_runs(node: Any, running: bool, lines: list[str]) -> None:
    """The worker's thread may outlive the context, whose logger is then gone."""
    said: list[str] = []
    logger = SimpleNamespace(error=said.append)
    stub = SimpleNamespace(context=SimpleNamespace(ok=lambda: running), get_logger=lambda: logger)
    node._complain(stub, "ValueError: x")
    assert said == lines
