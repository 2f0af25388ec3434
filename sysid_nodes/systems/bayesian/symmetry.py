# SPDX-License-Identifier: Apache-2.0
"""Links that are made alike, or as mirror images, as linear equalities of their log-Cholesky vectors.

A body that is reflected by S = diag(1, -1, 1, 1) has the pseudo-inertia S P S = (S M S)(S M S)', and S M S is upper
triangular with a positive diagonal as M is: the reflection turns signs of log-Cholesky coordinates and does nothing
else. So symmetry is linear in them, whatever the inertia.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_AXES = "xyz"
_OF = ("", "", "", "", "xy", "yz", "xz", "x", "y", "z")
"""Axes along which a coordinate is odd: two of them cancel out."""
_UNLIKE = 1.0  # prior sigmas by which the description itself may differ
_RANK = 1e-9


def symmetry_rows(words: Sequence[str], links: Sequence[str], unknown: BoolArray, mean: Array, sigma: Array) -> Array:
    """(r, 10 n) orthonormal rows whose product with all bodies' coordinates is zero.

    Args:
        words: "LINK:LINK", or "LINK:LINK:AXES" for links mirrored along axes of their frames, "y" or "xy".
        links: (n,) of the bodies.
        unknown: (n,) whether a body's inertia is.
        mean, sigma: (n, 10) prior of its coordinates.

    Raises:
        ConfigError: a word says something else, or the description is not symmetric in that way.
    """
    rows = [np.zeros((0, mean.size))]
    for word in filter(None, words):
        first, second, axes = _read(word, links, unknown)
        sign = np.array([(-1.0) ** sum(axis in axes for axis in own) for own in _OF])
        off = np.abs(mean[first] - sign * mean[second]) / np.minimum(sigma[first], sigma[second])
        if off.max() > _UNLIKE:
            raise ConfigError(f"'inertia.symmetric': '{word}' is not so in the description, by {off.max():.2g} sigma")
        row = np.zeros((10, len(links), 10))
        row[:, first] += np.eye(10)
        row[:, second] -= np.diag(sign)
        rows.append(row.reshape(10, -1))
    _, size, basis = np.linalg.svd(np.concatenate(rows), full_matrices=False)
    return np.asarray(basis[size > _RANK])


def _read(word: str, links: Sequence[str], unknown: BoolArray) -> tuple[int, int, str]:
    first, _, rest = (part.strip() for part in word.partition(":"))
    second, _, axes = (part.strip() for part in rest.partition(":"))
    for link in (first, second):
        if link not in links or not unknown[links.index(link)]:
            raise ConfigError(f"'inertia.symmetric' names '{link}', which is no link whose inertia is unknown")
    if set(axes) - set(_AXES) or (first == second and not axes):
        raise ConfigError(f"'inertia.symmetric' needs LINK:LINK, or LINK:LINK:AXES with x, y or z; got '{word}'")
    return links.index(first), links.index(second), axes
