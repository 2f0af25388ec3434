# SPDX-License-Identifier: Apache-2.0
"""The player and a node that identifies, which is not the interval identifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.srv", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.srv import Save
from rclpy.node import Node
from sensor_msgs.msg import JointState

from sysid_nodes.logs.writer import BagWriter, stamp_fields
from sysid_nodes.ros.diagnostics import OK, diagnostic_status
from sysid_nodes.ros.nodes.bag_player import BagPlayerNode
from sysid_nodes.sessions.live_session import SessionHealth

pytestmark = pytest.mark.ros

COUNT = 100
IDENTIFIER = "spi_identifier"


class SlowIdentifier:
    """Takes one message between two reports, as if the others were still on their way; one report in a call."""

    def __init__(self, node: Node) -> None:
        self.sent = self.taken = 0
        self.taken_at_save = -1
        self._node, self._diagnostics = node, node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        node.create_subscription(JointState, "/joint_states", self._receive, 100)
        node.create_service(Save, f"/{IDENTIFIER}/save", self._save)

    def _receive(self, _: JointState) -> None:
        self.sent += 1

    def _save(self, request: Save.Request, response: Save.Response) -> Save.Response:
        self.taken_at_save = self.taken
        response.success, response.path = True, request.path
        return response

    def report(self) -> None:
        self.taken = min(self.taken + 1, self.sent)
        health = SessionHealth(
            active=True,
            received={"/joint_states": self.taken},
            silent=(),
            waiting=0,
            overflowed=0,
            rejected={},
            rejected_now=(),
            solve_time=0.0,
            fault="",
        )
        status = diagnostic_status(f"{IDENTIFIER}: identification", OK, "", health.values())
        self._diagnostics.publish(DiagnosticArray(status=[status]))


def test_the_result_is_saved_when_any_identifier_has_worked_through_everything(bench: Any, tmp_path: Path) -> None:
    with BagWriter(tmp_path / "bag") as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        for k in range(COUNT):
            t = 1.0 + 0.001 * k
            fields = {"header": {"stamp": stamp_fields(t)}, "name": ["a"], "position": [0.1]}
            bag.write("/joint_states", round(1e9 * t), fields)
    identifier = SlowIdentifier(bench.tester)
    options = {"bag": str(tmp_path / "bag"), "identifier": IDENTIFIER, "save": str(tmp_path / "result.json")}
    player = bench.add(BagPlayerNode, options)
    bench._executor.remove_node(player)  # it spins itself

    def stopped() -> bool:
        """Asked again and again while the player waits: the other node's turn."""
        bench._executor.spin_once(0.0)
        if identifier.sent:
            identifier.report()
        return False

    player.play(stopped)
    assert identifier.sent == COUNT
    assert identifier.taken_at_save == COUNT
