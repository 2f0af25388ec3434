# SPDX-License-Identifier: Apache-2.0
"""Rollout of one joint with forward sensitivities, and adjoint: compiled where it was built, else in NumPy, the same.

Forward sensitivities are for a few parameters, the adjoint is for many: the weights of a network.
"""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.kernel import implementation, joint_rollout_reference
from sysid_nodes.kernel.joint_law import LAW, SIGNALS

try:
    from sysid_nodes.kernel import _joint_rollout
except ImportError:
    _joint_rollout = None  # type: ignore[assignment]

Array = npt.NDArray[np.float64]


class Rollout(NamedTuple):
    """States at the samples and the derivatives of the positions.

    Attributes:
        position, velocity: (S,) [rad, rad/s]; where a segment begins, its own start.
        slopes: (S, K + E + 2) derivatives of the position by the active parameters, by the amplitudes of added torques,
            and by position and velocity at the start of the sample's segment.
    """

    position: Array
    velocity: Array
    slopes: Array


def joint_rollout(
    signals: Array,
    law: Array,
    first: npt.NDArray[np.integer],
    start: Array,
    active: npt.NDArray[np.integer],
    *,
    step: float,
    stride: int,
    smoothing: float,
    hard: bool = False,
    kernel: str = "",
) -> Rollout:
    """Rolls segments of a motion out, each from a state of its own.

    Args:
        signals: (N, 10 + B + E) columns of `joint_law` at the times (k + THETA) step, and E torques [N m] of amplitude
            zero whose effect is asked for; N = (S - 1) stride.
        law: (12 + B,) parameters of `joint_law`.
        first: (G,) step at which each segment begins, multiples of the stride, the first 0.
        start: (G, 2) position and velocity there.
        active: (K,) parameters by which to differentiate.
        step: length of a step [s].
        stride: steps from one sample to the next.
        smoothing: speed w_0 over which dry friction turns over [rad/s].
        hard: how torque is limited, see `joint_law`.
        kernel: "compiled", "reference", or empty for the best there is.

    Raises:
        SamplesError: shapes do not fit.
        ConfigError: see `kernel.implementation`.
    """
    rows = np.ascontiguousarray(signals, dtype=np.float64)
    parameters = np.ascontiguousarray(law, dtype=np.float64)
    begin, chosen = (np.ascontiguousarray(x, dtype=np.int64) for x in (first, active))
    states = np.ascontiguousarray(start, dtype=np.float64)
    levels = parameters.size - len(LAW)
    if rows.ndim != 2 or parameters.ndim != 1 or levels < 0 or rows.shape[1] < SIGNALS + levels:
        raise SamplesError(f"signals of shape {rows.shape} do not fit a law of shape {parameters.shape}")
    if stride < 1 or len(rows) % stride or not step > 0.0 or not smoothing > 0.0:
        raise SamplesError(f"{len(rows)} steps of {step:g} s are no whole number of samples of {stride} steps each")
    edges = np.append(begin, len(rows))
    if not begin.size or begin[0] or (np.diff(edges) <= 0).any() or (begin % stride).any():
        raise SamplesError("segments must begin at increasing samples, the first at 0")
    if states.shape != (begin.size, 2):
        raise SamplesError(f"{begin.size} segments need as many start states, got shape {states.shape}")
    if chosen.size and (chosen.min() < 0 or chosen.max() >= parameters.size):
        raise SamplesError(f"active parameters must lie in 0..{parameters.size - 1}")
    state, slopes = _module(kernel).joint_rollout(
        rows, parameters, begin, states, chosen, step, stride, smoothing, hard
    )
    return Rollout(state[:, 0], state[:, 1], slopes)


def joint_adjoint(
    by_position: Array, by_velocity: Array, to_position: Array, to_velocity: Array, *, step: float, kernel: str = ""
) -> Array:
    """(G, L) derivatives of a loss by the velocity within each of L steps of G segments, all that follows following.

    Whatever moves a step's velocity directly, as a weight of a network does, moves the loss by its product with these.

    Args:
        by_position, by_velocity: (G, L) derivatives of the velocity within a step by the state that it begins at.
        to_position, to_velocity: (G, L + 1) derivatives of the loss by the states.
        step: length of a step [s].
        kernel: see `joint_rollout`.

    Raises:
        SamplesError: shapes do not fit.
        ConfigError: see `kernel.implementation`.
    """
    arrays = [np.ascontiguousarray(x, dtype=np.float64) for x in (by_position, by_velocity, to_position, to_velocity)]
    count, length = arrays[0].shape
    if [x.shape for x in arrays] != 2 * [(count, length)] + 2 * [(count, length + 1)]:
        raise SamplesError(f"derivatives of {length} steps and of their states do not fit: {[x.shape for x in arrays]}")
    return np.asarray(_module(kernel).joint_adjoint(*arrays, step))


def _module(kernel: str) -> ModuleType:
    compiled = implementation(kernel) == "compiled" and _joint_rollout is not None
    return _joint_rollout if compiled else joint_rollout_reference
