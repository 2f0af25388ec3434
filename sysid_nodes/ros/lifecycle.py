# SPDX-License-Identifier: Apache-2.0
"""Functions that lifecycle nodes share."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

Transition = Callable[[Any, LifecycleState], TransitionCallbackReturn]


def log_exceptions(transition: Transition) -> Transition:
    """Logs what a transition raises; rclpy turns it into the error state without a word."""

    @functools.wraps(transition)
    def wrapped(node: Any, state: LifecycleState) -> TransitionCallbackReturn:
        try:
            return transition(node, state)
        except Exception:
            if node.context.ok():  # otherwise it is the shutdown that the transition met
                node.get_logger().error(traceback.format_exc())
            raise

    return wrapped
