# SPDX-License-Identifier: Apache-2.0
"""Nodes that cannot start, run in this process: that an executable's status is what `main` returns is tested once."""

from __future__ import annotations

import importlib
import signal

import pytest


def refusal(node: str, *words: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit status and stderr of a node that is started with words after --ros-args."""
    handler = signal.getsignal(signal.SIGINT)  # an executable takes it for itself
    try:
        status = importlib.import_module(f"sysid_nodes.ros.nodes.{node}").main(["--ros-args", *words])
    finally:
        signal.signal(signal.SIGINT, handler)
    return status, capfd.readouterr().err
