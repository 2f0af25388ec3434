# SPDX-License-Identifier: Apache-2.0
"""A recorded motion on the grid of the simulations' steps.

A step of semi-implicit Euler, v_{k+1} = v_k + h a(q_k), q_{k+1} = q_k + h v_{k+1}, is exact to the second order with
velocities at the instants and configurations half a step after them. Set-points jump where drivers read joints, at
instants: so a step's force is of one set-point, and the velocity that is read there knows nothing of the next one.
With configurations at the instants it would be the mean of the velocities before and after the jump: a joint whose
acceleration changes by 500 rad/s2 was 0.25 rad/s off, five times the noise, and strengths too large for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from sysid_nodes.exceptions import LogError
from sysid_nodes.rollouts.rotations import vertical

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

MOVING, MOVING_WINDOW = 0.03, 0.4
"""A robot moves where a joint changes by more within this time [rad, s]; encoders' noise is far less."""

_LEAST = 0.5  # motion, without which there is nothing to identify from [s]
_PARTS = (0.125, 0.375, 0.625, 0.875)  # of a step, where set-points are looked up
_FEWEST = 3  # readings of a stream
_CUT = 0.1  # beside what was left out, which is not used either [s]
_SILENT = 0.1  # that a stream may be without a word [s]
_HOLE = 5.0  # times its usual spacing: a stream that is silent for longer has a hole

_FASTEST = 20.0  # that a base goes [m/s]
_UNIT = 0.1  # that a quaternion's norm may be off
_TURNING, _ANGLE, _RATE = 100.0, 50.0, 300.0  # of a base [rad/s]; of a joint [rad], [rad/s]

Sound = Callable[[Array, Array], BoolArray]
"""Which readings (N,) can be, from their stamps (N,) and values (N, m)."""


def sound_joints(_: Array, values: Array) -> BoolArray:
    """Positions, velocities and torques side by side."""
    q, w, _ = np.split(np.abs(values), 3, axis=1)
    return np.asarray((q < _ANGLE).all(axis=1) & (w < _RATE).all(axis=1))


def sound_imu(_: Array, values: Array) -> BoolArray:
    """Orientation and angular velocity."""
    return np.asarray(_unit(values[:, :4]) & (np.abs(values[:, 4:]) < _TURNING).all(axis=1))


def sound_pose(t: Array, values: Array) -> BoolArray:
    """Position and orientation; a place from which and to which nothing can have gone that fast is none."""
    fast = np.linalg.norm(np.diff(values[:, :3], axis=0), axis=1) > _FASTEST * np.diff(t) + 1e-3
    alone = np.concatenate([[True], fast]) & np.concatenate([fast, [True]])
    return np.asarray(_unit(values[:, 3:]) & ~alone)


def _unit(quaternion: Array) -> BoolArray:
    return np.asarray(np.abs(np.linalg.norm(quaternion, axis=1) - 1.0) < _UNIT)


@dataclass(frozen=True)
class Stream:
    """Readings of one sensor.

    Attributes:
        t: (N,) stamps [s], increasing.
        values: (N, m).
        refused: readings that were not numbers, or out of all range.
        repeated: readings that were the one before once more.
    """

    t: Array
    values: Array
    name: str = ""
    refused: int = 0
    repeated: int = 0

    @classmethod
    def of(
        cls, rows: list[tuple[float, Array]], name: str, sound: Sound | None = None, *, noisy: bool = False
    ) -> Stream:
        """In the order of stamps; of two with one stamp the later holds, what is not finite is left out.

        Args:
            rows: stamps [s] and values.
            name: of the sensor, for complaints.
            sound: which readings can be at all; None for any.
            noisy: whether no two readings are alike, so that one which repeats the one before it is none: trackers that
                have lost a body go on with its last pose.

        Raises:
            LogError: nothing is left, or next to nothing.
        """
        kept = {stamp: value for stamp, value in rows if np.isfinite(stamp) and np.isfinite(value).all()}
        refused = sum(not (np.isfinite(stamp) and np.isfinite(value).all()) for stamp, value in rows)
        t = np.array(sorted(kept))
        values = np.array([kept[stamp] for stamp in t]).reshape(len(t), -1 if len(t) else 0)
        if sound is not None and len(t):
            good = sound(t, values)
            t, values, refused = t[good], values[good], refused + int((~good).sum())
        new = np.ones(len(t), dtype=bool)
        if noisy:
            new[1:] = (values[1:] != values[:-1]).any(axis=1)
        if new.sum() < _FEWEST:
            few = f"has {new.sum()} usable readings of {name}, at least {_FEWEST} are needed"
            raise LogError("; ".join([few, *_unusable(refused, int((~new).sum()))]))
        return cls(t[new], values[new], name, refused, int((~new).sum()))

    def at(self, t: Array) -> tuple[Array, BoolArray]:
        """Values (K, m) at times, straight between readings, and (K,) whether readings surround them closely."""
        right = np.clip(np.searchsorted(self.t, t), 1, len(self.t) - 1)
        inside = (t >= self.t[0] - 1e-6) & (t <= self.t[-1] + 1e-6)
        t = np.clip(t, self.t[0], self.t[-1])
        gap = self.t[right] - self.t[right - 1]
        part = ((t - self.t[right - 1]) / gap)[:, None]
        value = self.values[right - 1] + part * (self.values[right] - self.values[right - 1])
        return value, inside & (gap <= _HOLE * float(np.median(np.diff(self.t))))

    def latest_values(self, t: Array) -> Array:
        """Values (K, m) of the latest readings."""
        return np.asarray(self.values[np.clip(np.searchsorted(self.t, t + 1e-6, side="right") - 1, 0, None)])


