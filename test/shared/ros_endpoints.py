# SPDX-License-Identifier: Apache-2.0
"""Nodes of the package as they are made and configured, and what they publish and subscribe."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

from sysid_nodes.data.config import read_parameters
from sysid_nodes.ros.nodes.actuator_identifier import ActuatorIdentifierNode
from sysid_nodes.ros.nodes.bayesian_identifier import BayesianIdentifierNode
from sysid_nodes.ros.nodes.certified_planner import CertifiedPlannerNode
from sysid_nodes.ros.nodes.exploration_planner import ExplorationPlannerNode
from sysid_nodes.ros.nodes.interval_identifier import IntervalIdentifierNode
from sysid_nodes.ros.nodes.prime_estimator import PrimeEstimatorNode
from sysid_nodes.ros.nodes.robust_controller import RobustControllerNode
from sysid_nodes.ros.nodes.simulated_arm import SimulatedArmNode
from sysid_nodes.ros.nodes.simulated_drives import SimulatedDrivesNode
from sysid_nodes.ros.nodes.simulated_legged_robot import SimulatedLeggedRobotNode
from sysid_nodes.ros.nodes.simulated_linkage import SimulatedLinkageNode
from sysid_nodes.ros.nodes.spi_identifier import SpiIdentifierNode

_WAITING = {"autostart": False}
_TRACKING = {"tracking.position_error": [0.01], "tracking.velocity_error": [0.1]}
_LINKAGE = dict(read_parameters(Path(__file__).resolve().parents[2] / "config" / "fourbar_bayesian.yaml"))
NODES: list[tuple[Any, dict[str, Any]]] = [
    (ActuatorIdentifierNode, _WAITING | {"actuators.law.stiffness": [20.0], "actuators.law.damping": [1.0]}),
    (BayesianIdentifierNode, _WAITING | _LINKAGE),
    (CertifiedPlannerNode, _WAITING),
    (CertifiedPlannerNode, _WAITING | _TRACKING | {"certified_planner.output": "position"}),
    (ExplorationPlannerNode, _WAITING),
    (IntervalIdentifierNode, _WAITING),
    (PrimeEstimatorNode, _WAITING),
    (RobustControllerNode, _WAITING | {"controller.recertify": False}),
    (SimulatedArmNode, {}),
    (SimulatedDrivesNode, {}),
    (SimulatedLinkageNode, {"duration": 1.0}),
    (SimulatedLeggedRobotNode, {"truth_topics": True}),
    (SimulatedLeggedRobotNode, {"motion": "commanded", "drive.enabled": True}),
    (SpiIdentifierNode, _WAITING),
]

_OF_ROS = ("/rosout", "/parameter_events", "/clock", "/transition_event", "/_action/")


def make_node(kind: Any, parameters: dict[str, Any], namespace: str = "") -> Any:
    """The node, listening."""
    overrides = [Parameter(name, value=value) for name, value in parameters.items()]
    node = kind(namespace=namespace, parameter_overrides=overrides)
    if "autostart" in parameters:
        node.trigger_configure()
        node.trigger_activate()
    if kind is CertifiedPlannerNode:
        node._listen_to_joints(True)
    return node


def endpoints(node: Any) -> set[tuple[str, str, str]]:
    """Topic (`~` is the node), in or out, and quality of service in words."""
    found = defaultdict(set)
    for way, ends in (("in", node.subscriptions), ("out", node.publishers)):
        for end in ends:
            if not any(word in end.topic_name for word in _OF_ROS):
                topic = end.topic_name.replace(f"{node.get_fully_qualified_name()}/", "~/").lstrip("/")
                found[topic, way].add(_words(end.qos_profile))
    return {(topic, way, " or ".join(sorted(words))) for (topic, way), words in found.items()}


def _words(profile: Any) -> str:
    if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
        return "latched"
    return "reliable" if profile.reliability == ReliabilityPolicy.RELIABLE else "best effort"
