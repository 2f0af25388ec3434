# SPDX-License-Identifier: Apache-2.0
"""Configuration of the processes of a legged robot's demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.data.packaged import required_file

VIEW = "rviz/prime.rviz"

DURATION = {"go2": 10.0, "g1": 15.0}
"""Length of each robot's whole programme [s]."""

HEAVIEST = 5.0
"""Of loads that can be asked for [kg]."""

_MASS = (1.5, 4.0)  # of a load that is drawn [kg]
_SIDE = 0.04  # by which it is off the middle at most [m]
_ABOVE = 0.08  # the origin of the body's frame [m]


@dataclass(frozen=True)
class Load:
    """A box that the robot is given and nobody is told about.

    Attributes:
        mass: [kg].
        position: of its centre in the torso's frame [m].
    """

    mass: float
    position: tuple[float, float, float]


def load(seed: int, mass: float | None) -> Load:
    """A box somewhere on the torso, of random mass unless one is given [kg]."""
    rng = np.random.default_rng(seed)
    drawn = float(rng.uniform(*_MASS))
    x, y = rng.uniform(-_SIDE, _SIDE, 2).tolist()
    return Load(drawn if mass is None else mass, (x, y, _ABOVE))


def estimator_file(robot: str) -> Path:
    """The packaged parameter file of the estimator.

    Raises:
        InputError: it is not installed.
    """
    return required_file(f"config/{robot}.yaml")


def robot_parameters(robot: str, carried: Load, seed: int, duration: float, truth: tuple[Path, Path]) -> dict[str, Any]:
    """Parameters of the simulated robot, two underscores for a dot."""
    return {
        "robot": robot,
        "motion": "show",
        "seed": seed % 2**31,
        "duration": float(duration),
        "load__mass": float(carried.mass),
        "load__position": list(carried.position),
        "listeners": 2,
        "truth_file": truth[0],
        "truth_series": truth[1],
        "truth_topics": True,
    }