@dataclass(frozen=True)
class Readings:
    """Streams of a log; quaternions are w, x, y, z.

    Attributes:
        joints: positions, velocities and torques side by side (3 n); torques are zero where a driver has none.
        set_points: commanded positions (n).
        imu: orientation (4) and angular velocity (3) of the base (sensor turned into its axes).
        pose: position (3) and orientation (4) of the base.
        left_out: from when to when there is nothing because nobody wanted it [s].
    """

    joints: Stream
    set_points: Stream
    imu: Stream
    pose: Stream
    left_out: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class MotionLog:
    """N instants, a step apart but where readings were left out; unknown values are zero where a mask says so.

    Attributes:
        t: (N,) [s].
        step: [s].
        q, w: (N, n) positions and velocities of the joints [rad, rad/s].
        torque: (N, n) as the motors report it [N m]; None where they do not.
        target: (N, n) set-points, their mean over the step that begins at the instant [rad].
        up: (N, 3) vertical in the base's axes, as the inertial sensor has it.
        gyro: (N, 3) [rad/s].
        position, rotation: (N, 3), (N, 4) pose of the base [m], w x y z.
        posed: (N,) instants next to a reading of the pose.
        usable: (N,) instants at which all streams go on.
        faults: of the streams, in words.
    """

    t: Array
    step: float
    q: Array
    w: Array
    torque: Array | None
    target: Array
    up: Array
    gyro: Array
    position: Array
    rotation: Array
    posed: BoolArray
    usable: BoolArray
    faults: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.t)

    @property
    def duration(self) -> float:
        """Of what is usable [s]."""
        return float(self.usable.sum() * self.step)

    def starts(self, length: int) -> IntArray:
        """Instants at which a clip of `length` instants has all streams throughout."""
        bad = np.concatenate([[0], np.cumsum(~self.usable)])
        first = np.arange(max(len(self) - length, 0))
        return np.asarray(first[bad[first + length] == bad[first]], dtype=np.int64)


