# SPDX-License-Identifier: Apache-2.0
"""A stream that is stamped later, or earlier, than its configured delay says, by a constant that is estimated.

A reading that is d late tells of the motion at t - d. What it would have been at its stamp follows from the derivatives
of the readings about it,

    y(t) + d y'(t) + d^2 y''(t) / 2 + ...:

the readings are moved, and the sensor's own model stays as it is, without further stages. Of vectors it is a quartic
by five of them, half a step apart: means over a step or two are smooth, and have little that changes faster. A swing
of 20 Hz is moved by up to 8 ms to 0.3 %, one of 30 Hz to 2 %, and noise of means over a step, white in the readings,
keeps its size to 4 % up to 5 ms, over two to 1 %: noise that a delay averages would fit best there. By five of them a
step apart, a whole log of a Go2 whose IMU was 4 to 8 ms late had delays up to 1 ms too large, 5 sigmas, and products
of inertia up to 3.9 sigmas off; by the slope alone, moments of inertia 6 % too small. Places and orientations are of
slower motion, and noisy: they have the slope of a line through more of them.

A slope to one side alone has a reading's own noise in it, which passes for a delay: if the stages that leave a moving
window had such, poses of 2 mm would be half a millisecond late of a Go2 that walks, and 6 ms of a G1. There readings
keep the rates of when their neighbours were all there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.models import rotations
from sysid_nodes.sensors.sensor import Array, Linearisation, Sensor, States, StaticParameter
from sysid_nodes.signals.channel_config import ChannelConfig, ValueKind
from sysid_nodes.signals.samples import Indices, Samples

DELAY = "delay_error"
"""Name of the parameter, after its sensor's."""

_LINE = {ValueKind.VECTOR: 1, ValueKind.ROTATION: 2, ValueKind.POSE: 5}
"""Steps to either side that a line is laid through: poses are noisy, and the base is slow."""

_STENCIL = np.array([[2, -16, 0, 16, -2], [-2, 32, -60, 32, -2], [-12, 24, 0, -24, 12], [24, -96, 144, -96, 24]]) / 24.0
"""First to fourth derivative, in half steps, of the polynomial through a vector and those half a step and a step to
either side."""

_ORDERS, _FACTORIALS = np.arange(1, 5), np.array([1.0, 2.0, 6.0, 24.0])


@dataclass(frozen=True)
class LateConfig(ChannelConfig):
    """One stream of measurements whose clock is not exactly that of the joints."""

    delay_sigma: float = option(
        3e-3,
        "prior standard deviation of an error of the delay against the joints', which is then estimated; 0: exact",
        unit="s",
        minimum=0.0,
    )


@dataclass(frozen=True)
class LateSensor:
    """A sensor whose readings are late by the last of its parameters [s].

    Attributes:
        inner: the sensor in time.
        sigma: prior standard deviation of the delay [s].
    """

    inner: Sensor
    sigma: float

    @property
    def name(self) -> str:
        """Of the sensor in time."""
        return self.inner.name

    @property
    def kind(self) -> ValueKind:
        """Of the sensor in time."""
        return self.inner.kind

    @property
    def width(self) -> int:
        """Of the sensor in time."""
        return self.inner.width

    @property
    def rows(self) -> int:
        """Of the sensor in time."""
        return self.inner.rows

    @property
    def parameters(self) -> tuple[StaticParameter, ...]:
        """Those of the sensor in time, then the delay."""
        delay = StaticParameter(f"{self.name}.{DELAY}", "s", np.zeros(1), np.full(1, self.sigma))
        return (*self.inner.parameters, delay)

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, m) whitened."""
        return self.inner.residual(advance(samples, self.kind, parameters[-1]), states, parameters[:-1])

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobians."""
        found = self.inner.linearise(advance(samples, self.kind, parameters[-1]), states, parameters[:-1])
        if found.reading is None or samples.rates is None:
            slope = np.zeros((*found.residual.shape, 1))
        else:
            slope = found.reading @ changes(samples.rates, parameters[-1])[1][:, :, None]
        by = slope if found.parameters is None else np.concatenate([found.parameters, slope], axis=2)
        return replace(found, parameters=by)


def advance(samples: Samples, kind: ValueKind, by: float) -> Samples:
    """Readings as they would have been a time [s] later; without rates, as they are."""
    if samples.rates is None:
        return samples
    moved = changes(samples.rates, by)[0]
    split = samples.values.shape[1] - (0 if kind is ValueKind.VECTOR else 4)
    places, turns = samples.values[:, :split] + moved[:, :split], samples.values[:, split:]
    if kind is not ValueKind.VECTOR:
        turns = rotations.quaternion_product(turns, rotations.quaternion_exp(moved[:, split:]))
    return replace(samples, values=np.concatenate([places, turns], axis=1))


