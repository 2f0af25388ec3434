# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from sysid_nodes.ros.nodes.actuator_identifier import ActuatorIdentifierNode
from sysid_nodes.ros.nodes.bayesian_identifier import BayesianIdentifierNode
from sysid_nodes.ros.nodes.interval_identifier import IntervalIdentifierNode
from sysid_nodes.ros.nodes.prime_estimator import PrimeEstimatorNode
from sysid_nodes.ros.nodes.spi_identifier import SpiIdentifierNode

NODES = [
    ActuatorIdentifierNode,
    BayesianIdentifierNode,
    IntervalIdentifierNode,
    PrimeEstimatorNode,
    SpiIdentifierNode,
]


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(("running", "lines"), [(True, ["message not used: ValueError: x"]), (False, [])])
def test_failures_are_logged_while_ros_runs(node: Any, running: bool, lines: list[str]) -> None:
    """The worker's thread may outlive the context, whose logger is then gone."""
    said: list[str] = []
    logger = SimpleNamespace(error=said.append)
    stub = SimpleNamespace(context=SimpleNamespace(ok=lambda: running), get_logger=lambda: logger)
    node._complain(stub, "ValueError: x")
    assert said == lines
