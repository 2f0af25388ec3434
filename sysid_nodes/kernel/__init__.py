# SPDX-License-Identifier: Apache-2.0
"""The hot loops of the suite: compiled where they were built, in NumPy everywhere else. Here: rigid-body regressors.

`SYSID_KERNEL=reference` forces NumPy, `SYSID_KERNEL=compiled` refuses to run without the compiled module; unset, the
compiled one is taken when it imports. Both give the same numbers to rounding.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.kernel import reference
from sysid_nodes.kernel.tree import Array, Tree

try:
    from sysid_nodes.kernel import _regressors
except ImportError:
    _regressors = None  # type: ignore[assignment]

IMPLEMENTATIONS = ("compiled", "reference")


def implementation(name: str = "") -> str:
    """Implementation that runs: the one named, else SYSID_KERNEL's, else the fastest there is.

    Raises:
        ConfigError: the name is unknown, or the compiled kernel is asked for and was not built.
    """
    name = name or os.environ.get("SYSID_KERNEL", "") or IMPLEMENTATIONS[_regressors is None]
    if name not in IMPLEMENTATIONS:
        raise ConfigError(f"unknown kernel '{name}'; known: {', '.join(IMPLEMENTATIONS)}", source="SYSID_KERNEL")
    if name == "compiled" and _regressors is None:
        raise ConfigError("the compiled kernel is not built", source="SYSID_KERNEL")
    return name


def window_regressors(
    tree: Tree, t: Array, q: Array, qd: Array, edges: npt.NDArray[np.integer], *, kernel: str = ""
) -> tuple[Array, Array]:
    """Momentum regressor differences and integrals over windows (eqs. 9 and 13, trapezoid for the integral).

    Args:
        tree: n joints.
        t: (N,) stamps [s].
        q, qd: (N, n) positions and velocities.
        edges: (n_windows, 2) index of the first and of the last sample of each window; windows may share samples.
        kernel: "compiled", "reference", or empty for the best there is.

    Returns:
        dW_m, int_W_c: (n_windows, n, 10 n) each.

    Raises:
        SamplesError: shapes do not fit the tree, or an edge is out of range or out of order.
        ConfigError: see `implementation`.
    """
    n = len(tree.parents)
    stamps, position, velocity = (np.ascontiguousarray(x, dtype=np.float64) for x in (t, q, qd))
    pairs = np.ascontiguousarray(edges, dtype=np.int64)
    if stamps.ndim != 1 or position.shape != (stamps.size, n) or velocity.shape != position.shape:
        raise SamplesError(
            f"q and qd must have shape ({stamps.size}, {n}) for stamps of shape {stamps.shape}, "
            f"got {position.shape} and {velocity.shape}"
        )
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise SamplesError(f"window edges must have shape (n_windows, 2), got {pairs.shape}")
    if pairs.size and (pairs.min() < 0 or pairs.max() >= stamps.size or (pairs[:, 0] > pairs[:, 1]).any()):
        raise SamplesError(f"window edges must satisfy 0 <= first <= last < {stamps.size}")
    if implementation(kernel) == "compiled":
        return _regressors.window_regressors(*tree, stamps, position, velocity, pairs)
    return reference.window_regressors(tree, stamps, position, velocity, pairs)


def standard_regressor(tree: Tree, q: Array, qd: Array, qdd: Array, *, kernel: str = "") -> Array:
    """W with M(q) qdd + C(q, qd) qd + g(q) = W theta (eq. 10): (N, n, 10 n).

    Args:
        tree: n joints.
        q, qd, qdd: (N, n).
        kernel: as of `window_regressors`.

    Raises:
        ConfigError: see `implementation`.
    """
    if implementation(kernel) == "compiled":
        states = (np.ascontiguousarray(x, dtype=np.float64) for x in (q, qd, qdd))
        return _regressors.standard_regressor(*tree, *states)
    return reference.standard_regressor(tree, q, qd, qdd)


def joint_frames(tree: Tree, q: Array, *, kernel: str = "") -> tuple[Array, Array, Array]:
    """Joints' frames in the base, and their motion vectors (linear, angular) at its origin in its axes.

    Args:
        tree: n joints.
        q: (N, n).
        kernel: as of `window_regressors`.

    Returns:
        rotation (N, n, 3, 3), origin (N, n, 3) [m], jacobian (N, n, 6).

    Raises:
        ConfigError: see `implementation`.
    """
    if implementation(kernel) == "compiled":
        return _regressors.joint_frames(*tree, np.ascontiguousarray(q, dtype=np.float64))
    motion = reference.at_rest(tree, q)
    return motion.rotation.transpose(3, 0, 1, 2), motion.origin.transpose(2, 0, 1), motion.jacobian.transpose(2, 0, 1)
