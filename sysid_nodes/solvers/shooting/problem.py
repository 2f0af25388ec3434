# SPDX-License-Identifier: Apache-2.0
"""A problem of multiple shooting: K parameters, and a state of d at the start of every segment.

Samples of one measured motion are numbered 0..S-1; a segment runs from its first sample to that before the next
segment's. Rolled out from its start state with the parameters, it predicts its samples; a residual is prediction less
measurement, whitened, with m entries a sample and zeros where nothing was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Rollout(NamedTuple):
    """Residuals and their derivatives.

    Attributes:
        residual: (S, m).
        by_parameters: (S, m, K).
        by_start: (S, m, d) by the start state of the sample's own segment.
    """

    residual: Array
    by_parameters: Array
    by_start: Array


class ShootingProblem(Protocol):
    """A model as the solver sees it."""

    @property
    def samples(self) -> int:
        """S."""

    @property
    def breaks(self) -> tuple[int, ...]:
        """Samples at which a segment must begin, besides 0: the measurement has a hole before them."""

    def start(self, first: IntArray) -> tuple[Array, Array]:
        """Guesses (G, d) of the states at the first samples of segments, and the information (d,) they carry.

        Information is 1 / sigma^2 of what is known *besides* the residuals; zero for nothing.
        """

    def rollout(self, parameters: Array, first: IntArray, start: Array) -> Rollout:
        """Residuals of all samples; what is not finite makes the solver shorten its step."""


@dataclass(frozen=True)
class Gaussian:
    """Prior of the parameters, each by itself.

    `trajectory_least_squares.GaussianPrior` joins stages and parameters by a root, which need not be square, at a
    reference on a manifold; here a diagonal is all there is, and zero information is common.

    Attributes:
        mean: (K,).
        information: (K,) 1 / sigma^2; zero where nothing is known.
    """

    mean: Array
    information: Array

    @classmethod
    def uninformative(cls, count: int) -> Gaussian:
        """Of `count` parameters of which nothing is known."""
        return cls(np.zeros(count), np.zeros(count))


def segments(samples: int, length: int, breaks: tuple[int, ...]) -> IntArray:
    """First samples of segments of a length, anew at every break; what is left over makes the last one longer."""
    edges = [0, *breaks, samples]
    parts = []
    for begin, end in pairwise(edges):
        count = max((end - begin) // max(length, 1), 1)
        parts.append(begin + length * np.arange(count))
    return np.concatenate(parts).astype(np.int64)
