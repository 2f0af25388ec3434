# SPDX-License-Identifier: Apache-2.0
"""A first guess of the base's height: flights from the accelerometer, where no pose tells of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import solveh_banded

Array = npt.NDArray[np.float64]
Steps = npt.NDArray[np.int64]


def first_heights(stood: Array, seen: tuple[Steps, Array], rising: tuple[Steps, Array], step: float) -> Array:
    """Heights (N,) [m] of least squares, of all that tells of them at once.

    A stage that was put on the ground beside one in the air seems to be thrown up, by forces that no reading there
    speaks against, and no step leads out of that. In the air an accelerometer reads next to nothing; what it reads on
    the ground leads from the speed at which the base goes on after touchdown back to where it fell from.

    Args:
        stood: (N,) where the base is when its lowest foot touches [m].
        seen: stages with a pose, and the height there [m].
        rising: stages with an accelerometer's reading, and the upward acceleration there [m/s2].
        step: time between stages [s].
    """
    count = len(stood)
    bears, bend, acceleration = np.full(count, 1.0 / _UNKNOWN), np.full(count, step**-2 / _ANY), np.zeros(count)
    steps, upward = rising
    bears[steps] = np.where(upward > -FALLS, 1.0 / _TOUCHES, 0.0)
    bend[steps], acceleration[steps] = step**-2 / _FELT, upward
    diagonals = np.zeros((3, count))  # of the normal equations: the second, the first and the main one
    diagonals[2] = bears**2
    right = bears**2 * stood
    at, height = seen
    np.add.at(diagonals[2], at, _SEEN**-2)
    np.add.at(right, at, height / _SEEN**2)
    rows, force = bend[1:-1] ** 2, bend[1:-1] ** 2 * step**2 * acceleration[1:-1]
    for first, by in enumerate((1.0, -2.0, 1.0)):
        part = slice(first, count - 2 + first)
        diagonals[2, part] += by**2 * rows
        right[part] += by * force
    diagonals[1, 1:-1] += -2.0 * rows
    diagonals[1, 2:] += -2.0 * rows
    diagonals[0, 2:] += rows
    return np.asarray(solveh_banded(diagonals, right))


FALLS = 5.0
"""Downward acceleration of a base that no leg bears [m/s2]: half of gravity, between a walk's and a flight's."""

_SEEN, _TOUCHES, _UNKNOWN = 2e-3, 3e-3, 3e-2
"""Standard deviations of a height: that is seen, of a base that is borne, and of one that may be [m]."""

_FELT, _ANY = 1.0, 10.0
"""Standard deviations of an acceleration: that was felt, and of any that a robot has [m/s2]."""
