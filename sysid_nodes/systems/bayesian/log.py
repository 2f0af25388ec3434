# SPDX-License-Identifier: Apache-2.0
"""Readings on an even grid: means of what falls into each step, brought to the step's time.

The steps' windows do not overlap, so that white noise stays white. A step without a reading of a kind has not-a-number.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_ORDER = 4  # of differences that show jitter
_NORMAL = 1.4826  # standard deviations of a normal distribution over the median of its absolute values
_CHANCE = 5.4  # four standard deviations of the root mean square of K fourth differences of white noise, times root K

_ROUNDING = 1e-9  # [rad]

LEAST_STAGES = 20
"""Stages that an identification needs."""

SHORT = 150
"""Stages up to which noise of the readings may look like the motion, and like another noise: rotors came out tens of
sigmas too small of 50 stages of a leg, and in 87 % of intervals of 100, while those of 200 held. Over long logs that
the model misses something of, what is done about it does harm: of 464 stages of a real arm it left nothing."""


@dataclass(frozen=True)
class MechanismLog:
    """N stages of a robot with n joints, m of them with a motor.

    Attributes:
        start: stamp of the first stage [s].
        step: between stages [s].
        position: (N, n) [rad]; not a number where a joint was not read.
        torque: (N, m) [N m], likewise.
        power: (N,) drawn from the supply [W], likewise.
        counts: (n,) smallest change from one reading of a position to the next [rad]; None where that is not known.
    """

    start: float
    step: float
    position: Array
    torque: Array
    power: Array
    counts: Array | None = None

    @property
    def stages(self) -> int:
        """N."""
        return len(self.position)

    @property
    def is_short(self) -> bool:
        """Whether noise of its readings may look like its motion (`SHORT`)."""
        return self.stages <= SHORT

    @property
    def t(self) -> Array:
        """(N,) from the first stage [s]."""
        return np.asarray(self.step * np.arange(self.stages, dtype=np.float64))

    @property
    def unread(self) -> npt.NDArray[np.bool_]:
        """(m,) motors no torque of which was read."""
        return np.asarray(np.isnan(self.torque).all(axis=0))

    @property
    def torque_stages(self) -> npt.NDArray[np.bool_]:
        """(N,) stages at which the torques of all motors were read that are read at all."""
        read = ~self.unread
        return np.asarray(np.isfinite(self.torque[:, read]).all(axis=1) & read.any())

    @property
    def torque_rate(self) -> Array:
        """(N, m) of the torques read [N m/s]; zero where a neighbour was not read, and at both ends."""
        rate = np.zeros_like(self.torque)
        rate[1:-1] = (self.torque[2:] - self.torque[:-2]) / (2.0 * self.step)
        return np.nan_to_num(rate)

    @property
    def jitter(self) -> Array:
        """(n,) noise of positions, whatever was stated, by their fourth differences, which motion hardly shows [rad].

        Of joints that were not read, the largest of the others'.
        """
        read = np.any(np.isfinite(self.position), axis=0)
        quick = np.diff(self.position[:, read], _ORDER, axis=0)
        sizes = [np.abs(column[np.isfinite(column)]) for column in quick.T]
        found = np.array([float(np.median(size)) if len(size) else 0.0 for size in sizes])
        found *= _NORMAL / np.sqrt(comb(2 * _ORDER, _ORDER))
        jitter = np.full(len(read), found.max(initial=0.0))
        jitter[read] = found
        return jitter

    @property
    def scatter(self) -> Array:
        """(n,) noise of positions by root mean squares of their fourth differences [rad], outliers included.

        Infinite where too little was read.
        """
        return _scatter(self.position)[0]

    @property
    def torque_scatter(self) -> Array:
        """(m,) the same of torque readings [N m]."""
        return _scatter(self.torque)[0]

    @property
    def power_scatter(self) -> float:
        """The same of the power meter's [W]."""
        return float(_scatter(self.power[:, None])[0][0])

    @property
    def least_noise(self) -> Array:
        """(n,) that white noise of positions has at least [rad], but for one deviation of chance and what outliers add.

        Whatever torques say: a model with smaller inertia would have it that positions are exact and torques noisy.
        """
        found, count = _scatter(self.position)
        least = np.minimum(found, self.jitter) * (1.0 - 0.25 * _CHANCE / np.sqrt(count))
        return np.where(np.isfinite(found), np.maximum(least, 0.0), 0.0)

    @property
    def most_noise(self) -> Array:
        """(n,) that white noise of positions may have at most [rad]; infinite where too little was read."""
        return _most_noise(self.position)

    @property
    def most_torque_noise(self) -> Array:
        """(m,) the same of torque readings [N m]."""
        return _most_noise(self.torque)

    @property
    def stage_error(self) -> Array:
        """(n,) root mean square of what stages' positions differ by from the joint's, however exact readings are [rad].

        With a step h, second differences of q - h^2 a / 12 are h^2 a but for terms of the sixth order, and a mean over
        a step is q + h^2 a / 24: a stage is best off its reading by h^2 a / 8 where readings are many, by two thirds
        of that where there is one a stage.
        """
        change = np.diff(self.position, 2, axis=0)
        count = np.maximum(np.isfinite(change).sum(axis=0), 1)
        return np.asarray(np.sqrt(np.nansum(change**2, axis=0) / count) / 8.0)

    def part(self, first: int, last: int) -> MechanismLog:
        """Stages first..last - 1."""
        own = slice(first, last)
        return MechanismLog(
            self.start + self.step * first,
            self.step,
            self.position[own],
            self.torque[own],
            self.power[own],
            self.counts,
        )