def changes(rates: Array, by: float) -> tuple[Array, Array]:
    """(K, d) by which readings change in a time [s], and its derivative by that."""
    orders = _ORDERS[: rates.shape[1]]
    terms = by ** (orders - 1) / _FACTORIALS[: len(orders)]
    return np.tensordot(rates, by * terms, (1, 0)), np.tensordot(rates, orders * terms, (1, 0))


def with_rates(samples: Samples, kind: ValueKind, dt: float) -> Samples:
    """Samples with the rates of their readings.

    Vectors and places in their unit a second, orientations as angular velocity in their own axes [rad/s]. A vector
    without neighbours to both sides, or without halves between them, has the slope alone; a reading without any has
    none, and is taken as in time.
    """
    slopes = _slopes(samples, kind, dt)[:, None]
    if kind is not ValueKind.VECTOR:
        return replace(samples, rates=slopes)
    rates = np.concatenate([slopes, np.zeros((len(samples), len(_FACTORIALS) - 1, samples.values.shape[1]))], axis=1)
    if samples.halves is not None:
        inner = 1 + np.flatnonzero(samples.steps[2:] - samples.steps[:-2] == 2)
        values, halves = samples.values, samples.halves
        near = np.stack([values[inner - 1], halves[inner], values[inner], halves[inner + 1], values[inner + 1]], axis=1)
        whole = np.isfinite(near).all(axis=(1, 2))
        rates[inner[whole]] = _STENCIL @ near[whole] / (0.5 * dt) ** _ORDERS[:, None]
    return replace(samples, rates=rates)


def _slopes(samples: Samples, kind: ValueKind, dt: float) -> Array:
    """(K, d) slopes of a line through each reading and those at most a few steps away."""
    steps, values = samples.steps, samples.values
    split = values.shape[1] - (0 if kind is ValueKind.VECTOR else 4)
    count = len(steps)
    pairs = [_readings_apart(steps, away) for away in range(1, _LINE[kind] + 1)]
    early, late = np.concatenate(pairs, axis=1)
    change = values[late, :split] - values[early, :split]
    if kind is not ValueKind.VECTOR:
        back = rotations.quaternion_inverse(values[early, split:])
        turned = rotations.quaternion_log(rotations.quaternion_product(back, values[late, split:]))
        change = np.concatenate([change, turned], axis=1)
    # Of 1, j and j^2 over the neighbours, j steps away, of changes to them and of j times these. Backwards both change
    # their sign: a turn has the same axis in either's axes.
    ones, first_order, squares = np.ones(count), np.zeros(count), np.zeros(count)
    first, moment = np.zeros((2, count, change.shape[1]))
    end = 0
    for away, (here, there) in enumerate(pairs, start=1):
        begin, end = end, end + len(here)
        own = change[begin:end]
        for at, sign in ((here, 1.0), (there, -1.0)):
            ones[at] += 1.0
            first_order[at] += sign * away
            squares[at] += away**2
            first[at] += sign * own
            moment[at] += away * own
    spread = ones * squares - first_order**2
    slope = (ones[:, None] * moment - first_order[:, None] * first) / np.maximum(spread, 1.0)[:, None] / dt
    return np.asarray(slope)


def follow_rates(samples: Samples, known: Samples | None, kind: ValueKind, dt: float) -> Samples:
    """`with_rates` of a window that has got readings at its end and loses others at its beginning.

    Args:
        known: its first readings with their rates. Those with all their neighbours keep them.
    """
    settled = 0
    if known is not None and known.rates is not None and len(known):
        settled = int(np.searchsorted(known.steps, known.steps[-1] - _LINE[kind], side="right"))
    begin = int(np.searchsorted(samples.steps, samples.steps[settled] - _LINE[kind])) if settled < len(samples) else 0
    chosen = begin + np.flatnonzero(samples.usable[begin:])
    told = with_rates(samples.take(chosen), kind, dt).rates
    assert told is not None
    rates, new = np.zeros((len(samples), *told.shape[1:])), chosen >= settled
    if known is not None and known.rates is not None:
        rates[:settled] = known.rates[:settled]
    rates[chosen[new]] = told[new]
    return replace(samples, rates=rates)


def _readings_apart(steps: Indices, away: int) -> tuple[Indices, Indices]:
    """Indices of readings and of those that are `away` steps later."""
    count = len(steps)
    if count and steps[-1] - steps[0] == count - 1:
        return np.arange(max(count - away, 0)), np.arange(away, max(count, away))
    at = np.searchsorted(steps, steps + away)
    found = np.flatnonzero((at < count) & (steps[np.minimum(at, count - 1)] == steps + away))
    return found, at[found]
