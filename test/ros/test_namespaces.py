# SPDX-License-Identifier: Apache-2.0
"""Two robots of a kind side by side: in a namespace no node says or hears anything outside it."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from rclpy.parameter import Parameter

from sysid_nodes.ros.nodes.actuator_identifier import ActuatorIdentifierNode
from sysid_nodes.ros.nodes.certified_planner import CertifiedPlannerNode
from sysid_nodes.ros.nodes.exploration_planner import ExplorationPlannerNode
from sysid_nodes.ros.nodes.interval_identifier import IntervalIdentifierNode
from sysid_nodes.ros.nodes.prime_estimator import PrimeEstimatorNode
from sysid_nodes.ros.nodes.robust_controller import RobustControllerNode
from sysid_nodes.ros.nodes.simulated_arm import SimulatedArmNode
from sysid_nodes.ros.nodes.simulated_drives import SimulatedDrivesNode
from sysid_nodes.ros.nodes.simulated_legged_robot import SimulatedLeggedRobotNode
from sysid_nodes.ros.nodes.spi_identifier import SpiIdentifierNode

pytestmark = pytest.mark.ros

SHARED = {"/diagnostics", "/rosout", "/parameter_events", "/clock", "/tf", "/tf_static"}
"""Meant for all by ROS's own conventions."""

WAITING = {"autostart": False}
TRACKING = {"tracking.position_error": [0.01], "tracking.velocity_error": [0.1]}
NODES: list[tuple[Any, dict[str, Any]]] = [
    (ActuatorIdentifierNode, WAITING | {"actuators.law.stiffness": [20.0], "actuators.law.damping": [1.0]}),
    (CertifiedPlannerNode, WAITING),
    (CertifiedPlannerNode, WAITING | TRACKING | {"certified_planner.output": "position"}),
    (ExplorationPlannerNode, WAITING),
    (IntervalIdentifierNode, WAITING),
    (PrimeEstimatorNode, WAITING),
    (RobustControllerNode, WAITING | {"controller.recertify": False}),
    (SimulatedArmNode, {}),
    (SimulatedDrivesNode, {}),
    (SimulatedLeggedRobotNode, {"truth_topics": True}),
    (SimulatedLeggedRobotNode, {"motion": "commanded", "drive.enabled": True}),
    (SpiIdentifierNode, WAITING),
]


@pytest.mark.parametrize(("kind", "parameters"), NODES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_node_keeps_to_its_namespace(kind: Any, parameters: dict[str, Any]) -> None:
    rclpy.init()
    try:
        overrides = [Parameter(name, value=value) for name, value in parameters.items()]
        node = kind(namespace="left", parameter_overrides=overrides)
        if "autostart" in parameters:
            node.trigger_configure()
            node.trigger_activate()
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
