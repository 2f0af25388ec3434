# SPDX-License-Identifier: Apache-2.0
"""A robot that falls: what its readings of the base's orientation say, before anything is estimated.

Ground under anything but feet is a force that no contact point gives. A whole log with a fall in it fits nothing, takes
ten times as long, and of constants tells what the fall did to them. So the log ends where the robot begins to lean.
Live and in a replay of the live node nothing is believed from where the fall shows until the robot has stood again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.rotations import quaternion_matrix
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.samples import AlignedSteps, Samples

Array = npt.NDArray[np.float64]

FALL, FALLEN = "fall", "fallen"
"""Kinds of findings: a log was left out from a fall on; a robot lies, and is listened to."""

_ORIENTATIONS = ("imu_orientation", "mocap_pose")
"""Sensors whose readings end with a quaternion of the base, x, y, z, w."""

_FALLEN, _BEGINS, _STANDS = 1.0, 0.15, 0.4
"""Lean against how the base stood at first that is a fall, at which it begins, and within which a robot stands again,
be it on a slope [rad]. Nobody walks at 57 degrees."""

_LASTS = 0.03
"""Time for which readings have to say so: single ones are garbage [s]."""

_ROUNDING = 1e-6
"""Of differences of stamps [s]."""


class Fall(NamedTuple):
    """When a robot falls.

    Attributes:
        upright: stamp of the last reading that is before it [s].
        lean: that it reaches [rad].
    """

    upright: float
    lean: float


class FallWatch:
    """Listens to readings as they come.

    Args:
        normal: (3,) of the ground in the world.
        held: time for which a fallen robot has to stand to be believed again [s]; infinite: it never is.

    Attributes:
        fall: that was seen and is not over; None while the robot stands.
    """

    def __init__(self, normal: Sequence[float], held: float = math.inf) -> None:
        self._normal, self._held = np.asarray(normal, dtype=np.float64), held
        self._along: dict[str, Array] = {}  # axis of the base that was along the normal at first, by sensor
        self._upright = -math.inf  # stamp of the last reading without any lean
        self._leaning = self._standing = math.nan  # stamps since when it leans too much, or has stood again
        self.fall: Fall | None = None

    def take(self, steps: AlignedSteps) -> None:
        """Takes the readings of the next steps."""
        name = next((name for name in _ORIENTATIONS if len(steps.samples.get(name, ()))), None)
        if name is None:
            return
        readings = steps.samples[name]
        for t, lean in zip(steps.times[readings.steps].tolist(), self._leans(name, readings).tolist(), strict=True):
            self._look(t, lean)

    def restart(self) -> None:
        """Stamps may have jumped, or residuals contradict that it stands, as on its belly: that lasts from now on."""
        self._leaning = self._standing = math.nan

    def finding(self, now: float) -> Finding | None:
        """The fall in words, at a time [s]; None while the robot stands."""
        if self.fall is None:
            return None
        line = (
            f"the robot has fallen: its base leans by up to {np.degrees(self.fall.lean):.0f} degrees; nothing is "
            f"believed until it has stood for {self._held:g} s or the estimator is reset"
        )
        return Finding(FALLEN, "robot", now, line)

    def _leans(self, name: str, readings: Samples) -> Array:
        """(K,) angles between the normal and the axis of the base that was along it at first [rad]."""
        rotation = quaternion_matrix(readings.values[:, -4:])
        along = self._along.setdefault(name, rotation[0].T @ self._normal)
        return np.asarray(np.arccos(np.clip(rotation @ along @ self._normal, -1.0, 1.0)))

    def _look(self, t: float, lean: float) -> None:
        if not lean > _FALLEN:
            self._leaning = math.nan
        elif math.isnan(self._leaning):
            self._leaning = t
        if self.fall is not None:
            self._rise(t, lean)
        elif t - self._leaning >= _LASTS - _ROUNDING:
            self.fall, self._standing = Fall(self._upright, lean), math.nan
        elif lean < _BEGINS:
            self._upright = t

    def _rise(self, t: float, lean: float) -> None:
        """Follows a robot that has fallen."""
        assert self.fall is not None
        self.fall = self.fall._replace(lean=max(self.fall.lean, lean))
        if lean > _STANDS:
            self._standing = math.nan
        elif math.isnan(self._standing):
            self._standing = t
        if t - self._standing >= self._held:
            self.fall, self._upright = None, t


class LogFall(NamedTuple):
    """A fall in a log.

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


def find_fall(steps: AlignedSteps, normal: Sequence[float]) -> LogFall | None:
    """The first fall in a log; None where the base leans little, or nothing tells how it is oriented.

    Args:
        steps: of the log.
        normal: (3,) of the ground in the world.
    """
    watch = FallWatch(normal)
    watch.take(steps)
    if watch.fall is None:
        return None
    stage = int(np.searchsorted(steps.times, watch.fall.upright, side="right"))
    return LogFall(stage, float(steps.times[stage]), watch.fall.lean)


def with_constants_of(estimate: PrimeEstimate, before: PrimeEstimate) -> PrimeEstimate:
    """An estimate of a robot that lies, with the constants from before: what it lies on is no contact point's doing."""
    return replace(
        estimate,
        bodies=before.bodies,
        parameters=before.parameters,
        parameter_covariance=before.parameter_covariance,
    )


def first_stages(steps: AlignedSteps, count: int) -> AlignedSteps:
    """So many steps of a log and what was read at them."""
    samples: Mapping[str, Samples] = {name: own.between(0, count) for name, own in steps.samples.items()}
    return replace(steps, times=steps.times[:count], samples=dict(samples))


def later_stages(steps: AlignedSteps, first: int) -> AlignedSteps:
    """The steps of a log from one on and what was read at them."""
    samples: Mapping[str, Samples] = {name: own.between(first, len(steps)) for name, own in steps.samples.items()}
    return replace(steps, first=steps.first + first, times=steps.times[first:], samples=dict(samples))
