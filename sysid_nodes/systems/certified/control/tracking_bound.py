# SPDX-License-Identifier: Apache-2.0
"""Largest errors of a position controller of unknown inside, measured from a log.

A stock driver offers positions only, and its controller is the vendor's secret: no proof covers it. What a certificate
takes for its tracking error is then the worst of a log times a safety factor. That is an observation, not a bound: it
says nothing of faster motions, heavier payloads or other postures than the log's, so the log has to hold the worst of
each that will be flown, and the result carries what it held.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError, SamplesError

Array = npt.NDArray[np.float64]

SHORTEST = 100
"""Samples below which there is nothing to speak of."""


@dataclass(frozen=True)
class TrackingBound:
    """Tracking error to put into a certificate, and the evidence for it.

    Attributes:
        position, velocity: (n,) allowance: safety_factor x worst seen + sensor error [rad, rad/s].
        worst_position, worst_velocity: (n,) largest difference of desired and measured [rad, rad/s].
        worst_at: (n,) time of the worst position [s].
        safety_factor: what the worst is multiplied with.
        fastest, hardest: (n,) largest desired speed and acceleration of the log [rad/s, rad/s2]; beyond them the
            allowance has no evidence.
        lowest, highest: (n,) range of desired positions [rad].
        duration: [s].
        samples: number of them.
    """

    position: Array
    velocity: Array
    worst_position: Array
    worst_velocity: Array
    worst_at: Array
    safety_factor: float
    fastest: Array
    hardest: Array
    lowest: Array
    highest: Array
    duration: float
    samples: int

    @property
    def caveat(self) -> str:
        """The limits of the numbers' meaning, for a report."""
        return (
            f"Measured, not proven: the worst of {self.samples} samples over {self.duration:.1f} s times "
            f"{self.safety_factor:g}. It holds for motions no faster and payloads no heavier than the log's."
        )


def measure_tracking(
    t: npt.ArrayLike,
    desired_q: npt.ArrayLike,
    desired_qd: npt.ArrayLike,
    measured_q: npt.ArrayLike,
    measured_qd: npt.ArrayLike,
    *,
    safety_factor: float = 1.5,
    wraps: npt.ArrayLike = False,
    position_error: npt.ArrayLike = 0.0,
    velocity_error: npt.ArrayLike = 0.0,
) -> TrackingBound:
    """Worst tracking errors of a log whose rows are already at common times.

    Args:
        t: (N,) increasing [s].
        desired_q, desired_qd: (N, n) what the certificate calls desired at t, not what the driver was sent earlier:
            delay and lag are part of the error [rad, rad/s].
        measured_q, measured_qd: (N, n) [rad, rad/s].
        safety_factor: at least 1.
        wraps: (n,) or one; where measured positions come wrapped to [-pi, pi] the nearest turn counts.
        position_error, velocity_error: (n,) or one; largest errors of the sensors, which may have hidden as much of the
            tracking error [rad, rad/s].

    Raises:
        SamplesError: shapes differ, numbers are not finite, times do not increase, or there are too few samples.
        ConfigError: the factor is below 1 or a sensor error is negative.
    """
    times = np.asarray(t, dtype=np.float64)
    arrays = [np.asarray(x, dtype=np.float64) for x in (desired_q, desired_qd, measured_q, measured_qd)]
    q, qd, seen_q, seen_qd = arrays
    if times.ndim != 1 or q.ndim != 2 or any(x.shape != (times.size, q.shape[1]) for x in arrays):
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise SamplesError(f"{times.size} times need four arrays of one shape ({times.size}, n), got {shapes}")
    if times.size < SHORTEST:
        raise SamplesError(f"{times.size} samples are too few to measure tracking by, {SHORTEST} are the least")
    if not (np.isfinite(times).all() and all(np.isfinite(x).all() for x in arrays)):
        raise SamplesError("the log holds numbers that are not finite")
    if (np.diff(times) <= 0.0).any():
        raise SamplesError("the log's times must increase")
    n = q.shape[1]
    sensor_q, sensor_qd = (np.broadcast_to(np.asarray(x, float), (n,)) for x in (position_error, velocity_error))
    if not (np.isfinite(safety_factor) and safety_factor >= 1.0):
        raise ConfigError(f"the safety factor must be at least 1, got {safety_factor:g}")
    if not ((sensor_q >= 0.0).all() and (sensor_qd >= 0.0).all()):
        raise ConfigError("sensor errors must not be negative")
    difference = q - seen_q
    turned = difference - 2.0 * np.pi * np.round(difference / (2.0 * np.pi))
    position = np.abs(np.where(np.broadcast_to(np.asarray(wraps, dtype=bool), (n,)), turned, difference))
    velocity = np.abs(qd - seen_qd)
    worst_q, worst_qd = position.max(axis=0), velocity.max(axis=0)
    return TrackingBound(
        position=safety_factor * worst_q + sensor_q,
        velocity=safety_factor * worst_qd + sensor_qd,
        worst_position=worst_q,
        worst_velocity=worst_qd,
        worst_at=times[position.argmax(axis=0)],
        safety_factor=float(safety_factor),
        fastest=np.abs(qd).max(axis=0),
        hardest=np.abs(np.diff(qd, axis=0) / np.diff(times)[:, None]).max(axis=0),
        lowest=q.min(axis=0),
        highest=q.max(axis=0),
        duration=float(times[-1] - times[0]),
        samples=times.size,
    )
