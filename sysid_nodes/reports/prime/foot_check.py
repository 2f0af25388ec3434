# SPDX-License-Identifier: Apache-2.0
"""Contacts of an estimate beside the feet's own force sensors, which the estimate never sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.logs.foot_force_reader import FootForce
from sysid_nodes.reports.prime.series import PrimeSeries
from sysid_nodes.reports.prime.truth import f1, feet, sum_by_foot
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]

_BAND = 0.03
"""Width of a band of readings, as a share of all but the highest tenth: those of a foot in the air crowd in one or two
bands, on the ground they have as many levels as the robot has gaits."""

_LEAST = 100  # readings
_LOWEST = 6  # bands, in one of which a foot in the air is
_VALLEY = 3.0  # times as many readings in its band as in any of the three bands above its neighbour: of noise alone 1
_SHARE = 0.05  # of the readings that are in its band, at least
_RISE = 0.2  # of the way from there to the median of the others, at which a foot counts as on the ground


@dataclass(frozen=True)
class FootCheck:
    """A foot's sensor beside the estimate.

    Attributes:
        topic: of the sensor.
        compared: stages that have a reading.
        threshold: reading above which the foot counts as on the ground, see `contact_threshold`; None where no level
            stands out below the others, as of a foot that never left the ground.
        f1: of contact; None without a threshold.
        correlation: of reading and normal force; None where one of them does not vary.
    """

    topic: str
    compared: int
    threshold: float | None
    f1: float | None
    correlation: float | None

    def document(self) -> dict[str, Any]:
        """As plain values."""
        return dict(vars(self))


def check_feet(series: PrimeSeries, robot: Robot, forces: Mapping[str, FootForce]) -> dict[str, FootCheck]:
    """Checks of the feet that have a sensor, by their names."""
    names, index = feet(robot)
    normal = sum_by_foot(np.nan_to_num(series.force), index)[..., 2]
    checks = {}
    for name, force in forces.items():
        k = names.index(name)
        down = np.asarray(series.on_ground[:, index == k].any(axis=1))
        checks[name] = _check(series.t, down, normal[:, k], force)
    return checks


def _check(t: Array, down: npt.NDArray[np.bool_], normal: Array, force: FootForce) -> FootCheck:
    order = np.argsort(force.t, kind="stable")
    at, reading = force.t[order], force.reading[order]
    fine = np.isfinite(reading)
    at, reading = at[fine], reading[fine]
    if len(at) < 2:
        return FootCheck(force.topic, 0, None, None, None)
    spacing = float(np.median(np.diff(at)))
    after = np.clip(np.searchsorted(at, t), 1, len(at) - 1)
    nearest = np.where(t - at[after - 1] < at[after] - t, after - 1, after)
    known = np.abs(at[nearest] - t) <= max(2.0 * spacing, float(np.median(np.diff(t))) if len(t) > 1 else 0.0)
    seen = reading[nearest[known]]
    threshold = contact_threshold(seen)
    agreement = None if threshold is None else f1(down[known], seen > threshold)
    varied = len(seen) > 2 and np.ptp(seen) > 0.0 and np.ptp(normal[known]) > 0.0
    correlation = float(np.corrcoef(seen, normal[known])[0, 1]) if varied else None
    return FootCheck(force.topic, int(known.sum()), threshold, agreement, correlation)


def contact_threshold(readings: Array) -> float | None:
    """Reading that tells a foot on the ground from one in the air, of readings (K,) in any unit.

    In the air readings crowd near the bottom, and above them there are few. The threshold is a fifth of the way from
    there to the median of the others. A switch, which is 0 or something else, has it half-way.

    Returns:
        None where nothing crowds there, readings are few, or bands are narrower than the sensor's own steps.
    """
    x, values = np.sort(readings), np.unique(readings)
    if len(x) < _LEAST or len(values) < 2:
        return None
    if len(values) == 2 and values[0] == 0.0:
        return None if min(np.mean(x == 0.0), np.mean(x != 0.0)) < _SHARE else 0.5 * float(values[1])
    bottom, top = np.quantile(x, (0.01, 0.9))
    band = _BAND * (top - bottom)
    if band < np.diff(values).min():
        return None
    edges = bottom + band * np.arange(_LOWEST + 5)
    edges[0] = x[0]
    below = np.searchsorted(x, edges, side="left")
    count = np.diff(below)
    peak = int(np.argmax(count[:_LOWEST]))
    sure = count[peak] - 3.0 * np.sqrt(count[peak])  # what is left of it three deviations of a chance count below
    if count[peak] < _SHARE * len(x) or sure < _VALLEY * count[peak + 2 : peak + 5].max():
        return None
    level = np.median(x[below[peak] : below[peak + 1]])
    return float(level + _RISE * (np.median(x[below[peak + 2] :]) - level))
