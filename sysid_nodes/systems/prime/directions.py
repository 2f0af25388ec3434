# SPDX-License-Identifier: Apache-2.0
"""Effects that PRIME has no unknown for, as changes of its residuals by a unit of each (untold.py)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.signal import bilinear, lfilter

from sysid_nodes.models.rotations import quaternion_matrix, skew
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.sensing import Readings
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

MOVED = "markers that moved on the robot"
"""Name of an effect that begins in the midst of a log, once."""

STEADY, SPRING = "a steady force from outside", "a cable or a spring from outside"
"""Names of effects of which the second is the first as well, where it is at rest elsewhere than is thought."""

_JUMPS = 7
"""Times that markers may have moved at, evenly over a log: a jump in between shows at its neighbours."""

_SWINGS, _DAMPED = (0.6, 0.8, 1.0, 1.3, 1.7, 2.2), 0.1
"""Rates of a swinging load [Hz], near enough to one another for its damping, a share of the critical one."""


@dataclass(frozen=True)
class Direction:
    """Change of residuals by an effect.

    Attributes:
        name: of the effect.
        unit: of its size.
        harmless: size that says nothing.
        columns: (B, m, e) by a unit of each of its e numbers, of groups of residuals by name.
    """

    name: str
    unit: str
    harmless: float
    columns: Mapping[str, Array]

    @property
    def count(self) -> int:
        """e."""
        return int(next(iter(self.columns.values())).shape[2])


@dataclass(frozen=True)
class Past:
    """Effects on a window, as far as they begin before it.

    Attributes:
        place: (3,) at which a spring from outside is at rest, and about which a motion capture is turned [m].
        swung: (r, 2, 2) states of the filters that give a swinging load's force.
    """

    place: Array
    swung: Array

    @staticmethod
    def beginning(point: Trajectory) -> Past:
        """Of a motion that begins."""
        return Past(point.q[0, :3], np.zeros((len(_SWINGS), 2, 2)))

    def after(self, problem: PrimeProblem, point: Trajectory) -> Past:
        """Of the window that begins with the last two stages of a point."""
        pulled = _pulled(problem, point)
        laws = (_swing(rate, problem.model.config.step) for rate in _SWINGS)
        ends = [lfilter(*law, pulled, axis=0, zi=state)[1] for law, state in zip(laws, self.swung, strict=True)]
        return replace(self, swung=np.array(ends))


def directions(problem: PrimeProblem, point: Trajectory, past: Past | None = None) -> Iterator[Direction]:
    """All effects that a problem's residuals may show.

    Args:
        problem: without limits, of a whole log or of a window.
        point: at which its residuals are; the first stages of it will do for readings of these.
        past: of a window; None for a whole log.
    """
    whole = past is None
    past = past or replace(Past.beginning(point), place=point.q[:, :3].mean(axis=0))
    if problem.loaded:
        yield from _torques(problem, point)
        if not problem.model.config.process.asks_outside:
            yield from _forces(problem, point, past)
    mount: dict[str, Array] = {}
    for readings in problem.readings:
        name = readings.sensor.name
        if name not in (*_INERTIAL, *_POSES):
            continue
        residual, by = readings.by_reading(point, problem.model.config.step)
        if by is not None and name in _INERTIAL:
            # By what is predicted: the noise of readings themselves would pass for a scale that is too large.
            seen = readings.samples.values - np.linalg.solve(by, residual[:, :, None])[:, :, 0]
            yield Direction(f"a scale of the {name}", "1", _INERTIAL[name], {name: by @ seen[:, :, None]})
            mount[name] = by @ skew(seen)
        elif by is not None and name == "imu_orientation":
            mount[name] = by
        elif by is not None and name == "mocap_pose":
            yield from _markers(problem, point, readings, by, past, whole=whole)
    if mount:
        yield Direction("an IMU that is turned on its link", "rad", 3e-3, mount)


_INERTIAL = {"gyroscope": 3e-3, "accelerometer": 4e-3}
"""Sensors of vectors in the IMU's axes, and their harmless errors of scale."""


_LATE = 0.075
"""Harmless lag of torques, a share of a step: a reading is a mean over two of them."""

_POSES = ("imu_orientation", "mocap_pose")


def _torques(problem: PrimeProblem, point: Trajectory) -> Iterator[Direction]:
    """Torques that come later than they are read."""
    scale, torque = _scale_and_torque(problem, point)
    late = np.zeros((*scale.shape, 1))
    late[:, 6:, 0] = -scale[:, 6:] * np.gradient(torque, problem.model.config.step, axis=0)[: len(scale)]
    harmless = _LATE * problem.model.config.step
    yield Direction("drives that lag the torque that is read", "s", harmless, {"dynamics": late})


