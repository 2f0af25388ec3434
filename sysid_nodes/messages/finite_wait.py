# SPDX-License-Identifier: Apache-2.0
"""Keeps a process from hanging for ever when it leaves DDS, see finite_wait.c."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

LIBRARY = Path(__file__).with_name("libfinite_wait.so.1")
"""Built for the ROS wheels alone: the fault is theirs."""


def use_finite_wait() -> None:
    """Has participants that end wait for a minute at most; before rclpy is imported. Does nothing where not built."""
    if LIBRARY.is_file():
        ctypes.CDLL(str(LIBRARY), mode=os.RTLD_GLOBAL)
