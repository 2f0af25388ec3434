# SPDX-License-Identifier: Apache-2.0
"""Configuration of the processes of the exploration's demo: small enough for two cores and a minute and a half."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DURATION = 8.0  # of the plan [s]
STRENGTH = (22.5, 25.0, 23.5)  # of hips, thighs and calves [N m], as the paper found them
LOAD_POSITION = (-0.12, 0.0, 0.06)  # at the rear [m]
DEFAULT_LOAD = 4.7  # [kg], the paper's


def write_nodes_file(path: Path) -> None:
    """Parameter file of identifier and planner, also for `sysid replay`."""
    values: dict[str, Any] = {
        "robot": "go2",
        "least": 5.0,
        "sampling": {"horizons": {"lengths": [0.03, 0.1], "clips": [20, 16], "iterations": [6, 3], "settling": 5}},
        "exploration": {
            "duration": DURATION,
            "search": {"iterations": 3, "population": 6, "clips": 2, "draws": 3, "random": 6},
            "vetting": {"draws": 32},
        },
    }
    head = "# Of spi_identifier and exploration_planner, and of sysid replay.\n"
    path.write_text(head + yaml.safe_dump({"/**": {"ros__parameters": values}}, sort_keys=False), encoding="utf-8")


def robot_parameters(seed: int, load: float, truth: Path) -> dict[str, Any]:
    """Parameters of the simulated robot, two underscores for a dot.

    Its steps, ground and friction differ from those of the identifier's simulations.
    """
    return {
        "robot": "go2",
        "motion": "commanded",
        "seed": seed % 2**31,
        "load__mass": float(load),
        "load__position": list(LOAD_POSITION),
        "drive__enabled": True,
        "drive__strength": list(STRENGTH),
        "drive__coulomb": 0.1,
        "ground__time_constant": 0.012,
        "timestep": 0.001,
        "listeners": 2,
        "reliability": "reliable",
        "history": 1.0,
        "truth_file": truth,
    }
