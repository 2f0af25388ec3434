# SPDX-License-Identifier: Apache-2.0
"""Configuration of the processes of the exploration's demo: small enough for two cores and two minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from sysid_nodes.simulation.legged.scenario import COMMANDED

DURATION = 8.0  # of the plan [s]
STRENGTH = (22.5, 25.0, 23.5)  # of hips, thighs and calves [N m], as the paper found them
LOAD_POSITION = (-0.12, 0.0, 0.06)  # at the rear [m]
DEFAULT_LOAD = 4.7  # [kg], the paper's


def write_nodes_file(path: Path, policy: str = "") -> None:
    """Parameter file of identifier and planner, also for `sysid replay`; with the file of a trained policy or none."""
    values: dict[str, Any] = {
        "robot": "go2",
        "least": 5.0,
        "exploration": {
            "duration": DURATION,
            "search": {"iterations": 2, "population": 6, "clips": 2, "draws": 3, "random": 1},
            "vetting": {"draws": 24},
            **({"walking": {"policy": policy}} if policy else {}),
        },
    }
    head = "# Of spi_identifier and exploration_planner, and of sysid replay.\n"
    path.write_text(head + yaml.safe_dump({"/**": {"ros__parameters": values}}, sort_keys=False), encoding="utf-8")


def simulated_robot(load: float = DEFAULT_LOAD) -> dict[str, Any]:
    """Parameters of a simulated Go2 that obeys commands and hides a load [kg] and its motors.

    Its steps, ground and friction differ from those of the identifier's simulations. These are extrapolated to no step,
    as robots have none: one that moved in steps of 1 ms seemed to have 2 % less roll inertia than it has.
    """
    return {
        "robot": "go2",
        "motion": COMMANDED,
        "load.mass": float(load),
        "load.position": list(LOAD_POSITION),
        "drive.enabled": True,
        "drive.strength": list(STRENGTH),
        "drive.coulomb": 0.1,
        "ground.time_constant": 0.012,
        "timestep": 0.0005,
        "history": 1.0,
    }


def robot_parameters(seed: int, load: float, truth: Path, policy: str = "") -> dict[str, Any]:
    """The same for the demo, two underscores for a dot; it waits for two listeners and writes the truth to a file."""
    own = {name.replace(".", "__"): value for name, value in simulated_robot(load).items()}
    own["walking__policy"] = policy
    return own | {"seed": seed % 2**31, "listeners": 2, "reliability": "reliable", "truth_file": truth}