def motion_log(readings: Readings, step: float, *, delay: float = 0.0) -> MotionLog:
    """Streams on the grid.

    Args:
        step: of the grid [s]; it begins at a joint state, as drivers read joints and write set-points together.
        delay: of the set-points [s].

    Raises:
        LogError: the streams have nothing in common.
    """
    n = readings.set_points.values.shape[1]
    streams = (readings.joints, readings.imu, readings.pose)
    begin = max(stream.t[0] for stream in (*streams, readings.set_points))
    begin = float(readings.joints.t[np.clip(np.searchsorted(readings.joints.t, begin), 0, len(readings.joints.t) - 1)])
    if min(stream.t[-1] for stream in streams) - begin < 10.0 * step:
        began = readings.joints.t[0]
        spans = [f"{s.name} {s.t[0] - began:.1f} .. {s.t[-1] - began:.1f} s" for s in (*streams, readings.set_points)]
        raise LogError(f"the streams have no time in common: {', '.join(spans)} since the first joint state")
    # To the last joint state: what another stream lacks is to be missed, not cut off.
    number = _numbers(begin, float(readings.joints.t[-1]), step, readings.left_out)
    t = np.asarray(begin + step * number, dtype=np.float64)
    joints, has_joints = readings.joints.at(t)
    imu, has_imu = _continuous_quaternion(readings.imu, 0).at(t)
    pose, has_pose = _continuous_quaternion(readings.pose, 3).at(t)
    quaternion, rotation = imu[:, :4], pose[:, 3:]
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    rotation /= np.linalg.norm(rotation, axis=1, keepdims=True)
    posed = np.isin(number, np.round((readings.pose.t - begin) / step).astype(np.int64))
    usable = has_joints & has_imu & has_pose & (t >= readings.set_points.t[0] + delay)
    for first, last in readings.left_out:  # no clip is to reach from one side to the other
        usable &= (t < first - _CUT) | (t > last + _CUT)
    return MotionLog(
        t=t,
        step=step,
        q=joints[:, :n],
        w=joints[:, n : 2 * n],
        torque=joints[:, 2 * n :] if joints[:, 2 * n :].any() else None,
        target=np.mean([readings.set_points.latest_values(t - delay + part * step) for part in _PARTS], axis=0),
        up=vertical(quaternion),
        gyro=imu[:, 4:],
        position=pose[:, :3],
        rotation=rotation,
        posed=posed & has_pose,
        usable=usable,
        faults=tuple(
            words
            for stream, present in zip(streams, (has_joints, has_imu, has_pose), strict=True)
            if (words := _faults(stream, present, step))
        ),
    )


def _numbers(begin: float, end: float, step: float, left_out: tuple[tuple[float, float], ...]) -> IntArray:
    """Numbers (N,) of the steps from a beginning to an end [s] without those that were left out."""
    parts, next_, count = [], 0, int((end - begin) / step + 1e-6) + 1
    for first, last in sorted(left_out):
        stop = int(np.clip((first - begin) / step, next_, count))
        parts.append(np.arange(next_, stop))
        next_ = int(np.clip((last - begin) / step, stop, count))
    return np.concatenate([*parts, np.arange(next_, count)])


def _faults(stream: Stream, present: BoolArray, step: float) -> str:
    """Faults of a stream, from the instants (N,) at which it goes on; empty where nothing is."""
    silent = ~present
    lost = silent.sum() * step > _SILENT
    told = [f"silent for {silent.sum() * step:.2f} of {len(silent) * step:.2f} s"] if lost else []
    told += _unusable(stream.refused, stream.repeated if lost else 0)
    return f"{stream.name}: {', '.join(told)}" if told else ""


def _unusable(refused: int, repeated: int) -> list[str]:
    """Readings that were left out, in words, a kind each."""
    told = {"readings that are not numbers or out of range": refused, "readings that repeat the one before": repeated}
    return [f"{words}: {count}" for words, count in told.items() if count]


def while_moving(log: MotionLog) -> MotionLog:
    """The log without what the robot stands still in: clips there tell little, and would stand for those that do.

    Raises:
        LogError: hardly anything is left.
    """
    reach = 2 * round(0.5 * MOVING_WINDOW / log.step) + 1
    # Piece by piece: what was left out is no motion, though the robot may stand otherwise after it than before.
    pieces = np.split(log.q, np.flatnonzero(np.diff(log.t) > 1.5 * log.step) + 1)
    swing = np.concatenate([maximum_filter1d(q, reach, axis=0) - minimum_filter1d(q, reach, axis=0) for q in pieces])
    usable = log.usable & (swing > MOVING).any(axis=1)
    if usable.sum() * log.step < _LEAST:
        least = f"{_LEAST:g} s are needed"
        raise LogError("; ".join([f"the robot moves for {usable.sum() * log.step:.1f} s only, {least}", *log.faults]))
    return replace(log, usable=usable)


def _continuous_quaternion(stream: Stream, first: int) -> Stream:
    """A stream whose quaternion, from a column on, does not jump between its two signs."""
    values = stream.values.copy()
    quaternion = values[:, first : first + 4]
    signs = np.where(np.einsum("ij,ij->i", quaternion[1:], quaternion[:-1]) < 0.0, -1.0, 1.0)
    quaternion[1:] *= np.cumprod(signs)[:, None]
    return replace(stream, values=values)
