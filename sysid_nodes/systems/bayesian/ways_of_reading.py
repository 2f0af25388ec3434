# SPDX-License-Identifier: Apache-2.0
"""Ways in which torques may have been read: turned round at a joint, two joints' swapped, of another scale."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.parameters import Parameters

Array = npt.NDArray[np.float64]

_SCALES = (0.5, 2.0)
_DRIVES = ("coulomb", "stiction", "viscous", "armature", "offset")
"""Constants of joints that grow with torques and are not links'."""


@dataclass(frozen=True)
class Way:
    """A way of reading torques: that of motor j is `factor[j]` times what was read at `source[j]`, and the prior of
    what drives have of their own is `scale` times as large."""

    words: str
    source: npt.NDArray[np.intp]
    factor: Array
    scale: float = 1.0

    def prior(self, own: Parameters) -> Parameters:
        """Constants with the prior that goes with this way."""
        mean, sigma = own.mean.copy(), own.sigma.copy()
        for name in _DRIVES:
            mean[own.joint(name)] *= self.scale
            sigma[own.joint(name)] *= self.scale
        return replace(own, mean=mean, sigma=sigma)


def rewirings(joints: Sequence[str]) -> Iterator[Way]:
    """Ways in which one joint's torque is turned round, or two joints' are swapped."""
    m, own = len(joints), np.arange(len(joints))
    for j, name in enumerate(joints):
        yield Way(f"turned round at '{name}'", own, np.where(own == j, -1.0, 1.0))
    for i, j in combinations(range(m), 2):
        source = own.copy()
        source[[i, j]] = j, i
        yield Way(f"those of '{joints[i]}' and '{joints[j]}' swapped", source, np.ones(m))


def rescalings(m: int) -> Iterator[Way]:
    """Ways in which all torques have another unit, or are of the other side of the gears."""
    for scale in _SCALES:
        yield Way(f"{scale:g} times what was read", np.arange(m), np.full(m, scale), scale)
