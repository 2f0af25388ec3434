# SPDX-License-Identifier: Apache-2.0
"""Nodes that cannot start, run in this process: that an executable's status is what `main` returns is tested once."""

from __future__ import annotations

import importlib
import signal
from types import SimpleNamespace
from typing import Any

import pytest


def check_refusal(line: str, node: str, *words: str, capfd: pytest.CaptureFixture[str]) -> None:
    """A node that is started with words after --ros-args ends with status 2, and says why in one line."""
    handler = signal.getsignal(signal.SIGINT)  # an executable takes it for itself
    try:
        status = importlib.import_module(f"sysid_nodes.ros.nodes.{node}").main(["--ros-args", *words])
    finally:
        signal.signal(signal.SIGINT, handler)
    errors = capfd.readouterr().err
    assert status == 2, errors
    assert errors.count("\n") == 1, errors
    assert node in errors and line in errors


def check_that_configuring_says(line: str, node: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node of a live session is not configured, and says why in one line."""
    said: list[str] = []
    monkeypatch.setattr(node, "get_logger", lambda: SimpleNamespace(error=said.append, info=lambda _: None))
    node.trigger_configure()
    assert node._live is None
    assert len(said) == 1
    assert line in said[0]
