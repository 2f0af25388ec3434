# SPDX-License-Identifier: Apache-2.0
"""Degree-5 Bezier motions that end at rest (ARMOUR, Michaux et al. 2023; section V-A of the paper).

With s = t / t_f a joint follows sum_i P_i binom(5, i) s^i (1 - s)^(5 - i). The first three control points are fixed by
the initial state, the last three coincide, which makes velocity and acceleration vanish at t_f:

    P_0 = q0,  P_1 = q0 + t_f qd0 / 5,  P_2 = q0 + 2 t_f qd0 / 5 + t_f^2 qdd0 / 20,  P_3 = P_4 = P_5 = q0 + k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError, SamplesError

Array = npt.NDArray[np.float64]

# Power series in s of each part of the motion, lowest order first: q = q0 + STEP k + RATE t_f qd0 + BEND t_f^2 qdd0.
_STEP = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
_RATE = np.array([0.0, 1.0, 0.0, -6.0, 8.0, -3.0])
_BEND = np.array([0.0, 0.0, 0.5, -1.5, 1.5, -0.5])


class State(NamedTuple):
    """Position, velocity and acceleration, each (N, n) for N times or (n,) for one [rad, rad/s, rad/s2]."""

    q: Array
    qd: Array
    qdd: Array


@dataclass(frozen=True, eq=False)
class Bezier:
    """n joints from a moving start to rest at q0 + k, where they stay; compared by identity.

    Attributes:
        q0, qd0, qdd0: (n,) state at t = 0 [rad, rad/s, rad/s2].
        k: (n,) displacement of the resting position from q0 [rad].
        duration: t_f [s].

    Raises:
        SamplesError: the vectors differ in length, are empty or not finite.
        ConfigError: the duration is not positive.
    """

    q0: Array
    qd0: Array
    qdd0: Array
    k: Array
    duration: float

    def __post_init__(self) -> None:
        for field in ("q0", "qd0", "qdd0", "k"):
            value = np.array(getattr(self, field), dtype=np.float64)
            if value.ndim != 1 or value.size == 0 or value.shape != np.shape(self.q0):
                raise SamplesError(
                    f"{field} of a trajectory must be one number a joint, got shape {value.shape} "
                    f"where q0 has {np.shape(self.q0)}"
                )
            if not np.isfinite(value).all():
                raise SamplesError(
                    f"{field} of a trajectory is not finite at joint {int(np.argmin(np.isfinite(value)))}"
                )
            value.setflags(write=False)
            object.__setattr__(self, field, value)
        duration = float(self.duration)
        if not (np.isfinite(duration) and duration > 0.0):
            raise ConfigError(f"a trajectory's duration must be positive, got {duration:g} s")
        object.__setattr__(self, "duration", duration)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q0.size)

    @property
    def goal(self) -> Array:
        """(n,) where the motion comes to rest [rad]."""
        return self.q0 + self.k

    def __call__(self, t: float | npt.ArrayLike) -> State:
        """State at one or many times [s]; from t_f on exactly at rest at `goal`.

        Raises:
            SamplesError: a time is negative or not finite, or the times are not a vector.
        """
        times = _times(t)
        series, first, second = self._derivatives
        over = (times >= self.duration)[..., None]
        s = times / self.duration
        q = np.where(over, self.goal, self.q0 + _evaluate(series, s))
        qd = np.where(over, 0.0, _evaluate(first, s) / self.duration)
        qdd = np.where(over, 0.0, _evaluate(second, s) / self.duration**2)
        return State(q, qd, qdd)

    def jerk(self, t: float | npt.ArrayLike) -> Array:
        """Third derivative [rad/s3], (N, n) or (n,); it jumps to 0 after t_f. Errors as for a call."""
        times = _times(t)
        value = _evaluate(_derivative(self._series(), 3), times / self.duration) / self.duration**3
        return np.where((times > self.duration)[..., None], 0.0, value)

    def coefficients(self) -> Array:
        """(6, n) c with q(t) = sum_i c_i t^i for 0 <= t <= t_f, t in seconds; exact to a few roundings."""
        out = self._series() / self.duration ** np.arange(6.0)[:, None]
        out[0] = self.q0
        return out

    def derivative_wrt_k(self, t: float | npt.ArrayLike) -> tuple[Array, Array, Array]:
        """d q_j / d k_j, d qd_j / d k_j, d qdd_j / d k_j, the same for every joint: (N,) each, or scalars.

        The motion is affine in k. Errors as for a call.
        """
        return step_response(t, self.duration)

    def split(self, t: float) -> State:
        """The state (n,) at one time, from which a next plan starts. Errors as for a call."""
        if np.ndim(t) != 0:
            raise SamplesError(f"a trajectory is split at one time, got shape {np.shape(t)}")
        return self(t)

    def _series(self) -> Array:
        """(6, n) power series in s of q - q0."""
        rate, bend = self.duration * self.qd0, self.duration**2 * self.qdd0
        return np.outer(_STEP, self.k) + np.outer(_RATE, rate) + np.outer(_BEND, bend)

    @cached_property
    def _derivatives(self) -> tuple[Array, Array, Array]:
        """The series and its first two derivatives with respect to s: a controller asks for them at every tick."""
        series = self._series()
        return series, _derivative(series), _derivative(series, 2)


def step_response(t: float | npt.ArrayLike, duration: float) -> tuple[Array, Array, Array]:
    """b, db/dt, d2b/dt2 of the motion from 0 to 1 that starts and ends at rest: what k multiplies, (N,) each.

    Raises:
        SamplesError: a time is negative or not finite, or the times are not a vector.
    """
    times = _times(t)
    over, s = times >= duration, times / duration
    step = _STEP[:, None]
    return (
        np.where(over, 1.0, _evaluate(step, s)[..., 0]),
        np.where(over, 0.0, _evaluate(_derivative(step), s)[..., 0] / duration),
        np.where(over, 0.0, _evaluate(_derivative(step, 2), s)[..., 0] / duration**2),
    )


def brake(q: npt.ArrayLike, qd: npt.ArrayLike, qdd: npt.ArrayLike, duration: float) -> Bezier:
    """The stop of least jerk: k minimises the integral of the squared jerk over the stop, each joint by itself.

    In s the jerk is t_f qd0 (-36 + 192 s - 180 s^2) + t_f^2 qdd0 (-9 + 36 s - 30 s^2) + 60 k (1 - 6 s + 6 s^2). What k
    multiplies is a Legendre polynomial, orthogonal to 1 and s, so the best k cancels the quadratic term:
    k = t_f qd0 / 2 + t_f^2 qdd0 / 12. The motion is then a quartic; from qdd0 = 0 a joint never turns back, covers
    half of qd0 t_f and decelerates by at most 1.5 |qd0| / t_f.

    Args:
        q, qd, qdd: (n,) state to stop from [rad, rad/s, rad/s2].
        duration: of the stop [s].

    Raises:
        SamplesError, ConfigError: as for Bezier.
    """
    still = Bezier(np.asarray(q), np.asarray(qd), np.asarray(qdd), np.zeros(np.shape(q)), duration)
    k = 0.5 * still.duration * still.qd0 + still.duration**2 * still.qdd0 / 12.0
    return Bezier(still.q0, still.qd0, still.qdd0, k, still.duration)


def _times(t: float | npt.ArrayLike) -> Array:
    times = np.asarray(t, dtype=np.float64)
    if times.ndim > 1:
        raise SamplesError(f"times must be a number or a vector, got shape {times.shape}")
    if not np.isfinite(times).all():
        raise SamplesError("a time is not finite")
    if times.size and times.min() < 0.0:
        raise SamplesError(f"a trajectory starts at 0 s, asked for {times.min():g} s")
    return times


def _evaluate(series: Array, s: Array) -> Array:
    """sum_i series_i s^i by Horner's rule: series (d, n), s (N,) or () -> (N, n) or (n,)."""
    s, out = s[..., None], series[-1]
    for row in series[-2::-1]:
        out = out * s + row
    return np.asarray(out)


def _derivative(series: Array, order: int = 1) -> Array:
    """Power series (d - order, n) of a derivative."""
    for _ in range(order):
        series = series[1:] * np.arange(1.0, len(series))[:, None]
    return series
