# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

import rclpy
from rclpy.executors import SingleThreadedExecutor

from sysid_nodes.ros.spinning import make_executor, spin

pytestmark = pytest.mark.ros


@pytest.fixture
def context() -> Iterator[None]:
    rclpy.init()
    yield
    rclpy.try_shutdown()


def test_an_older_ros_gets_the_single_threaded_executor(context: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rclpy.experimental", None)
    executor = make_executor()
    assert isinstance(executor, SingleThreadedExecutor)
    executor.shutdown()


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("by_context", [False, True], ids=["condition", "shutdown"])
def test_spinning_serves_timers_and_ends_when_told(
    context: None, monkeypatch: pytest.MonkeyPatch, older: bool, by_context: bool
) -> None:
    if older:
        monkeypatch.setitem(sys.modules, "rclpy.experimental", None)
    node = rclpy.create_node("spun")
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(len(ticks))
        if by_context and len(ticks) == 3:
            rclpy.shutdown()

    node.create_timer(0.01, tick)
    spin(node, lambda: len(ticks) >= 3 and not by_context)
    assert len(ticks) >= 3
    node.destroy_node()


INTERRUPTED_START = """
import os, signal, rclpy
from rclpy.context import Context
from sysid_nodes.ros.spinning import run_node

begin = Context.init

def interrupted(context, *args, **options):
    signal.raise_signal(signal.SIGINT)
    begin(context, *args, **options)
    signal.raise_signal(signal.SIGINT)

Context.init = interrupted

def serve(node):
    print("served", rclpy.ok())

raise SystemExit(run_node("a_node", lambda: rclpy.create_node("a_node"), serve, []))
"""


def test_an_interrupt_while_ros_starts_ends_the_node() -> None:
    """rclpy takes it from when its context is there: one before went unheard, and the node stayed."""
    command = [sys.executable, "-c", INTERRUPTED_START]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
