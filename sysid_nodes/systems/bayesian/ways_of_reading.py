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
_KNOWN = np.log(2.0) / 3.0  # sigma of the logarithm of the links' weight, with which such a scale is three of them off
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


def rescalings(own: Parameters, m: int) -> Iterator[Way]:
    """Ways in which all torques have another unit, or are of the other side of the gears.

    None where the weight that the links have together is hardly known: many constants of which little is known speak
    for whatever makes their deviations smaller, as wide priors of friction do. What masses may be off by counts as one
    error of all, as of a description that has it all too light.
    """
    mass = own.inertia(own.mean)[:, 0]
    known = float(mass @ (2.0 * own.sigma[: 10 * own.n : 10]) / mass.sum())  # sigma of a logarithm
    told = own.total_mass is not None or known < _KNOWN
    for scale in _SCALES if told else ():
        yield Way(f"{scale:g} times what was read", np.arange(m), np.full(m, scale), scale)
