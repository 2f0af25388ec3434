"""One row of the momentum balance per window and joint, linear in all parameters, with its error radius.

Corollary 10 of the paper with two changes: the integral is a trapezoid over the actual stamps, and everything that
keeps the balance from being exact is bounded and carried along, cause by cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import window_regressors
from sysid_nodes.systems.interval.error_radius import (
    BODY_CAUSES,
    POSITION,
    SAMPLING,
    VELOCITY,
    Motion,
    body_coefficients,
)
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.positions import Positions, bound_positions
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.unknowns import Unknowns

Array = npt.NDArray[np.float64]
Edges = npt.NDArray[np.intp]

TORQUE_RELATIVE, TORQUE_ABSOLUTE = "relative torque noise", "absolute torque noise"
TORQUE_RATE, FRICTION_SIGN, ROUNDING = "torque between samples", "sign of friction at standstill", "rounding"
CALIBRATION = "calibration residuals"
CAUSES = (
    TORQUE_RELATIVE,
    TORQUE_ABSOLUTE,
    TORQUE_RATE,
    POSITION,
    VELOCITY,
    SAMPLING,
    FRICTION_SIGN,
    CALIBRATION,
    ROUNDING,
)

_ITEMS = (TORQUE_RATE, POSITION, VELOCITY, SAMPLING)
"""Causes that the noise model `window` counts as part of the torque error."""

_HOPELESS = 1e6

_ROUNDING_SHARE = 1e-11
"""Rounding of a regressor entry relative to the sum of the magnitudes it adds up; double precision keeps 1e-13."""


@dataclass(frozen=True)
class MomentumRows:
    """Rows ``coefficients @ p in [-radius, radius]`` of W windows and n joints.

    Attributes:
        t: (W, 2) first and last stamp of each window [s].
        coefficients: (W, n, 15 n) on the physical parameters p of `Unknowns`.
        radius: (W, n, len(CAUSES)) error radius [N m s] without the share of the identified theta.
        body_radius: (W, n, 3, 3) that share: cause (position, velocity, sampling) by norm
            (mass, |first moment|, |inertia|), to be multiplied by those norms.
    """

    t: Array
    coefficients: Array
    radius: Array
    body_radius: Array

    def total_radius(self, norms: Array) -> Array:
        """(W, n) radius for a body whose (mass, |first moment|, |inertia|) do not exceed norms (3,)."""
        return np.asarray(self.radius.sum(axis=2) + (self.body_radius @ norms).sum(axis=2))


def body_norms(lower: Array, upper: Array) -> Array:
    """(..., 3) largest mass, first moment and inertia norm in boxes of inertial parameters (..., 10)."""
    size = np.maximum(np.abs(lower), np.abs(upper))
    inertia = size[..., 4:] ** 2 @ np.array([1.0, 2.0, 1.0, 2.0, 2.0, 1.0])  # Frobenius norm bounds the spectral one
    return np.stack([size[..., 0], np.linalg.norm(size[..., 1:4], axis=-1), np.sqrt(inertia)], axis=-1)


class RowBuilder:
    """Turns samples into momentum rows for one robot.

    Args:
        chain: the robot's kinematic tree.
        reach: norm bounds of its kinematics.
        noise: bounds on the measurement errors.
        unknowns: assumed box of all parameters.
    """

    def __init__(self, chain: Chain, reach: Reach, noise: Noise, unknowns: Unknowns) -> None:
        self._chain, self._reach, self._noise, self._unknowns = chain, reach, noise, unknowns
        n = chain.n
        size = unknowns.known_magnitude
        inertial = size[: 10 * n].reshape(n, 10)
        self._norms = body_norms(-inertial, inertial)
        self._coulomb = size[unknowns.motor_slice("Coulomb friction")]
        self._viscous = size[unknowns.motor_slice("viscous friction")]
        self._armature = size[unknowns.motor_slice("armature")]
        gain = unknowns.motor_slice("torque gain")
        self._gain = size[gain]
        self._least_gain = np.maximum(2.0 * np.abs(unknowns.centre[gain]) - size[gain], 1e-9)
        self._size = np.abs(unknowns.centre) + np.abs(unknowns.basis).sum(axis=1)

    def build(self, samples: JointSamples, edges: Edges) -> MomentumRows:
        """Rows of the windows samples[first..last], (W, 2) pairs of indices, last included."""
        noise, n = self._noise, self._chain.n
        stamp = self._stamp(samples)
        dt = np.diff(samples.t)[:, None]
        v, e = samples.qd, samples.tau
        first, last = edges[:, 0], edges[:, 1]
        duration = samples.t[last] - samples.t[first]
        certain = self._sign_certain(samples, stamp)
        rough, smooth = self._roughness(certain, dt, stamp)
        speed = self._speed(samples, edges, stamp)
        positions = self._positions(samples, edges, certain, stamp)
        motion = Motion(
            duration=duration,
            rough=_sum(rough, edges)[:, 0],
            smooth=_sum(smooth, edges)[:, 0],
            cube=_sum(dt**3, edges)[:, 0],
            speed=speed,
            dq=positions.error,
            dv=np.broadcast_to(self._velocity_error(stamp), speed.shape),
            acceleration=noise.acceleration,
            jerk=noise.jerk,
        )
        signed = _sum(np.where(certain, np.sign(v[1:]) * dt, 0.0), edges)
        unsure = _sum(np.where(certain, 0.0, dt), edges)

        if noise.hold:
            held = e[1:] if noise.until else e[:-1]
            impulse = _sum(held * dt, edges)
            load = _sum(np.abs(held) * dt, edges)
            error = noise.torque_relative * np.abs(e) + noise.torque_absolute
            between = _sum(np.abs(np.diff(e, axis=0)) + error[1:] + error[:-1], edges) * stamp
        else:
            impulse = _sum(0.5 * (e[1:] + e[:-1]) * dt, edges)
            load = _sum(0.5 * (np.abs(e[1:]) + np.abs(e[:-1])) * dt, edges)
            between = noise.torque_rate * (0.25 * _sum(dt**2, edges) + stamp * duration[:, None])

        entries = positions.index
        momentum, integral = window_regressors(
            self._chain, samples.t[entries], positions.q, v[entries], positions.edges
        )
        travel = positions.q[positions.edges[:, 1]] - positions.q[positions.edges[:, 0]]
        coefficients = np.zeros((edges.shape[0], n, 15 * n))
        coefficients[:, :, : 10 * n] = momentum - integral
        joints = np.arange(n)
        columns = (signed, travel, v[last] - v[first], duration[:, None], -impulse)
        for term, column in enumerate(columns):
            coefficients[:, joints, n * (10 + term) + joints] = column

        by_body = np.zeros((len(BODY_CAUSES), len(edges), n, n, 3))  # cause, window, row, body, norm
        if noise.itemised:
            levers = self._reach.within(samples.t[entries], positions.q, positions.edges, speed, positions.error)
            by_body = body_coefficients(levers, motion)
        others = np.einsum("cwkis,is->wkc", by_body, self._norms)
        radius = np.zeros((edges.shape[0], n, len(CAUSES)))
        causes = {
            TORQUE_RELATIVE: self._gain * noise.torque_relative * load,
            TORQUE_ABSOLUTE: self._gain * noise.torque_absolute * duration[:, None],
            TORQUE_RATE: self._gain * between,
            POSITION: positions.travel_error * self._viscous,
            VELOCITY: 2.0 * motion.dv * self._armature,
            # Friction anywhere in [-F_c, F_c], and torque may jump by 2 F_c between two samples when it flips.
            FRICTION_SIGN: self._coulomb * unsure * (1.0 if noise.hold else 2.0),
            ROUNDING: _ROUNDING_SHARE * (np.abs(coefficients) @ self._size),
        }
        for cause, value in causes.items():
            radius[:, :, CAUSES.index(cause)] = value
        for index, cause in enumerate(BODY_CAUSES):
            radius[:, :, CAUSES.index(cause)] += others[:, :, index]
        if not noise.itemised:
            radius[:, :, [CAUSES.index(cause) for cause in _ITEMS]] = 0.0
        body_radius = np.moveaxis(by_body[:, :, :, self._unknowns.body, :], 0, 2)
        return MomentumRows(np.stack([samples.t[first], samples.t[last]], axis=1), coefficients, radius, body_radius)

    def violations(self, samples: JointSamples, edges: Edges) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Windows (W,) in which the samples themselves contradict an assumption, by assumption.

        Such a window proves nothing and must not be used; which assumption failed is a finding.
        """
        noise = self._noise
        if not noise.itemised:
            return {}
        dt = np.diff(samples.t)[:, None]
        v, e, q = samples.qd, samples.tau, samples.q
        stamp = self._stamp(samples)
        certain = self._sign_certain(samples, stamp)
        dv = self._velocity_error(stamp)
        jump = np.abs(np.diff(v, axis=0)) > (noise.acceleration * dt + 2.0 * dv) * 1.000001 + 1e-12
        outside = np.abs(q) > self._reach.travel + noise.position + (np.abs(v) + dv) * stamp + 1e-12
        found = {
            "sliding joint beyond its limits": outside[1:] | outside[:-1],
            "acceleration above its bound": jump,
        }
        if not noise.hold:
            error = noise.torque_relative * np.abs(e) + noise.torque_absolute + noise.torque_rate * stamp
            flip = np.where(certain, 0.0, 2.0 * self._coulomb / self._least_gain)
            allowed = noise.torque_rate * dt + flip + error[1:] + error[:-1]
            rate = np.abs(np.diff(e, axis=0)) > allowed * 1.000001 + 1e-12
            found["torque rate above its bound"] = rate
        windows = {name: _maximum(mask.astype(np.float64), edges).max(axis=1) > 0.0 for name, mask in found.items()}
        positions = self._positions(samples, edges, certain, stamp)
        windows["velocity at odds with position"] = np.logical_not(positions.possible)
        return windows

    def _positions(
        self, samples: JointSamples, edges: Edges, certain: npt.NDArray[np.bool_], stamp: float
    ) -> Positions:
        noise = self._noise
        dt = np.diff(samples.t)[:, None]
        rough, smooth = self._roughness(certain, dt, stamp)
        creep = dt * self._velocity_error(stamp) + noise.acceleration * rough / 4.0 + noise.jerk * smooth / 12.0
        error = noise.position + self._speed(samples, edges, stamp) * stamp
        if not noise.itemised:
            creep = np.full_like(creep, _HOPELESS)  # no bound on the velocity: the readings stay as they are
        return bound_positions(samples.q, samples.qd, dt[:, 0], edges, error, creep)

    def _speed(self, samples: JointSamples, edges: Edges, stamp: float) -> Array:
        """(W, n) largest true speed anywhere in a window."""
        noise, speed = self._noise, np.abs(samples.qd)
        pause = _maximum(np.diff(samples.t)[:, None], edges)
        top = _maximum(np.maximum(speed[1:], speed[:-1]), edges)
        return np.asarray(top + noise.velocity + noise.acceleration * (stamp + 0.5 * pause))

    def _roughness(self, certain: npt.NDArray[np.bool_], dt: Array, stamp: float) -> tuple[Array, Array]:
        """(N - 1, 1) dt^2 of the intervals in which acceleration may jump, dt^3 of the others.

        Without a bound on jerk, and where friction may flip, it may jump anywhere; else only at the samples, that is
        within the stamp's error of a stamp: a kink at eps from an end costs eps dt of the slope.
        """
        smooth = np.logical_and(certain.all(axis=1), (self._noise.jerk > 0.0).all()).reshape(-1, 1)
        return np.where(smooth, 8.0 * stamp * dt, dt**2), np.where(smooth, dt**3, 0.0)

    def _velocity_error(self, stamp: float) -> Array:
        """(n,) largest error of a velocity reading taken for the one at its stamp [rad/s]."""
        return self._noise.velocity + self._noise.acceleration * stamp

    def _stamp(self, samples: JointSamples) -> float:
        """Largest error of a stamp [s]; stamps since 1970 in double precision are rounded to a quarter microsecond."""
        return self._noise.stamp + float(np.spacing(np.abs(samples.t).max()))

    def _sign_certain(self, samples: JointSamples, stamp: float) -> npt.NDArray[np.bool_]:
        """(N - 1, n) whether no velocity within the acceleration bound can reach zero between two samples."""
        noise, v = self._noise, samples.qd
        dt = np.diff(samples.t)[:, None]
        dv = self._velocity_error(stamp)
        speed = np.abs(v)
        lowest = np.minimum(speed[1:], speed[:-1]) - dv
        middle = 0.5 * (speed[1:] + speed[:-1]) - dv - 0.5 * noise.acceleration * dt
        return np.asarray((v[1:] * v[:-1] > 0.0) & (lowest > 0.0) & (middle > 0.0))


def _sum(intervals: Array, edges: Edges) -> Array:
    """Sums (N - 1, k) values of sample intervals over each window: (W, k)."""
    padded = np.vstack([intervals, np.zeros((1, intervals.shape[1]))])
    return np.asarray(np.add.reduceat(padded, edges.ravel(), axis=0)[::2])


def _maximum(intervals: Array, edges: Edges) -> Array:
    """Largest (N - 1, k) value of the sample intervals in each window: (W, k)."""
    padded = np.vstack([intervals, np.full((1, intervals.shape[1]), -np.inf)])
    return np.asarray(np.maximum.reduceat(padded, edges.ravel(), axis=0)[::2])
