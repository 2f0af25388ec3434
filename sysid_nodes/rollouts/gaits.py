# SPDX-License-Identifier: Apache-2.0
"""Gaits: when each foot is on the ground, and how much of the weight it carries there.

A foot's load over its stance is a bump; those of all feet together have the mean of the weight over a stride, and no
mean moment. In between the body rises and falls, and pitches or rolls, by the double integral of what is left. That
motion, divided by the stride's frequency squared, is the reference of the feedback, so that it does not fight the gait
(vertical impulse scaling: Park, Wensing and Kim, Int. J. Robotics Research 36 (2017) 167).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

GAITS = ("stand", "trot", "pace", "bound", "pronk")
"""Names, in the order of their numbers."""

FREQUENCY = np.array([2.4, 2.4, 3.0, 3.0, 3.0])
"""At which the controller walks well [Hz], by gait."""

_OFFSETS = np.array(
    [[0, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0.5, 0, 0.5], [0, 0, 0.5, 0.5], [0, 0, 0, 0]], dtype=np.float64
)  # of the stride, FL, FR, RL, RR (walk-these-ways: Margolis and Agrawal, CoRL 2022)
_DUTY = np.array([1.0, 0.58, 0.58, 0.58, 0.62])  # part of the stride on the ground
_WIDTH = np.array([1.0, 1.0, 0.5, 1.0, 1.0])  # of the track, relative: a pace leans less on feet set under the body
_EDGE = 0.15  # part of the stance over which a foot is loaded, and unloaded
_GRID = 128
_GRAVITY = 9.81


@dataclass(frozen=True)
class Stride:
    """The feet of B robots.

    Attributes:
        stance: (B, 4) on the ground.
        load: (B, 4) part of the weight that a foot carries.
        progress: (B, 4) through the swing, 0 to 1; 0 in stance.
        swing, ground: (B,) parts of the stride in the air and on the ground.
        width: (B,) of the track, relative to that of the stance.
        rise: (B, 3) height of the body about its mean, its rate and its acceleration, in units of s2, s and 1, for a
            stride of 1 s.
        sway: (B, 2, 3) the same about x and y, as angles of a body of 1 kg m2 with feet 1 m ahead and aside that weighs
            1 N.
    """

    stance: npt.NDArray[np.bool_]
    load: Array
    progress: Array
    swing: Array
    ground: Array
    width: Array
    rise: Array
    sway: Array


def stride(gait: npt.NDArray[np.int64], phase: Array) -> Stride:
    """The feet of B robots, each in a gait (B,) by its number and at a phase (B,) of its stride."""
    duty = _DUTY[gait][:, None]
    own = np.mod(phase[:, None] + _OFFSETS[gait], 1.0)
    stance = own < duty
    place = np.mod(phase, 1.0) * _GRID
    left = place.astype(np.int64) % _GRID
    part = place - np.floor(place)

    def at(table: Array) -> Array:
        weight = part.reshape(-1, *([1] * (table.ndim - 2)))
        return np.asarray((1.0 - weight) * table[gait, left] + weight * table[gait, (left + 1) % _GRID])

    return Stride(
        stance=stance,
        load=_load(own, duty),
        progress=np.where(stance, 0.0, (own - duty) / np.maximum(1.0 - duty, 1e-9)),
        swing=1.0 - duty[:, 0],
        ground=duty[:, 0],
        width=_WIDTH[gait],
        rise=at(_RISE),
        sway=at(_SWAY),
    )


def _load(own: Array, duty: Array) -> Array:
    """Of feet at their own phases; trapezia, a quarter of the weight in the mean over a stride."""
    within = own / duty
    shape = np.clip(np.minimum(within, 1.0 - within) / _EDGE, 0.0, 1.0)
    trapezium = 0.25 * shape / (duty * (1.0 - _EDGE))
    return np.where(duty >= 1.0, 0.25, np.where(own < duty, trapezium, 0.0))


def _integrate(force: Array) -> Array:
    """(G, N, ..., 3) double and single integral of a periodic function (G, N, ...), and itself, without means."""
    spectrum = np.fft.rfft(force, axis=1)
    omega = 2.0 * np.pi * np.arange(spectrum.shape[1]).reshape(-1, *([1] * (force.ndim - 2)))
    kept = np.where(omega > 0.0, spectrum, 0.0)
    safe = np.where(omega > 0.0, omega, 1.0)
    parts = (-kept / safe**2, kept / (1j * safe), kept)
    return np.stack([np.fft.irfft(part, _GRID, axis=1) for part in parts], axis=-1)


def _tables() -> tuple[Array, Array]:
    gait = np.repeat(np.arange(len(GAITS)), _GRID)
    phase = np.tile(np.arange(_GRID) / _GRID, len(GAITS))
    own = np.mod(phase[:, None] + _OFFSETS[gait], 1.0)
    load = _load(own, _DUTY[gait][:, None]).reshape(len(GAITS), _GRID, 4)
    ahead, aside = np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    about = np.stack([_WIDTH[:, None] * (load @ aside), -(load @ ahead)], axis=-1)  # r x f, f upward
    return _integrate(_GRAVITY * load.sum(axis=2)), _integrate(about)


_RISE, _SWAY = _tables()
