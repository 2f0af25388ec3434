# SPDX-License-Identifier: Apache-2.0
"""Inverse-dynamics and energy regression on motion smoothed by Savitzky and Golay, as in the paper's Table II.

Rows A phi = b are linear in inertial parameters and friction. Both methods take the likeliest constants, with the same
prior as ours and with inertias that are physical (log-Cholesky vectors; the paper: exponential eigenvalues). Where
loops close, positions are closed first, and rows are projected on the motions that loops leave, so that constraint
forces drop out. The paper tunes the window; here each gets the one that is best in hindsight (bayesian_tables.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.signal import savgol_filter

from sysid_nodes.kernel import reference
from sysid_nodes.models.regressors import momentum_regressors, standard_regressor
from sysid_nodes.systems.bayesian.initial_motion import initial_positions
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism
from sysid_nodes.systems.bayesian.parameters import Parameters

Array = npt.NDArray[np.float64]

_DEGREE = 3
_INTERVAL = 0.1  # [s] over which work is compared with energy
_PASSES = 3  # of the rows' standard deviations, each from the residuals of the one before


@dataclass(frozen=True)
class SmoothMotion:
    """Motion (K, n), torques (K, n), zero at joints without a motor, and (K, n, f) motions that loops leave."""

    t: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    free: Array


def closed_positions(mechanism: Mechanism, log: MechanismLog) -> Array:
    """(N, n) positions of all joints, the readings as they are, and where loops close those that close them."""
    if not mechanism.closures.count:
        return log.position
    return initial_positions(mechanism, log)


def smooth(mechanism: Mechanism, log: MechanismLog, positions: Array, window: float) -> SmoothMotion:
    """Local cubics over a window [s], its ends left out."""
    length = max(_DEGREE + 2, 2 * int(0.5 * window / log.step) + 1)
    q, v, a = (savgol_filter(positions, length, _DEGREE, deriv=k, delta=log.step, axis=0) for k in range(3))
    torque = np.zeros_like(q)
    torque[:, mechanism.parameters.motors] = log.torque
    inside = slice(length // 2, len(q) - length // 2)
    q, v, a, torque = (part[inside] for part in (q, v, a, torque))
    free = np.broadcast_to(np.eye(q.shape[1]), (len(q), q.shape[1], q.shape[1]))
    if count := mechanism.closures.count:
        free = np.linalg.svd(mechanism.closures.linearise(q)[1])[2][:, count:].swapaxes(1, 2)
    return SmoothMotion(log.t[inside], q, v, a, torque, free)


def inverse_dynamics(mechanism: Mechanism, motion: SmoothMotion) -> Array:
    """(P,) constants by regression of torques."""
    own = mechanism.parameters
    bodies = standard_regressor(mechanism.chain, motion.q, motion.v, motion.a)
    turned = np.tanh(motion.v / own.constants(own.mean, "turning_speed"))
    joints = np.concatenate([_diagonal(turned), _diagonal(motion.v)], axis=2)
    right = motion.torque - own.constants(own.mean, "armature") * motion.a
    across = motion.free.swapaxes(1, 2)
    rows = across @ np.concatenate([bodies, joints], axis=2)
    kinds = (
        np.tile(np.arange(rows.shape[1]), len(rows))
        if not mechanism.closures.count
        else np.zeros(rows[..., 0].size, int)
    )
    return _fit(own, rows.reshape(-1, rows.shape[2]), np.einsum("kfn,kn->kf", across, right).ravel(), kinds)


def energy(mechanism: Mechanism, motion: SmoothMotion) -> Array:
    """(P,) constants by regression of energies: what motors did, less what friction took, is what the robot gained."""
    own, v = mechanism.parameters, motion.v
    momentum, _ = momentum_regressors(mechanism.chain, motion.q, v)
    stored = 0.5 * np.einsum("kn,knp->kp", v, momentum) + _potential(mechanism, motion.q)
    turned = np.tanh(v / own.constants(own.mean, "turning_speed"))
    rates = np.concatenate([turned * v, v**2, np.sum(motion.torque * v, axis=1, keepdims=True)], axis=1)
    step = motion.t[1] - motion.t[0]
    work = np.concatenate([np.zeros((1, rates.shape[1])), np.cumsum(0.5 * step * (rates[1:] + rates[:-1]), axis=0)])
    edges = np.arange(0, len(v), max(1, round(_INTERVAL / step)))
    rotors = np.sum(0.5 * own.constants(own.mean, "armature") * v[edges] ** 2, axis=1)
    rows = np.concatenate([np.diff(stored[edges], axis=0), np.diff(work[edges, :-1], axis=0)], axis=1)
    right = np.diff(work[edges, -1]) - np.diff(rotors)
    return _fit(own, rows, right, np.zeros(len(rows), int))


def _diagonal(values: Array) -> Array:
    out = np.zeros((*values.shape, values.shape[1]))
    joint = np.arange(values.shape[1])
    out[:, joint, joint] = values
    return out


def _potential(mechanism: Mechanism, q: Array) -> Array:
    """(K, 10 n) of the bodies' parameters, from the base's origin [J]."""
    chain = mechanism.chain
    motion = reference.forward_kinematics(chain.tree, q, np.zeros_like(q))
    out = np.zeros((len(q), chain.n, 10))
    out[:, :, 0] = -np.einsum("ick,c->ki", motion.origin, chain.tree.gravity)
    out[:, :, 1:4] = -np.einsum("icdk,c->kid", motion.rotation, chain.tree.gravity)
    return out.reshape(len(q), -1)


def _fit(own: Parameters, rows: Array, right: Array, kinds: npt.NDArray[np.int64]) -> Array:
    """(P,) most likely constants for rows (R, 10 n + 2 n) by bodies' parameters, Coulomb's and viscous friction."""
    free = own.free
    columns = np.r_[0 : 10 * own.n, own.joint("coulomb"), own.joint("viscous")]
    sigma = np.full(kinds.max() + 1, np.std(right))
    x = own.mean.copy()

    def told(theta: Array) -> Array:
        x[free] = theta
        return np.concatenate([own.inertia(x).ravel(), x[columns[10 * own.n :]]])

    def slope(theta: Array) -> Array:
        x[free] = theta
        by_x = np.zeros((len(columns), len(x)))
        for i, part in enumerate(own.inertia_jacobian(x)):
            by_x[own.body(i), own.body(i)] = part
        by_x[np.arange(10 * own.n, len(columns)), columns[10 * own.n :]] = 1.0
        return by_x[:, free]

    def off(root: Array, theta: Array) -> Array:
        return np.concatenate([root[:, :-1] @ told(theta) - root[:, -1], (theta - own.mean[free]) / own.sigma[free]])

    def steepness(root: Array, theta: Array) -> Array:
        return np.concatenate([root[:, :-1] @ slope(theta), np.diag(1.0 / own.sigma[free])])

    theta = np.maximum(own.mean[free], own.lower[free] + 1e-6 * own.sigma[free])
    for _ in range(_PASSES):
        weighted = np.column_stack([rows, right]) / sigma[kinds][:, None]
        root = np.asarray(np.linalg.qr(weighted, mode="r"))  # all that the rows say, in as many rows as columns
        found = least_squares(
            partial(off, root),
            theta,
            partial(steepness, root),
            bounds=(own.lower[free], np.inf),
            x_scale=own.sigma[free],
            max_nfev=50,
        )
        theta = found.x
        left = rows @ told(theta) - right
        sigma = np.sqrt(np.bincount(kinds, left**2) / np.bincount(kinds))
    x[free] = theta
    return x.copy()
