# SPDX-License-Identifier: Apache-2.0
"""The parts of every measurement model, as an estimator sees them.

A sensor predicts its readings from states and static parameters. Residuals are prediction less measurement, divided by
the noise (whitened), so that a sum of squares over all sensors is a negative log-likelihood times two. Samples are
sparse in time: a missing one is simply not there.

States use pinocchio's conventions for a floating base: q = [base position, quaternion x y z w, joints], v = [linear and
angular velocity of the base in its own frame, joint velocities]. Jacobians are with respect to the tangent of q as
pinocchio.integrate perturbs it (on the right of the base's pose).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.signals.channel_config import ValueKind
from sysid_nodes.signals.samples import Samples

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class States:
    """States at N steps.

    Attributes:
        q: (N, nq) configurations.
        v: (N, nv) velocities.
        a: (N, nv) accelerations, pinocchio's (time derivative of v); only the accelerometer needs them.
        tau: (N, n) torques that the motors apply to the joints [N m]; only the torque sensor needs them.
    """

    q: Array
    v: Array
    a: Array | None = None
    tau: Array | None = None

    def __len__(self) -> int:
        return len(self.q)

    def require(self, name: str, sensor: str) -> Array:
        """``a`` or ``tau``; InputError where the caller left it out."""
        values: Array | None = getattr(self, name)
        if values is None:
            raise InputError(f"sensor '{sensor}' needs the states' '{name}'")
        return values


@dataclass(frozen=True)
class Linearisation:
    """Whitened residuals and their Jacobians at K samples; None stands for a Jacobian that is zero.

    Attributes:
        residual: (K, m).
        q, v, a: (K, m, nv), with respect to the tangent of q, to v and to a of the sample's own state.
        tau: (K, m, n).
        parameters: (K, m, p), with respect to the sensor's static parameters.
        reading: (K, m, d), with respect to the sample's own reading; an orientation's as a small turn (3) in the axes
            that are read. Of sensors whose readings may be late alone.
    """

    residual: Array
    q: Array | None = None
    v: Array | None = None
    a: Array | None = None
    tau: Array | None = None
    parameters: Array | None = None
    reading: Array | None = None

    def whiten(self, scale: Array) -> Linearisation:
        """Everything times scale (K, m): weights over standard deviations."""
        rows = scale[:, :, None]
        return Linearisation(
            self.residual * scale,
            *(
                None if block is None else rows * block
                for block in (self.q, self.v, self.a, self.tau, self.parameters, self.reading)
            ),
        )


@dataclass(frozen=True)
class StaticParameter:
    """Constant unknowns of a sensor, estimated together with the states; they add like vectors.

    Attributes:
        name: e.g. ``gyroscope.bias``.
        unit: of every component.
        mean, sigma: (k,) prior.
    """

    name: str
    unit: str
    mean: Array
    sigma: Array


class Sensor(Protocol):
    """One measurement model. Implementations are frozen; the functions are pure."""

    @property
    def name(self) -> str:
        """Key of its stream and of its section in SensorsConfig."""
        ...

    @property
    def kind(self) -> ValueKind:
        """Kind of a reading: decides how readings are interpolated."""
        ...

    @property
    def width(self) -> int:
        """Numbers in a reading."""
        ...

    @property
    def rows(self) -> int:
        """Numbers m in a residual."""
        ...

    @property
    def parameters(self) -> tuple[StaticParameter, ...]:
        """Static parameters, in the order in which they are passed, one after the other."""
        ...

    def residual(self, samples: Samples, states: States, parameters: Array, /) -> Array:
        """Whitened residuals (K, m) of K samples.

        Args:
            samples: K readings.
            states: K states, the samples' own.
            parameters: (p,).

        Raises:
            InputError: the states lack the acceleration or torque that the sensor needs.
        """
        ...

    def linearise(self, samples: Samples, states: States, parameters: Array, /) -> Linearisation:
        """The same residuals with their Jacobians."""
        ...
