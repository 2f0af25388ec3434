# SPDX-License-Identifier: Apache-2.0
"""Whether errors that a certificate claims prove themselves: those that follow from assuming them lie within.

With r = de/dt + K_r e and V = r' M r / 2 the closed loop obeys Vdot = r' (w - v) - r' F_v r (Mdot - 2 C is skew), v
being K r but for its clip, for noise and for having been held for up to one age. As in the derivation that the
certificate refers to (docs/certified/verification.md), r' (w - v) is bounded by a function g_j of each |r_j| and
constants, so that for any c > 0, with V <= sum mu_j r_j^2 / 2,

    Vdot <= 2 c (V* - V),    2 V* = sum_j max_(|r_j| <= R_j) (g_j(|r_j|) / c + mu_j r_j^2) + constants / c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.demand import Assumed, Demand, Law
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.models import Models

Array = npt.NDArray[np.float64]

_MORE = 1.0 + 1e-9
"""Sums of positive terms in double precision lose much less."""
_RATES = np.geomspace(0.012, 0.6, 20)
"""c to try, in parts of the least K_j / mu_j."""
_SHARES = np.geomspace(0.04, 0.4, 8)
"""Shares of K that the product of r and its age may cost."""
_DRAG = 0.2
"""Share of the decay that the product of |r| and |e| may cost."""


@dataclass(frozen=True)
class Start:
    """Errors where a trajectory begins: V, |e| and |dr/dt| in M, until the first of its torques acts."""

    level: float
    position: float
    speed: float


def follows(law: Law, models: Models, parts: Parts, found: Demand, assumed: Assumed, start: Start) -> Assumed:
    """Errors that follow, over the parts."""
    armature = models.least_armature
    speed, acceleration = _rates(law, models, found, assumed, start)
    gain, age = law.gain, law.age
    recent_speed = np.maximum(speed, np.concatenate([speed[:1], speed[:-1]]))
    mu = found.inertia.sum(axis=2)
    decay = _RATES * float((law.damping / mu).min())
    split = float((law.damping / armature).max()) / (2.0 * _SHARES)
    mismatch, weight = _norm(found.inertia_off, armature), _norm(found.inertia, armature)
    # The age runs from the delay up by a period; its square counts by the mean over that, up to a ripple.
    square = law.delay**2 + law.delay * law.period + law.period**2 / 3.0
    held = 0.5 * split * (recent_speed**2)[:, None, None]
    dragged = (gain**2 * mismatch * assumed.position.norm)[:, None, None] ** 2 / (4.0 * _DRAG * decay[:, None])
    peaks = _peaks(law, models, found, assumed, weight, mu, decay, split)
    star = 0.5 * (peaks + (held * square + dragged) / decay[:, None]) * _MORE
    ripple = held * law.period * age**2 * _MORE
    # Each step in time costs a ripple, so that steps are the certificate's intervals and not their parts.
    first = np.flatnonzero(np.diff(parts.interval, prepend=-1))
    star, ripple = (np.maximum.reduceat(x, first, axis=0) for x in (star, ripple))
    level, far = start.level * _MORE, start.position * _MORE
    levels, positions = np.empty((2, len(first)))
    for i, length in enumerate(np.add.reduceat(parts.length, first)):
        # The first torque acts somewhere within the first age.
        times = (length, length - age) if i == 0 else (length,)
        ends = [star[i] + (level - star[i]) * np.exp(-2.0 * decay[:, None] * t) for t in times]
        end = np.max(ends, axis=0)
        levels[i] = (np.maximum(level, end) + ripple[i]).min() * _MORE
        level = (end + ripple[i]).min() * _MORE
        pushed = np.sqrt(2.0 * levels[i]) / gain
        end = max(pushed + (far - pushed) * np.exp(-gain * t) for t in times)
        positions[i] = max(far, end) * _MORE
        far = end * _MORE
    root, size = np.sqrt(armature), np.sqrt(2.0 * levels[parts.interval])
    position, reference = Errors.within(positions[parts.interval], root), Errors.within(size, root)
    return Assumed(position, reference, acceleration, speed, speed)


def _rates(law: Law, models: Models, found: Demand, assumed: Assumed, start: Start) -> tuple[Array, Array]:
    """|dr/dt| in the norm of M (P,) and by joint (P, n): M dr/dt = w - v - F_v r - C r."""
    armature, gain = models.least_armature, law.gain
    root = np.sqrt(armature)
    e, r = assumed.position.each, assumed.reference.each
    before = np.maximum(r, np.concatenate([r[:1], r[:-1]]))
    size = assumed.reference.norm
    viscous, coulomb = models.viscous.sum(axis=1), models.coulomb.sum(axis=1)
    pushed = found.model + models.coulomb[:, 1] + found.moved + law.torque_error + found.held + 2.0 * coulomb

    def weighted_norm(x: Array) -> Array:
        return np.asarray(np.sqrt((x**2 / armature).sum(axis=-1)))

    most = np.maximum(size, np.concatenate([size[:1], size[:-1]]))
    robust = np.minimum(
        (law.damping / armature).max() * most + weighted_norm(law.damping * law.noise), weighted_norm(law.limit)
    )
    unmatched = _norm(found.inertia_off, armature) * gain * (size + gain * assumed.position.norm)
    speed = (
        weighted_norm(pushed) + weighted_norm(found.coriolis) + (viscous / armature).max() * size + robust + unmatched
    )
    speed[0] = max(speed[0], start.speed)
    x = pushed + np.einsum("pjk,pk->pj", found.inertia_off, gain * (r + gain * e)) + viscous * r + found.coriolis
    x = x + np.minimum(law.limit, law.damping * (before + law.noise))
    # I_a^-1 - M^-1 is positive semidefinite and at most I_a^-1 (M - I_a) I_a^-1.
    lever = np.sqrt(found.heavy) / armature
    alone = x / armature + lever * ((lever * x).sum(axis=1, keepdims=True) - lever * x)
    alone[0] = np.maximum(alone[0], start.speed / root)
    return speed * _MORE, np.minimum(alone, speed[:, None] / root) * _MORE


def _norm(size: Array, armature: Array) -> Array:
    """(P,) largest norm, in that of I_a, of matrices with entries up to ``size`` (P, n, n)."""
    root = np.sqrt(armature)
    return np.asarray(np.linalg.eigvalsh(size / root[:, None] / root)[:, -1] * _MORE)


def _peaks(
    law: Law, models: Models, found: Demand, assumed: Assumed, weight: Array, mu: Array, decay: Array, split: Array
) -> Array:
    """(P, decays, splits) sum over the joints of the largest g_j / c + mu_j r_j^2."""
    armature, gain = models.least_armature, law.gain
    coulomb, viscous = models.coulomb.sum(axis=1), models.viscous[:, 0] - models.viscous[:, 1]
    c, b = decay[:, None], split[None, :]
    share = gain * weight * float((armature / law.damping).max())
    width, nu = law.sign_width, found.qd_a_off
    # F_c times the largest x (1 - sat((x - nu) / width)).
    slipped = np.where(nu <= 3.0 * width, (width + nu) ** 2 / (4.0 * width), 2.0 * (nu - width)) * coulomb
    sums = np.zeros((len(weight), len(decay), len(split)))
    for j in range(len(armature)):
        full = assumed.reference.each[:, j, None, None]
        push = (found.model + models.coulomb[:, 1] + found.moved)[:, j, None, None] + law.torque_error[j]
        push = push + law.damping[j] * law.noise[j]
        bend = gain * found.inertia_off[:, j].sum(axis=1)[:, None, None] - viscous[j] + _DRAG * c * armature[j]
        bend = bend + (1.0 + share[:, None, None]) ** 2 * law.damping[j] ** 2 / (2.0 * b * armature[j])
        inner = np.minimum(law.limit[j] / law.damping[j], full)
        heavy = mu[:, j, None, None]

        def largest(
            push: Array,
            j: int = j,
            full: Array = full,
            inner: Array = inner,
            bend: Array = bend,
            heavy: Array = heavy,
        ) -> Array:
            """Of the robust input in proportion to r, and then at its clip."""
            near = _top(push / c, (bend - law.damping[j]) / c + heavy, 0.0 * full, inner)
            far = _top((push - law.limit[j]) / c, bend / c + heavy, inner, full)
            return np.maximum(near, far)

        with_sign = largest(push) + slipped[:, j, None, None] / c
        sums += np.minimum(largest(push + 2.0 * coulomb[j]), with_sign)
    return sums


def _top(slope: Array, bend: Array, start: Array, end: Array) -> Array:
    """Largest slope x + bend x^2 for start <= x <= end."""
    turn = np.where(bend < 0.0, -0.5 * slope / np.where(bend < 0.0, bend, 1.0), end)
    values = [slope * x + bend * x**2 for x in (start, end, np.clip(turn, start, end))]
    return np.asarray(np.max(values, axis=0))
