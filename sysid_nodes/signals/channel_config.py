# SPDX-License-Identifier: Apache-2.0
"""Assumptions about one stream of measurements, whatever it measures."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sysid_nodes.data.config import option


class ValueKind(Enum):
    """Components of a reading."""

    VECTOR = "vector"
    ROTATION = "rotation"
    """A unit quaternion x, y, z, w."""
    POSE = "pose"
    """A position and a unit quaternion."""


class Window(Enum):
    """Which part of a signal a step at t_k takes, the grid being dt wide.

    An estimator whose velocity is v_k = (q_k - q_{k-1}) / dt compares v_k with the mean BEFORE t_k. The second
    difference of q about t_k is the mean of the acceleration AROUND t_k, weighted by a triangle over both steps: what
    torques and accelerometers have to be averaged with (POINT misses what happens between two steps, an impact say).
    """

    POINT = "point"
    """The value at t_k."""
    BEFORE = "before"
    """The mean over [t_k - dt, t_k]."""
    AFTER = "after"
    """The mean over [t_k, t_k + dt]."""
    AROUND = "around"
    """The mean over [t_k - dt, t_k + dt] with weights that fall linearly from t_k to both ends."""


WINDOWS = tuple(window.value for window in Window)


@dataclass(frozen=True)
class ChannelConfig:
    """One stream of measurements; its stamps are the sensor's."""

    enabled: bool = option(True, "whether the stream is used")
    rate: float = option(500.0, "rate that the stream should have", unit="Hz", minimum=0.1, maximum=1e5)
    delay: float = option(
        0.0, "how much earlier than its stamp a reading was true", unit="s", minimum=-1.0, maximum=1.0
    )
    max_gap: float = option(
        0.02, "readings farther apart are not connected: steps in between go without", unit="s", minimum=1e-4
    )
    disorder: float = option(
        0.0,
        "how late a reading may come after a newer one of its stream; every step waits for it",
        unit="s",
        minimum=0.0,
    )
    averaged: bool = option(
        False, "whether a reading is the mean since the reading before it, not the value at its stamp"
    )
    white: bool = option(True, "whether noise of successive readings is independent, so that means of them are better")
    largest: float = option(1e6, "a reading with a larger component is garbage", minimum=0.0)
    window: str = option(Window.POINT.value, "part of the signal that a step takes", choices=WINDOWS)
