# SPDX-License-Identifier: Apache-2.0
"""Rollout of one joint with forward sensitivities, and its adjoint, in NumPy; joint_rollout.cpp does the same.

The joint obeys (M + I_a) dw/dt = tau(q, w) - load. A step of length h solves for the velocity w at t + theta h,

    (M + I_a) (w - v) / (theta h) = tau(q + theta h w, w) - load,    v+ = v + (w - v) / theta,    q+ = q + h w,

which is stable however steep friction is (theta > 1/2), holds a joint that sticks, and is of second order but for
(theta - 1/2) h: a hundredth of a step. The left side less the right grows with w, so that Newton's method, kept
within what is known to enclose the root, finds it. Sensitivities follow from the implicit function theorem. All
segments are rolled out at once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.joint_law import ARMATURE, INERTIA, LAW, LOAD, SIGNALS, LawValue, joint_law

Array = npt.NDArray[np.float64]

THETA = 0.51
"""Above 1/2, so that the velocity of a joint that comes to rest rings down within a hundred steps; it stays."""

LEFT = 1e-9
"""Error of a step's velocity [rad/s]: after a Newton step it is its square over the smoothing speed, at most."""

MOST = 50
"""Newton steps; bisection alone would need no more."""


def joint_rollout(
    signals: Array,
    law: Array,
    first: npt.NDArray[np.int64],
    start: Array,
    active: npt.NDArray[np.int64],
    step: float,
    stride: int,
    smoothing: float,
    hard: bool,
) -> tuple[Array, Array]:
    """See `kernel.joint_rollout.joint_rollout`."""
    total = len(signals)
    lengths = np.diff([*first.tolist(), total])
    state = np.zeros((total // stride + 1, 2))
    levels = SIGNALS + len(law) - len(LAW)
    slopes = np.zeros((total // stride + 1, len(active) + signals.shape[1] - levels + 2))
    q, v = start[:, 0].copy(), start[:, 1].copy()
    dq = np.zeros((len(first), slopes.shape[1]))
    dv = np.zeros_like(dq)
    dq[:, -2] = dv[:, -1] = 1.0
    guess, before = v.copy(), v.copy()
    span = THETA * step
    for k in range(int(lengths.max()) + 1):
        if k % stride == 0:
            # The last state of a segment is the next one's to give, but for the last segment.
            own = (k < lengths) | ((k == lengths) & (np.arange(len(first)) == len(first) - 1))
            rows = (first[own] + k) // stride
            state[rows, 0], state[rows, 1], slopes[rows] = q[own], v[own], dq[own]
        going = k < lengths
        row, added = np.split(signals[np.minimum(first + k, total - 1)], [levels], axis=1)
        inertia = row[:, INERTIA] + law[ARMATURE]
        w, value = _solve(q, v, 2.0 * guess - before, row, law, inertia, span, smoothing, hard)
        before, guess = guess, w
        stiff = inertia / span - value.by_position * span - value.by_velocity
        by_active = value.by_parameters[:, active]
        by_active[:, active == ARMATURE] = -((w - v) / span)[:, None]
        right = inertia[:, None] / span * dv + value.by_position[:, None] * dq
        right[:, :-2] += np.concatenate([by_active, added], axis=1)
        dw = right / stiff[:, None]
        dv = dv + (dw - dv) / THETA
        dq = dq + step * dw
        v = v + (w - v) / THETA
        q = q + step * w
        if not going.any():
            break
    return state, slopes


def joint_adjoint(by_position: Array, by_velocity: Array, to_position: Array, to_velocity: Array, step: float) -> Array:
    """See `kernel.joint_rollout.joint_adjoint`."""
    found = np.empty_like(by_position)
    to_q, to_v = to_position[:, -1].copy(), to_velocity[:, -1].copy()
    for k in range(by_position.shape[1] - 1, -1, -1):
        to_w = found[:, k] = to_v / THETA + step * to_q
        to_q += to_w * by_position[:, k] + to_position[:, k]
        to_v = to_v * (1.0 - 1.0 / THETA) + to_w * by_velocity[:, k] + to_velocity[:, k]
    return found


def _solve(
    q: Array,
    v: Array,
    w: Array,
    row: Array,
    law: Array,
    inertia: Array,
    span: float,
    smoothing: float,
    hard: bool,
) -> tuple[Array, LawValue]:
    """Velocities within the step, and the law as of each joint's last Newton step."""
    low, high = np.full_like(w, -np.inf), np.full_like(w, np.inf)
    done = np.zeros(w.shape, dtype=np.bool_)
    value = joint_law(q + span * w, w, row, law, smoothing, hard)
    for _ in range(MOST):
        excess = inertia * (w - v) / span - value.torque + row[:, LOAD]
        low, high = np.where(excess < 0.0, w, low), np.where(excess > 0.0, w, high)
        tried = w - excess / (inertia / span - value.by_position * span - value.by_velocity)
        with np.errstate(invalid="ignore"):  # before both ends are known
            middle = 0.5 * (low + high)
        # Not "outside": a step that is not a number must not be taken either.
        inside = (tried >= low) & (tried <= high)
        tried = np.where(inside | ~np.isfinite(middle), tried, middle)
        last = (tried - w) ** 2 <= LEFT * smoothing
        w = np.where(done, w, tried)
        done |= last
        if done.all():
            break
        found = joint_law(q + span * w, w, row, law, smoothing, hard)
        value = LawValue(*(_where(done, old, new) for old, new in zip(value, found, strict=True)))
    return w, value


def _where(mask: npt.NDArray[np.bool_], left: Array, right: Array) -> Array:
    return np.where(mask if left.ndim == 1 else mask[:, None], left, right)
