# SPDX-License-Identifier: Apache-2.0
"""A robot that falls in a log: what its readings of the base's orientation say, before anything is estimated.

Ground under anything but feet is a force that no contact point gives. A whole log with a fall in it fits nothing, takes
ten times as long, and of constants tells what the fall did to them. So the log ends where the robot begins to lean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.rotations import quaternion_matrix
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.samples import AlignedSteps, Samples

Array = npt.NDArray[np.float64]

FALL = "fall"
"""Kind of the finding."""

_ORIENTATIONS = ("imu_orientation", "mocap_pose")
"""Sensors whose readings end with a quaternion of the base, x, y, z, w."""

_FALLEN, _BEGINS = 1.0, 0.15
"""Lean against how the base stood at first that is a fall, and at which it begins [rad]. Nobody walks at 57 degrees."""


class Fall(NamedTuple):
    """When a robot falls.

    Attributes:
        stages: before it.
        t: stamp of the first stage that is not before it [s].
        lean: that it reaches [rad].
    """

    stages: int
    t: float
    lean: float

    def describe(self, start: float) -> Finding:
        """Of a log that starts at a stamp [s]."""
        line = (
            f"the robot falls {self.t - start:.1f} s into the log, where its base leans by up to "
            f"{np.degrees(self.lean):.0f} degrees: nothing is estimated from there on"
        )
        return Finding(FALL, "robot", self.t, line)


def find_fall(steps: AlignedSteps, normal: Sequence[float]) -> Fall | None:
    """The first fall in a log; None where the base leans little, or nothing tells how it is oriented.

    Args:
        steps: of the log.
        normal: (3,) of the ground in the world.
    """
    readings = next((own for name in _ORIENTATIONS if (own := steps.samples.get(name)) is not None and len(own)), None)
    if readings is None:
        return None
    lean = _leans(readings, np.asarray(normal))
    fallen = lean > _FALLEN
    if not fallen.any():
        return None
    worst = int(np.argmax(fallen))
    upright = np.flatnonzero(lean[:worst] < _BEGINS)  # the first reading is
    stage = int(readings.steps[upright[-1]]) + 1
    return Fall(stage, float(steps.times[stage]), float(lean[worst:].max()))


def _leans(readings: Samples, normal: Array) -> Array:
    """(K,) angles between the normal and the axis of the base that was along it at first [rad]."""
    rotation = quaternion_matrix(readings.values[:, -4:])
    return np.asarray(np.arccos(np.clip(rotation @ (rotation[0].T @ normal) @ normal, -1.0, 1.0)))


def first_stages(steps: AlignedSteps, count: int) -> AlignedSteps:
    """So many steps of a log and what was read at them."""
    samples: Mapping[str, Samples] = {name: own.between(0, count) for name, own in steps.samples.items()}
    return replace(steps, times=steps.times[:count], samples=dict(samples))
