# SPDX-License-Identifier: Apache-2.0
"""Configuration of the processes of the actuators' demo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DURATION, AFTER = 20.0, 12.2
"""Of the motion, and of the one after the change [s]; the last window needs what follows it."""

LEG = "FL_"

_STIFFNESS, _DAMPING = 20.0, 1.0  # that the drives are told [N m/rad, N m s/rad]


def write_identifier_file(path: Path) -> None:
    """The identifier's parameter file, also for `sysid replay`."""
    values = {
        "robot": "go2",
        "joints": LEG,
        "commands": "/joint_commands",
        "actuators": {"law": {"stiffness": [_STIFFNESS], "damping": [_DAMPING]}, "oracle": {"beside": True}},
    }
    head = "# Of actuator_identifier, and of sysid replay.\n"
    path.write_text(head + yaml.safe_dump({"/**": {"ros__parameters": values}}, sort_keys=False), encoding="utf-8")


def robot_parameters(seed: int, change: str, duration: float, truth: Path) -> dict[str, Any]:
    """Parameters of the simulated leg, two underscores for a dot."""
    return {
        "joints": LEG,
        "seed": seed % 2**31,
        "change": change,
        "chirp__duration": float(duration),
        "chirp__last": 4.0,
        "chirp__amplitude": 0.25,
        "change_duration": AFTER,
        "listeners": 2,
        "truth_file": truth,
    }
