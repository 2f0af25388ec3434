# SPDX-License-Identifier: Apache-2.0
"""Waiting for events in a ROS graph that the test itself spins."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300.0
"""Longest wait for anything [s]: discovery takes up to 2.4 s, a busy machine multiplies. Reached only on failure."""


def spin_until(executor: Any, condition: Callable[[], Any], state: Callable[[], str] = str) -> None:
    """Spins an executor until a condition holds.

    Args:
        executor: of rclpy.
        condition: is asked again after every event.
        state: words for what is known, should it never hold.

    Raises:
        AssertionError: it does not within PATIENCE.
    """
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE:g} s in vain for {_words(condition)}; {state()}")
        executor.spin_once(0.02)


def _words(condition: Callable[[], Any]) -> str:
    try:
        return " ".join(inspect.getsource(condition).split())
    except (OSError, TypeError):  # built in
        return repr(condition)
