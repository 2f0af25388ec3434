# SPDX-License-Identifier: Apache-2.0
"""A stream that is stamped later, or earlier, than its configured delay says, by a constant that is estimated.

A reading that is d late tells of the motion at t - d. What it would have been at its stamp is, to first order, itself
and d times the rate at which the readings change: the readings are moved, and the sensor's own model stays as it is.
The rates are slopes of the readings about each, so that the residual needs no further stage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.models import rotations
from sysid_nodes.sensors.sensor import Array, Linearisation, Sensor, States, StaticParameter
from sysid_nodes.signals.channel_config import ChannelConfig, ValueKind
from sysid_nodes.signals.samples import Samples

DELAY = "delay_error"
"""Name of the parameter, after its sensor's."""

_REACH = {ValueKind.VECTOR: 1, ValueKind.ROTATION: 2, ValueKind.POSE: 5}
"""Steps to either side that a rate is taken from: poses are noisy, and the base is slow."""

_DIFFERENCE = 1e-5
"""Of the delay, for derivatives of the turning readings [s]."""


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
        """The residual and its Jacobians, the delay's by differences: of vectors they are exact."""
        own, delay = parameters[:-1], parameters[-1]
        found = self.inner.linearise(advance(samples, self.kind, delay), states, own)

        def residual(by: float) -> Array:
            return self.inner.residual(advance(samples, self.kind, delay + by), states, own)

        if self.kind is ValueKind.VECTOR:
            slope = residual(1.0) - found.residual
        else:
            slope = (residual(_DIFFERENCE) - residual(-_DIFFERENCE)) / (2.0 * _DIFFERENCE)
        slope = slope[:, :, None]
        by = slope if found.parameters is None else np.concatenate([found.parameters, slope], axis=2)
        return replace(found, parameters=by)


def advance(samples: Samples, kind: ValueKind, by: float) -> Samples:
    """Readings as they would have been a time [s] later; without rates, as they are."""
    if samples.rates is None:
        return samples
    moved = by * samples.rates
    split = samples.values.shape[1] - (0 if kind is ValueKind.VECTOR else 4)
    places, turns = samples.values[:, :split] + moved[:, :split], samples.values[:, split:]
    if kind is not ValueKind.VECTOR:
        turns = rotations.quaternion_product(turns, rotations.quaternion_exp(moved[:, split:]))
    return replace(samples, values=np.concatenate([places, turns], axis=1))


def with_rates(samples: Samples, kind: ValueKind, dt: float) -> Samples:
    """Samples with the rates of their readings: slopes of a line through those at most a few steps away.

    Vectors and places in their unit a second, orientations as angular velocity in their own axes [rad/s]. A reading
    without a neighbour has none, and is taken as in time.
    """
    steps, values, reach = samples.steps, samples.values, _REACH[kind]
    turning = kind is not ValueKind.VECTOR
    split = values.shape[1] - (4 if turning else 0)
    count = len(steps)
    sums = np.zeros((count, 3))  # of 1, j and j^2 over the neighbours, j steps away
    first, moment = np.zeros((2, count, split + (3 if turning else 0)))
    for away in range(-reach, reach + 1):
        at = np.searchsorted(steps, steps + away)
        found = np.flatnonzero((at < count) & (steps[np.minimum(at, count - 1)] == steps + away))
        near = at[found]
        change = values[near, :split] - values[found, :split]
        if turning:
            back = rotations.quaternion_inverse(values[found, split:])
            turned = rotations.quaternion_log(rotations.quaternion_product(back, values[near, split:]))
            change = np.concatenate([change, turned], axis=1)
        sums[found] += np.array([1.0, away, away**2])
        first[found] += change
        moment[found] += away * change
    spread = sums[:, 0] * sums[:, 2] - sums[:, 1] ** 2
    slope = (sums[:, :1] * moment - sums[:, 1:2] * first) / np.maximum(spread, 1.0)[:, None] / dt
    return replace(samples, rates=slope)
