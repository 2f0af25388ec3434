# SPDX-License-Identifier: Apache-2.0
"""Readings that are older than their stamps: a driver that sends the last one again until there is a new one.

A joint at rest repeats itself, and so does a coarse encoder of a slow joint. A reading is stale where it is that of the
sample before in every digit although the joint moves, from sample to sample, by more than the encoder resolves. A fit
takes such readings for a longer delay.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_AROUND = 10  # samples either side over which a joint must go on moving
_STEPS = 2.0  # of the encoder, by which a joint that moves goes on from sample to sample
_TOO_MANY = 0.2  # of the readings of a joint that moves


def fresh_samples(q: Array, names: tuple[str, ...]) -> BoolArray:
    """(N,) whether a sample of readings (N, n) is new; those that send the last one again are not.

    Raises:
        LogError: single joints repeat their readings while others do not: nobody knows when theirs were taken.
    """
    repeated, moving = _repeated(q), _moving(q)
    fresh = ~(repeated.all(axis=1) & moving.any(axis=1))
    kept, moves = repeated[fresh], moving[fresh]
    shares = (kept & moves).sum(axis=0) / np.maximum(moves.sum(axis=0), 1)
    worst = int(np.argmax(shares))
    if shares[worst] > _TOO_MANY:
        raise LogError(
            f"joint '{names[worst]}' repeats {100.0 * shares[worst]:.0f} % of its readings while it moves: "
            "they are older than their stamps"
        )
    return np.asarray(fresh)


def _repeated(q: Array) -> BoolArray:
    same = np.zeros(q.shape, dtype=np.bool_)
    same[1:] = np.diff(q, axis=0) == 0.0
    return same


def _moving(q: Array) -> BoolArray:
    steps = np.abs(np.diff(q, axis=0))
    finest = np.where(steps > 0.0, steps, np.inf).min(axis=0, initial=np.inf)
    at = np.arange(len(q))
    before, after = np.maximum(at - _AROUND, 0), np.minimum(at + _AROUND, len(q) - 1)
    # On both sides: a joint that comes to a stop repeats itself rightly.
    travel = np.minimum(np.abs(q[after] - q), np.abs(q - q[before]))
    return np.asarray(travel > _STEPS * _AROUND * finest)
