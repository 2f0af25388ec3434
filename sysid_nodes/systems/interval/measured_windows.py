# SPDX-License-Identifier: Apache-2.0
"""Windows of samples with bounds on the true motion everywhere in them, and whether the samples contradict these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.kernel.window_samples import compiled_windows
from sysid_nodes.models.gears import motor_motion
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.positions import Positions, bound_positions
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.windowed_samples import WindowedSamples

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
Edges = npt.NDArray[np.intp]

_HOPELESS = 1e6


@dataclass(frozen=True)
class MeasuredWindows:
    """Windows of samples, and what holds in them.

    Attributes:
        windows: the samples, cut.
        speed: (W, n) largest true speed anywhere in a window.
        roughness: (N - 1, 1) dt^2 of the intervals in which acceleration may jump, dt^3 of the others.
        positions: bounds on them.
        velocity_error: (n,) largest error of a velocity reading taken for the one at its stamp [rad/s].
    """

    windows: WindowedSamples
    speed: Array
    roughness: tuple[Array, Array]
    positions: Positions
    velocity_error: Array


class WindowMeasurer:
    """Bounds the motion in windows, and judges them.

    Args:
        reach: norm bounds of the robot's kinematics, and the travel of its sliding joints.
        noise: bounds on the measurement errors.
        flip: (n,) by how much a torque reading may jump where friction turns [N m].
        coupling: (n, n) motors, whose signs count, turn by it times joints; None: each with its own joint alone.
    """

    def __init__(self, reach: Reach, noise: Noise, flip: Array, coupling: Array | None = None) -> None:
        self._reach, self._noise, self._flip, self._coupling = reach, noise, flip, coupling
        self._latest: MeasuredWindows | None = None

    def measure(self, samples: JointSamples, edges: Edges) -> MeasuredWindows:
        """The windows samples[first..last], (W, 2); once for those that are judged first and then made rows of."""
        found = self._latest
        if found is None or found.windows.samples is not samples or not np.array_equal(found.windows.edges, edges):
            # Stamps since 1970 in double precision are rounded to a quarter microsecond.
            stamp = self._noise.stamp + float(np.spacing(np.abs(samples.t).max()))
            windows = WindowedSamples(samples, edges, stamp, self._signs(samples, stamp))
            speed, roughness = self._speed(windows), self._roughness(windows)
            dv = velocity_error(self._noise, stamp)
            positions = self._positions(windows, speed, roughness, dv)
            found = MeasuredWindows(windows, speed, roughness, positions, dv)
        self._latest = found
        return found

    def violations(self, samples: JointSamples, edges: Edges) -> Mapping[str, BoolArray]:
        """Windows (W,) in which the samples themselves contradict an assumption, by assumption.

        Such a window proves nothing and must not be used; which assumption failed is a finding.
        """
        noise = self._noise
        if not noise.itemised:
            return {}
        measured = self.measure(samples, edges)
        windows, dv = measured.windows, measured.velocity_error
        dt, stamp = windows.dt, windows.stamp_error
        v, q = samples.qd, samples.q
        jump = np.abs(np.diff(v, axis=0)) > (noise.acceleration * dt + 2.0 * dv) * 1.000001 + 1e-12
        slides = np.isfinite(self._reach.travel)
        reached = noise.position[slides] + (np.abs(v[:, slides]) + dv[slides]) * stamp + 1e-12
        outside = np.abs(q[:, slides]) > self._reach.travel[slides] + reached
        found = {
            "sliding joint beyond its limits": outside[1:] | outside[:-1],
            "acceleration above its bound": jump,
        }
        if not noise.hold:
            found["torque rate above its bound"] = self._torque_jumps(windows)
        failed = {name: windows.any(mask) for name, mask in found.items()}
        failed["velocity at odds with position"] = np.logical_not(measured.positions.possible)
        return failed

    def _signs(self, samples: JointSamples, stamp: float) -> BoolArray:
        """(N - 1, n) whether a motor surely keeps its sign: the errors of all joints that turn it add up."""
        noise = self._noise
        if self._coupling is None:
            return sign_certain(samples, noise, stamp)
        size = np.abs(self._coupling)
        noise = replace(noise, velocity=size @ noise.velocity, acceleration=size @ noise.acceleration)
        return sign_certain(replace(samples, qd=motor_motion(self._coupling, samples.qd)), noise, stamp)

    def _torque_jumps(self, windows: WindowedSamples) -> BoolArray:
        """(N - 1, n) whether torque changes by more than its rate, its errors and a flip of friction allow."""
        noise, e = self._noise, windows.samples.tau
        error = noise.torque_relative * np.abs(e) + noise.torque_absolute + noise.torque_rate * windows.stamp_error
        flip = np.where(windows.sign_certain, 0.0, self._flip)
        allowed = noise.torque_rate * windows.dt + flip + error[1:] + error[:-1]
        return np.asarray(np.abs(np.diff(e, axis=0)) > allowed * 1.000001 + 1e-12)

    def _positions(
        self, windows: WindowedSamples, speed: Array, roughness: tuple[Array, Array], dv: Array
    ) -> Positions:
        noise, samples, dt = self._noise, windows.samples, windows.dt
        rough, smooth = roughness
        creep = np.hstack([dt, rough / 4.0, smooth / 12.0]) @ np.stack([dv, noise.acceleration, noise.jerk])
        error = noise.position + speed * windows.stamp_error
        if not noise.itemised:
            creep = np.full_like(creep, _HOPELESS)  # no bound on the velocity: the readings stay as they are
        return bound_positions(samples.q, samples.qd, dt.ravel(), windows.edges, error, creep)

    def _speed(self, windows: WindowedSamples) -> Array:
        noise, speed = self._noise, np.abs(windows.samples.qd)
        pause = windows.maximum(windows.dt)
        top = windows.maximum(np.maximum(speed[1:], speed[:-1]))
        return np.asarray(top + noise.velocity + noise.acceleration * (windows.stamp_error + 0.5 * pause))

    def _roughness(self, windows: WindowedSamples) -> tuple[Array, Array]:
        """As in `MeasuredWindows`.

        Without a bound on jerk, and where friction may flip, acceleration may jump anywhere; else only at the samples,
        that is within the stamp's error of a stamp: a kink at eps from an end costs eps dt of the slope.
        """
        dt = windows.dt
        smooth = np.logical_and(windows.sign_certain.all(axis=1), (self._noise.jerk > 0.0).all())[:, None]
        return np.where(smooth, 8.0 * windows.stamp_error * dt, dt**2), np.where(smooth, dt**3, 0.0)


def sign_certain(samples: JointSamples, noise: Noise, stamp: float) -> BoolArray:
    """(N - 1, n) whether no velocity within the acceleration bound can reach zero between two samples.

    Args:
        samples: joint samples.
        noise: bounds on the measurement errors.
        stamp: error of a stamp [s].
    """
    v, dt, dv = samples.qd, np.diff(samples.t), velocity_error(noise, stamp)
    if (kernel := compiled_windows()) is not None:
        return np.asarray(kernel.sign_certain(dt, np.ascontiguousarray(v), dv, noise.acceleration))
    speed = np.abs(v)
    lowest = np.minimum(speed[1:], speed[:-1]) - dv
    middle = 0.5 * (speed[1:] + speed[:-1]) - dv - 0.5 * noise.acceleration * dt[:, None]
    return np.asarray((v[1:] * v[:-1] > 0.0) & (lowest > 0.0) & (middle > 0.0))


def velocity_error(noise: Noise, stamp: float) -> Array:
    """(n,) largest error of a velocity reading taken for the one at its stamp [rad/s]."""
    return noise.velocity + noise.acceleration * stamp
