# SPDX-License-Identifier: Apache-2.0
"""Walks that are judged: a circle with a velocity profile, and attitudes, each under commands of six numbers.

The numbers are scales of speed and turn rate (of roll and pitch where the robot stands) with an offset to the left
between them, offsets of roll and pitch, and the height.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.sampling_jumps import attitude
from benchmarks.sampling_worlds import EVERY, World
from sysid_nodes.rollouts import FREQUENCY, GAITS, Command, WalkingConfig

Array = npt.NDArray[np.float64]

FALLEN = 3.0
"""Error of a robot that lies."""

HEIGHT = {"go2": 0.29, "g1": 0.7}
"""Of the base, by robot [m]."""

_SETTLING, _CIRCLE, _PERIOD = 0.8, 7.0, 1.6  # standing, a lap, and one swing of the attitude [s]
_RADIUS, _PACE = 0.6, {"go2": (0.4, 0.8), "g1": (0.1, 0.3)}  # [m], slow and fast [m/s]
_STRIDES = {"go2": FREQUENCY[GAITS.index("trot")], "g1": 1.7}  # a second
_TILT = 0.2  # [rad]


def circle(world: World, numbers: Array, config: WalkingConfig) -> Array:
    """Errors by the paper's J_vt, velocities taken over a stride: what a gait does within one is not the command's."""

    slow, fast = _PACE[world.robot.name]

    def wanted(time: Array) -> Array:
        speed = slow + (fast - slow) * (1.0 - np.abs(2.0 * np.clip(time / _CIRCLE, 0.0, 1.0) - 1.0))
        return np.stack([speed, np.zeros_like(speed), speed / _RADIUS], axis=-1)

    def commands(time: float) -> Command:
        own = wanted(np.array(time - _SETTLING))
        velocity = np.column_stack([numbers[:, 0] * own[0], numbers[:, 1], numbers[:, 2] * own[2]])
        return _command(numbers, velocity, np.zeros(2), "trot" if time >= _SETTLING else "stand")

    states, fallen = world.obey(len(numbers), commands, _SETTLING + _CIRCLE, config)
    n = world.robot.n
    yaw = attitude(states[..., 3:7])[..., 2]
    c, s, v = np.cos(yaw), np.sin(yaw), states[..., 7 + n :]
    rates = np.stack([c * v[..., 0] + s * v[..., 1], c * v[..., 1] - s * v[..., 0], v[..., 5]], axis=-1)
    stride = round(1.0 / (_STRIDES[world.robot.name] * EVERY))
    sums = np.cumsum(rates, axis=1)
    mean = (sums[:, stride:] - sums[:, :-stride]) / stride
    time = EVERY * (np.arange(mean.shape[1]) + 1.0 + 0.5 * stride) - _SETTLING
    begun = time > 0.5  # the controller takes up speed at 1.5 m/s2
    off = mean[:, begun] - wanted(time[begun])
    error = np.linalg.norm(off[..., :2], axis=-1) + 0.5 * np.abs(off[..., 2])
    return np.where(fallen, FALLEN, np.nan_to_num(error.mean(axis=1), nan=FALLEN))


def attitudes(world: World, numbers: Array, config: WalkingConfig) -> Array:
    """The paper's J_rp, its mean over time: first pitch, then roll."""

    def wanted(time: Array) -> Array:
        wave = _TILT * np.sin(2.0 * np.pi * time / _PERIOD)
        inside = (time > 0.0) & (time < 2.0 * _PERIOD)
        pitching = time < _PERIOD
        return np.stack([np.where(inside & ~pitching, wave, 0.0), np.where(inside & pitching, wave, 0.0)], axis=-1)

    def commands(time: float) -> Command:
        own = wanted(np.array(time - _SETTLING))
        return _command(numbers, np.zeros((len(numbers), 3)), own, "stand")

    states, fallen = world.obey(len(numbers), commands, _SETTLING + 2.0 * _PERIOD, config)
    time = EVERY * np.arange(1, states.shape[1] + 1) - _SETTLING
    off = attitude(states[..., 3:7])[:, time > 0.0, :2] - wanted(time[time > 0.0])
    error = np.linalg.norm(off, axis=-1).mean(axis=1)
    return np.where(fallen, FALLEN, np.nan_to_num(error, nan=FALLEN))


def _command(numbers: Array, velocity: Array, attitude_: Array, gait: str) -> Command:
    count, which = len(numbers), GAITS.index(gait)
    # A standing robot is commanded attitudes by the first and third number, a walking one speeds.
    scale = numbers[:, [0, 2]] if gait == "stand" else np.ones((count, 2))
    return Command(
        velocity,
        scale * attitude_ + numbers[:, 3:5],
        numbers[:, 5],
        np.full(count, which),
        np.full(count, FREQUENCY[which]),
    )
