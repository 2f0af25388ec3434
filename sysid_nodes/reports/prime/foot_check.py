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

_APART = 4.0
"""Distance of the readings' two levels, in the spread of the lower, of a foot in the air, above which there are two:
of noise alone, split at its mean, it is 2.6. Nor is it less than so many of the sensor's own steps, or a reading that
rounds to and fro would be a foot that lifts; but a switch, which is 0 or something else, has one step."""

_SHARE = 0.02  # of the readings that each level has at least
_RISE = 0.2  # of the way from the lower level to the upper, at which a foot counts as on the ground


@dataclass(frozen=True)
class FootCheck:
    """A foot's sensor beside the estimate.

    Attributes:
        topic: of the sensor.
        compared: stages that have a reading.
        threshold: reading above which the foot counts as on the ground, a fifth of the way between the two levels; None
            where there is one level, as of a foot that never left the ground.
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
    threshold = level_threshold(seen)
    agreement = None if threshold is None else f1(down[known], seen > threshold)
    varied = len(seen) > 2 and np.ptp(seen) > 0.0 and np.ptp(normal[known]) > 0.0
    correlation = float(np.corrcoef(seen, normal[known])[0, 1]) if varied else None
    return FootCheck(force.topic, int(known.sum()), threshold, agreement, correlation)


def level_threshold(readings: Array) -> float | None:
    """A fifth of the way between the two levels of readings (K,), medians of two classes whose spread is least (Otsu, A
    threshold selection method from gray-level histograms, 1979); None where there is one level."""
    x = np.sort(readings)
    if len(x) < 2 or x[0] == x[-1]:
        return None
    count, total = np.arange(1, len(x)), np.cumsum(x)
    means = total[:-1] / count, (total[-1] - total[:-1]) / (len(x) - count)
    between = count * (len(x) - count) * (means[1] - means[0]) ** 2
    k = 1 + int(np.argmax(np.where(np.diff(x) > 0.0, between, -1.0)))
    steps = np.diff(x)
    step = 0.0 if x[0] == 0.0 and np.count_nonzero(steps) == 1 else float(steps[steps > 0.0].min())
    apart = means[1][k - 1] - means[0][k - 1]
    if min(k, len(x) - k) < _SHARE * len(x) or apart < _APART * max(x[:k].std(), step):
        return None
    low, high = np.median(x[:k]), np.median(x[k:])
    return float(low + _RISE * (high - low))
