# SPDX-License-Identifier: Apache-2.0
"""Windows that lack samples, found by their stamps or, where those are made up, by what joints went in a step.

Live node and replay leave out the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.systems.interval.noise import Noise

Edges = npt.NDArray[np.intp]

MISSING = "window lacks samples"
RESTAMPED = "joints went further than their velocities in a step"

_MORE, _LASTS = 0.6, 0.8
"""Periods by which a step is too short for how far joints went, and it with its neighbours, for a sample to be missing
in it: whoever stamped it did not know."""

_STEADY = 0.2
"""Most that nine in ten steps of a window may be off what velocity makes of them, for the rest to tell anything: of a
driver whose stamps or velocities are loose, single steps tell nothing."""


_FEWEST = 10
"""Steps in motion that it takes."""


class MissingSamples:
    """Compares every step with the driver's period, the smallest median of the steps of any window so far.

    The smallest, because where every second sample is lost the median of the window tells nothing. A driver that
    becomes slower is taken for one that loses samples until the next reset.
    """

    def __init__(self) -> None:
        self._period = np.inf

    def violations(self, samples: JointSamples, edges: Edges, noise: Noise) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Windows (W,) with a longer step than the errors stand for, none where they stand for any, or restamped.

        Args:
            samples: of all windows.
            edges: (W, 2) first and last sample of each window, in the order of time.
            noise: says how long a step may be.
        """
        restamped = np.array([_is_restamped(samples.slice(first, last + 1)) for first, last in edges], dtype=bool)
        if np.isinf(noise.longest_step):
            return {RESTAMPED: restamped}
        steps = [np.diff(samples.t[first : last + 1]) for first, last in edges]
        period = np.minimum.accumulate([self._period, *map(np.median, steps)])[1:]
        self._period = float(period[-1])
        return {MISSING: np.array([step.max() for step in steps]) > noise.longest_step * period, RESTAMPED: restamped}


def _is_restamped(window: JointSamples) -> bool:
    """Whether some step of a window goes twice as far or further than velocities say, and hardly any other is off.

    A stamp that is wrong by itself makes one step too short and another too long by as much, and is no sign of it.
    """
    speed = 0.5 * (window.qd[1:] + window.qd[:-1])
    square = (speed**2).sum(axis=1)
    moves = square > 0.25 * square.max(initial=0.0)
    if moves.sum() < _FEWEST:
        return False
    steps = np.diff(window.t)
    took = (np.diff(window.q, axis=0) * speed).sum(axis=1) / np.where(moves, square, 1.0)
    more = np.pad(np.where(moves, took - steps, 0.0) / np.median(steps), 1)
    lasts = more[:-2] + more[1:-1] + more[2:] > _LASTS
    steady = np.quantile(np.abs(more[1:-1][moves]), 0.9) < _STEADY
    return bool(steady and ((more[1:-1] > _MORE) & lasts).any())
