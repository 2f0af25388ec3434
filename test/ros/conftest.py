# SPDX-License-Identifier: Apache-2.0
"""A ROS graph for tests: the node under test and a tester beside it, spun by the test itself, no thread."""

from __future__ import annotations

import gc
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from shared import children
from shared.waiting import spin_until


class Bench:
    """Nodes on one executor, the same kind the executable uses."""

    def __init__(self) -> None:
        import rclpy

        from sysid_nodes.ros.spinning import make_executor

        self.tester = rclpy.create_node("tester")
        self._executor = make_executor()
        self._executor.add_node(self.tester)
        self._nodes = [self.tester]

    def node(self, **parameters: Any) -> Any:
        """An interval identifier, see `add`."""
        from sysid_nodes.ros.nodes.interval_identifier import IntervalIdentifierNode

        return self.add(IntervalIdentifierNode, {"diagnostics_period": 0.1} | parameters)

    def add(self, kind: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
        """A node that waits to be configured, its parameters by name, dots written as two underscores."""
        from rclpy.parameter import Parameter

        given = {"autostart": False} | {name.replace("__", "."): value for name, value in parameters.items()}
        node = kind(parameter_overrides=[Parameter(name, value=value) for name, value in given.items()])
        self._executor.add_node(node)
        self._nodes.append(node)
        return node

    def until(self, condition: Callable[[], Any]) -> None:
        """Spins until the condition holds."""
        spin_until(self._executor, condition)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """The answer of a service."""
        client = self.tester.create_client(kind, name)
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def listen(self, kind: Any, topic: str, profile: Any = 10) -> list[Any]:
        """A list that fills with what is published."""
        heard: list[Any] = []
        self.tester.create_subscription(kind, topic, heard.append, profile)
        return heard

    @staticmethod
    def start(node: Any) -> None:
        """Configures and activates a node."""
        node.trigger_configure()
        node.trigger_activate()

    def close(self) -> None:
        self._executor.shutdown()
        for node in self._nodes:
            if hasattr(node, "release"):
                node.release()
            node.destroy_node()


@pytest.fixture
def bench() -> Iterator[Bench]:
    rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed")
    pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")
    rclpy.init()
    made = Bench()
    yield made
    made.close()
    rclpy.shutdown()


class Executables:
    """Nodes as users run them, a process each; none outlives the test."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[str]] = []

    def start(self, node: str, *words: str) -> subprocess.Popen[str]:
        """Starts a node with words after --ros-args."""
        process = children.start_heard("-m", f"sysid_nodes.ros.nodes.{node}", "--ros-args", *words)
        self.started.append(process)
        return process

    @staticmethod
    def end(process: subprocess.Popen[str], stop: signal.Signals = signal.SIGINT) -> str:
        """Ends a node by a signal; returns what it said on stderr. Checks that it ends well."""
        process.send_signal(stop)
        _, errors = children.finish(process)
        assert process.returncode == 0, errors
        assert "Traceback" not in errors
        return errors


@pytest.fixture
def executables() -> Iterator[Executables]:
    made = Executables()
    yield made
    children.kill(*made.started)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Ends the DDS participants of a test.

    Nodes and contexts form cycles, and a participant lives until its cycle is collected. Each that stays makes
    discovery slower, and on one machine participants beyond the first few dozen are never found.
    """
    if item.get_closest_marker("ros"):
        gc.collect()
