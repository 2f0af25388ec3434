# SPDX-License-Identifier: Apache-2.0
"""Experiments (a), (b) and (c) of the paper: start, goal and obstacles of the comparison's motions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sysid_nodes.data.scene import Scene, load_scene

_SCENES = Path(__file__).resolve().parents[1] / "config" / "scenes"


@dataclass(frozen=True)
class Experiment:
    """Purpose of a motion.

    Attributes:
        name: of the paper's experiment.
        title: in words.
        scene: file in config/scenes.
        start, middle, goal: (7,) postures [rad]; the middle one is a first guess.
        stretch: first guess of the first curve's own duration over that of the motion.
        duration: of the motion [s].
        clearance: distance asked for [m]: from the largest dumbbell's room, 2 cm of grasp error around it included.
        least: lightest dumbbell it is done with [lb].
    """

    name: str
    title: str
    scene: str
    start: tuple[float, ...]
    middle: tuple[float, ...]
    goal: tuple[float, ...]
    stretch: float
    duration: float
    clearance: float = 0.055
    least: float = 0.0

    def surroundings(self) -> Scene:
        """Its obstacles."""
        return load_scene(_SCENES / self.scene)


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        "a",
        "low obstacle, platform at 0.25 m",
        "kinova_low.yaml",
        (-1.376, 0.380, 2.663, -1.344, 0.629, -1.539, -0.481),
        (-0.746, 0.011, 2.961, -1.229, 0.615, -1.562, -0.348),
        (-0.041, 0.219, 3.163, -1.802, 0.023, -1.570, -0.035),
        0.89,
        2.0,
    ),
    Experiment(
        "b",
        "high obstacle, platform at 0.50 m",
        "kinova_high.yaml",
        (-0.168, -0.425, 2.001, -2.049, 1.754, 0.172, -0.061),
        (-0.542, -0.613, 2.972, -1.362, 0.905, 0.292, -0.863),
        (-0.617, 0.173, 3.786, -1.990, -0.045, -0.389, -1.806),
        0.81,
        3.0,
    ),
)
EXPERIMENTS += (
    replace(
        EXPERIMENTS[1],
        name="c",
        title="8 lb close by",
        scene="kinova_narrow.yaml",
        duration=3.5,
        clearance=0.03,
        least=8.0,
    ),
)