def _scatter(readings: Array) -> tuple[Array, Array]:
    """(w,) noise of readings (N, w) by their fourth differences, to which motion only adds; how many there were."""
    quick = np.diff(readings, _ORDER, axis=0)
    count = np.maximum(np.isfinite(quick).sum(axis=0), 1)
    found = np.sqrt(np.nansum(quick**2, axis=0) / count / comb(2 * _ORDER, _ORDER))
    return np.where(count < LEAST_STAGES, np.inf, found), count


def _most_noise(readings: Array) -> Array:
    """(w,) that white noise of readings (N, w) may have at most: four standard deviations of chance more."""
    found, count = _scatter(readings)
    return np.asarray(found * (1.0 + _CHANCE / np.sqrt(count)))


@dataclass(frozen=True)
class Series:
    """Readings of one kind: stamps (K,) that increase [s], values (K, w)."""

    t: Array
    values: Array


@dataclass(frozen=True)
class Grid:
    """Times start, start + step, ... of `count` stages [s]."""

    start: float
    step: float
    count: int

    @classmethod
    def over(cls, t: Array, step: float) -> Grid:
        """Over all readings' stamps, at least one."""
        return cls(float(t[0]), step, int((t[-1] - t[0]) / step) + 1)


@dataclass(frozen=True)
class Cuts:
    """Impacts (K,) [s from the beginning of a log], in order, and how close to one readings are not used [s]."""

    t: Array
    margin: float


NO_CUTS = Cuts(np.zeros(0), 0.0)


def mechanism_log(
    position: Series, torque: Series, power: Series | None, grid: Grid, cuts: Cuts = NO_CUTS
) -> MechanismLog:
    """The log on a grid.

    Args:
        position, torque, power: readings; None where no power was read.
        grid: the stages.
        cuts: impacts, over which no mean reaches.

    Raises:
        LogError: the log is shorter than some stages, a stamp goes back, or a reading is not a number.
    """
    for series in (position, torque, *([power] if power is not None else [])):
        if np.any(np.diff(series.t) < 0.0):
            raise LogError("stamps go back")
        if not np.isfinite(series.values[:, ~np.all(np.isnan(series.values), axis=0)]).all():
            raise LogError("a reading is not a number")
    if len(position.t) < LEAST_STAGES or position.t[-1] - position.t[0] < LEAST_STAGES * grid.step:
        raise LogError(f"holds less than {LEAST_STAGES} stages of {grid.step:g} s")
    drawn = np.full(grid.count, np.nan) if power is None else _shown_power(power, grid, cuts)
    read = _on_grid(position, grid, cuts), _on_grid(torque, grid, cuts)
    return MechanismLog(grid.start, grid.step, *read, drawn, _counts(position.values))


def _counts(values: Array) -> Array:
    """(w,) smallest change of readings (K, w) but for rounding; 0 where they never change."""
    change = np.abs(np.diff(values, axis=0))
    least = np.min(np.where(change > _ROUNDING, change, np.inf), axis=0)
    return np.where(np.isfinite(least), least, 0.0)


def _shown_power(power: Series, grid: Grid, cuts: Cuts) -> Array:
    """(count,) power [W]; not a number where a meter that never reads less than nothing reads nothing.

    Such a supply takes nothing back: what brakes is burnt or stays in its capacitors, and no reading shows it.
    """
    drawn = _on_grid(power, grid, cuts)[:, 0]
    if power.values.min() == 0.0:
        none = (power.values == 0.0).astype(np.float64)
        drawn[_on_grid(Series(power.t, none), grid, cuts)[:, 0] != 0.0] = np.nan
    return drawn


def _on_grid(series: Series, grid: Grid, cuts: Cuts) -> Array:
    """(count, w) means of the readings nearest to each stage, of its side, moved to its time along the slope there."""
    start, step, count = grid.start, grid.step, grid.count
    nearest = np.round((series.t - start) / step).astype(np.intp)
    side = np.searchsorted(cuts.t, series.t - start)
    ends = np.array([0, *(np.floor(cuts.t / step).astype(np.intp) + 1), count])
    inside = (nearest >= 0) & (nearest < count)
    for t in cuts.t:
        inside &= np.abs(series.t - start - t) > cuts.margin
    index = np.clip(nearest, ends[side], ends[side + 1] - 1)[inside]
    t, values = series.t[inside], series.values[inside]
    number = np.bincount(index, minlength=count).astype(np.float64)
    number[number == 0.0] = np.nan
    mean = np.stack([np.bincount(index, column, count) for column in values.T], axis=1) / number[:, None]
    off = np.bincount(index, t - start, count) / number - step * np.arange(count)
    for first, last in pairwise(ends):
        there = first + np.flatnonzero(np.isfinite(number[first:last]))
        if len(there) >= 3:
            # Next to an impact, means are of times far from their stage's.
            slope = np.gradient(mean[there], step * there + off[there], axis=0, edge_order=2 if len(cuts.t) else 1)
            mean[there] -= slope * off[there, None]
    return mean
