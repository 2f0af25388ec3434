# SPDX-License-Identifier: Apache-2.0
"""Readings that are older than their stamps: a driver that sends the last one again until there is a new one.

A joint at rest repeats itself, and so does a coarse encoder of a slow joint. A reading is stale where it is that of the
sample before in every digit although, right before and after, the joint goes the same way by more than the encoder
resolves. A fit takes such readings for a longer delay.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_LONGEST = 200  # samples in a row; a joint that repeats itself for longer is at rest
_STEPS = 2.0  # of the encoder, by which a joint that moves goes on
_TOO_MANY = 0.2  # of the readings of a joint that moves


def fresh_samples(q: Array, names: tuple[str, ...]) -> BoolArray:
    """(N,) whether a sample of readings (N, n) is new; those that send the last one again are not.

    Raises:
        LogError: single joints repeat their readings while others do not: nobody knows when theirs were taken.
    """
    steps = np.diff(q, axis=0, prepend=q[:1])
    stale = np.stack([_stale(column) for column in steps.T], axis=1)
    fresh = ~((steps == 0.0).all(axis=1) & stale.any(axis=1))
    repeats = stale[fresh].sum(axis=0)
    shares = repeats / np.maximum(repeats + (steps != 0.0).sum(axis=0), 1)
    worst = int(np.argmax(shares))
    if shares[worst] > _TOO_MANY:
        raise LogError(
            f"joint '{names[worst]}' repeats {100.0 * shares[worst]:.0f} % of its readings while it moves: "
            "they are older than their stamps"
        )
    return np.asarray(fresh)


def _stale(steps: Array) -> BoolArray:
    """(N,) of one joint's steps from sample to sample, the first of which is zero."""
    changes = np.flatnonzero(steps)
    if changes.size < 2:
        return np.zeros(len(steps), dtype=np.bool_)
    finest = np.abs(steps[changes]).min()
    at = np.arange(len(steps))
    following = np.searchsorted(changes, at)
    inside = (steps == 0.0) & (following > 0) & (following < changes.size)
    after = changes[np.minimum(following, changes.size - 1)]
    before = changes[np.maximum(following - 1, 0)]
    goes_on = np.minimum(steps[before] * np.sign(steps[after]), np.abs(steps[after])) > _STEPS * finest
    return np.asarray(inside & goes_on & (after - before <= _LONGEST))
