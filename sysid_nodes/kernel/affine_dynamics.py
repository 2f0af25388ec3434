# SPDX-License-Identifier: Apache-2.0
"""The compiled affine recursion of an arm of turning joints, where it was built.

Its reference is systems/certified/certificate/bodies.py; affine forms are triples of arrays here, as in intervals/:
centre (T, ...), terms (S, T, ...) and remainder (T, ...).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel import implementation
from sysid_nodes.kernel.tree import Tree

try:
    from sysid_nodes.kernel import _affine_dynamics
except ImportError:
    _affine_dynamics = None  # type: ignore[assignment]

Array = npt.NDArray[np.float64]
Parts = tuple[Array, Array, Array]


@dataclass(frozen=True)
class AffineDynamics:
    """The recursion of one tree; sines and cosines are those of the joints' positions, forms (T, n)."""

    tree: Tree

    def frames(self, sine: Parts, cosine: Parts) -> tuple[Parts, Parts]:
        """Joints' frames in the base: rotations (T, 9 n), each by rows, and origins (T, 3 n)."""
        rotation, origin = _affine_dynamics.frames(*self._constants(), *_plain(sine, cosine))
        return rotation, origin

    def dynamics(self, sine: Parts, cosine: Parts, qd: Parts, qd_a: Parts, qdd: Parts) -> tuple[Parts, ...]:
        """Each body's w, u, alpha and s (T, 3 n); of P pairs of a body and a joint that moves it, body by body and from
        the base on, linear and angular levers (T, 3 P) and torque coefficients (T, 10 P)."""
        forms = _plain(sine, cosine, qd, qd_a, qdd)
        return tuple(_affine_dynamics.dynamics(*self._constants(), *forms))

    def _constants(self) -> tuple[npt.NDArray[Any], ...]:
        tree = self.tree
        constants = (tree.rotation, tree.translation, tree.axis, tree.gravity)
        parents = np.ascontiguousarray(tree.parents, dtype=np.int64)
        return (parents, *(np.ascontiguousarray(x, dtype=np.float64) for x in constants))


def affine_dynamics(tree: Tree, symbols: int) -> AffineDynamics | None:
    """The compiled recursion for forms over so many symbols; None where there is none.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation() != "compiled" or _affine_dynamics is None or not tree.revolute.all():
        return None
    return AffineDynamics(tree) if symbols <= _affine_dynamics.most_symbols else None


def _plain(*forms: Parts) -> list[Array]:
    return [np.ascontiguousarray(x, dtype=np.float64) for form in forms for x in form]