def _scale_and_torque(problem: PrimeProblem, point: Trajectory) -> tuple[Array, Array]:
    """(K, nv) weights of the dynamics' rows at the point's inner stages, and torques (K', n) at the problem's."""
    rows = problem.inner.dynamics.at(problem.model.base, point.theta)
    return rows.scale[: len(point.q) - 2], rows.torque


def _forces(problem: PrimeProblem, point: Trajectory, past: Past) -> Iterator[Direction]:
    """Forces on the base along the ground."""
    scale, _ = _scale_and_torque(problem, point)
    turn, place = quaternion_matrix(point.q[1:-1, 3:7]), point.q[1:-1, :2]
    across = np.array([[0.0, -1.0], [1.0, 0.0]])

    def wrench(force: Array) -> Mapping[str, Array]:
        """Columns of the base's rows by forces (K, 2, e) along the world's x and y at the base's origin."""
        columns = np.zeros((*scale.shape, force.shape[2]))
        columns[:, :3] = scale[:, :3, None] * (turn[:, :2].swapaxes(1, 2) @ force)
        return {"dynamics": columns}

    ahead = turn[:, :2, 0] / np.maximum(np.linalg.norm(turn[:, :2, 0], axis=1, keepdims=True), 1e-6)
    own = np.stack([ahead, ahead @ across.T], axis=2)
    yield Direction(STEADY, "N", 0.5, wrench(np.broadcast_to(np.eye(2), own.shape)))
    yield Direction("a force from outside that turns with the base", "N", 0.5, wrench(own))
    away = place - past.place[:2]
    yield Direction(SPRING, "N/m", 2.0, wrench(-away[:, :, None] * np.eye(2)))
    for swinging in _swinging(problem, point, past):
        yield Direction("a load that swings", "kg", 0.05, wrench(swinging))


def _swinging(problem: PrimeProblem, point: Trajectory, past: Past) -> Iterator[Array]:
    """(K, 2, 1) force of a kilogram that swings about the base's origin, at each of the rates."""
    pulled = _pulled(problem, point)
    for rate, state in zip(_SWINGS, past.swung, strict=True):
        yield lfilter(*_swing(rate, problem.model.config.step), pulled, axis=0, zi=state)[0][:, :, None]


def _pulled(problem: PrimeProblem, point: Trajectory) -> Array:
    """(K, 2) acceleration along the ground of the base's origin [m/s^2]."""
    return np.asarray(np.diff(point.q[:, :2], 2, axis=0) / problem.model.config.step**2)


@cache
def _swing(rate: float, step: float) -> tuple[Array, Array]:
    """Filter from the acceleration [m/s^2] of what carries a kilogram that swings at a rate [Hz] to its pull [N]."""
    omega = 2.0 * np.pi * rate
    return bilinear([-2.0 * _DAMPED * omega, -(omega**2)], [1.0, 2.0 * _DAMPED * omega, omega**2], 1.0 / step)


def _markers(
    problem: PrimeProblem, point: Trajectory, readings: Readings, by: Array, past: Past, *, whole: bool
) -> Iterator[Direction]:
    """Errors of the motion capture, whose residuals (B, m) readings change by (B, m, 6).

    Args:
        problem, point: as of `directions`.
        readings: of the motion capture.
        by: derivative of its residuals.
        past: of a window, at whose first stage markers may have moved, or of a whole log.
        whole: whether of a log.
    """
    steps = readings.samples.steps
    turn = quaternion_matrix(point.q[steps, 3:7])

    def moved(columns: Array) -> Mapping[str, Array]:
        return {readings.sensor.name: by[:, :, :3] @ columns}

    place = point.q[steps, :3] - past.place
    leans = np.concatenate([-skew(place), turn.swapaxes(1, 2)], axis=1)[:, :, :2]
    yield Direction("a motion capture whose vertical is not gravity's", "rad", 3e-3, {readings.sensor.name: by @ leans})
    if problem.model.config.sensors.mocap_pose.offset_sigma == 0.0:
        yield Direction("markers beside where they are described", "m", 1e-3, moved(turn))
    jumps = np.arange(1, _JUMPS + 1) * problem.stages / (_JUMPS + 1)
    for jump in jumps if whole else (-1.0,):
        after = steps > jump
        yield Direction(MOVED, "m", 3e-4, moved(turn * after[:, None, None]))
