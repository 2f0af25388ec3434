# SPDX-License-Identifier: Apache-2.0
"""Errors of the robust controller, whatever the model in its box and whatever the errors in their bounds.

With r = qd_a - qd the closed loop of models/robust_control.py is M dr/dt + C(q, qd) r + F_v r = w - v, w the
disturbance: what the true model needs at (q, qd, qd_a, qdd_a) less what the nominal one feeds forward from the
*measured* state. Along it V = r' M(q) r / 2 obeys (Mdot - 2 C is skew)

    Vdot = r' (w - v) - r' F_v r.

What is not a matter of joints one by one:

- What errors add to w through qdd_a = qdd_d + K_r r - K_r^2 e. With D >= M - M0 diagonal and |M - M0| <= delta in the
  norm of the armature I_a <= M, r' times it is at most K_r r' D r + K_r^2 delta |r| |e|, norms being those of I_a.
- Torque is held while r moves on, by d = r(t) - r(t_k): v_j is off by at most K_j |d_j|, M0 qdd_a by K_r M0 d. By
  Cauchy and Schwarz that costs at most (sqrt(sum K_j^2 r_j^2 / I_a,j) + K_r m |r|) a A, where |M0| <= m in the norm of
  I_a, |dr/dt| <= A in that of M, and a is the age of the joint state behind the torque. With p the largest of K_r m
  I_a,j / K_j the bracket's square is at most sum (1 + p)^2 K_j^2 r_j^2 / I_a,j; of a joint whose v is clipped, then
  and now, no more than the share p / (1 + p) is left.

All are products x y <= x^2 / (2 b) + b y^2 / 2, for every b > 0. With x^2 so divided among the joints, and a noise
rho_j of r_j at the controller, what is left is a sum of one function g_j of |r_j| a joint, and for every c > 0

    Vdot <= 2 c (V* - V),   2 V* = sum_j max_{|r_j| <= R_j} (g_j(|r_j|) / c + mu_j r_j^2) + constants / c

as long as |r_j| <= R_j and M <= diag(mu). V is then at most V* + (L - V*) exp(-2 c t), L its bound at the start.

The age a runs from the delay up by one period, again and again. Its square may be replaced by the mean over a period up
to a ripple: what a square exceeds its mean by, times exp(-2 c (t - s)), integrates to at most one period's share of the
largest square (by parts; the integral without the exponential is zero from period to period and never positive, as the
age grows within one). Shorter periods or delays only make the age smaller.

Since I_a <= M, r lies in the ellipsoid sum I_a,j r_j^2 <= 2 V, and by de/dt = r - K_r e the norm of e in I_a obeys
d|e|/dt <= |r| - K_r |e|. Errors assumed for w and A are proven when those that follow lie strictly inside: V and e are
continuous and what bounds dr/dt depends continuously on the past, so none of them can leave first. Both being
ellipsoids, not boxes, is what keeps this loop's gain below one.

Coulomb friction F_c sign(qd) is fed forward by the measured qd_a as F_c sat(qd_a / width). The signs differ only where
|r_j| < width + nu_j, nu the error of qd_a at the controller, and then F_c r_j (sign - sat) is at most F_c times the
largest x (1 - sat((x - nu) / width)); a joint at rest, where friction is anything up to F_c, has qd_a = r.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import (
    INFLATE,
    Assumed,
    ClosedLoop,
    Disturbance,
    Rates,
    recent,
)

_DECAY = np.geomspace(0.015, 0.6, 16)
"""c to try, in parts of the least K_j / mu_j."""
_SPLIT = np.geomspace(0.05, 0.4, 6)
"""b to try, as the largest K_j / (2 b I_a,j): the share of K that it costs."""
_DRAG = 0.2
"""Share of the decay that a product with |e| may cost."""


class Errors(NamedTuple):
    """Errors that follow from an assumption, over T intervals.

    Attributes:
        level: (T,) bound on V [J].
        position: (T,) bound on sqrt(sum I_a,j e_j^2) [kg^0.5 rad].
    """

    level: Array
    position: Array


def propagate(
    loop: ClosedLoop, found: Disturbance, assumed: Assumed, rate: Rates, edges: Array, start: Entry
) -> Errors:
    """Bounds on V and e along the motion, valid while the errors are as assumed.

    Args:
        loop: the closed loop.
        found: disturbances under the assumption.
        assumed: the assumption.
        rate: of r under the assumption.
        edges: (T + 1,) of the intervals [s], each at least as long as the loop's age; the last may be infinite.
        start: errors until the first torque of this motion acts, which is when they begin to decay.
    """
    mu = found.inertia.sum(axis=2)
    decay = _DECAY * float((loop.damping / mu).min())
    star, ripple = _stationary(loop, found, assumed, rate, decay)
    gain = loop.position_gain
    step = np.diff(edges)
    # The first torque acts between 0 and one age after the start.
    shortest = step - np.where(np.arange(len(step)) == 0, loop.age, 0.0)
    fades = [np.exp(-2.0 * decay * s[:, None])[:, :, None] for s in (shortest, step)]
    fadings = [np.exp(-gain * s) for s in (shortest, step)]
    level, position = start.level * INFLATE, start.position * INFLATE
    levels, positions = np.empty((2, len(step)))
    for i in range(len(step)):
        excess = level - star[i]
        after = star[i] + np.maximum(excess * fades[0][i], excess * fades[1][i])
        levels[i] = INFLATE * (np.maximum(level, after) + ripple[i]).min()
        level = INFLATE * (after + ripple[i]).min()
        pushed = np.sqrt(2.0 * levels[i]) / gain * INFLATE
        excess = position - pushed
        later = pushed + max(excess * fadings[0][i], excess * fadings[1][i])
        positions[i] = max(position, later) * INFLATE
        position = later * INFLATE
    return Errors(levels, positions)


def _stationary(
    loop: ClosedLoop, found: Disturbance, assumed: Assumed, rate: Rates, decay: Array
) -> tuple[Array, Array]:
    """V* and the ripple over a period [J], (T, decays, splits) each, for every interval, c and b."""
    gain = loop.position_gain
    split = float((loop.damping / loop.armature_lower).max()) / (2.0 * _SPLIT)
    dragged = (gain**2 * rate.mismatch * assumed.position)[:, None] ** 2 / (4.0 * _DRAG * decay)
    held = 0.5 * split * (recent(rate.speed) ** 2)[:, None, None]
    constant = (held * loop.mean_square_age + dragged[..., None]) / decay[:, None]
    star = 0.5 * (_largest(loop, found, assumed, rate, decay, split).sum(axis=-1) + constant) * INFLATE
    return np.asarray(star), np.asarray(held * loop.period * loop.age**2 * INFLATE)


def _smoothing_power(loop: ClosedLoop, found: Disturbance) -> Array:
    """(T, n) F_c times the largest x (1 - sat((x - nu) / width)) over x >= 0 [W]."""
    width, nu = loop.sign_width, found.reference_shift
    return np.asarray(
        loop.coulomb_upper * np.where(nu <= 3.0 * width, (width + nu) ** 2 / (4.0 * width), 2.0 * (nu - width))
    )


def _largest(loop: ClosedLoop, found: Disturbance, assumed: Assumed, rate: Rates, decay: Array, split: Array) -> Array:
    """max over |r_j| <= R_j of g_j(|r_j|) / c + mu_j r_j^2: (T, decays, splits, n).

    Below the knee the robust input is linear; far enough beyond it the torque in force is clipped as well, so that
    neither noise nor holding changes it.
    """
    c, b = decay[:, None, None], split[None, :, None]
    full = assumed.tube(loop).reference
    knee = np.minimum(loop.limit / loop.damping, full)
    stale = loop.age * recent(assumed.acceleration) + loop.reference_noise
    beyond = np.minimum(knee + stale, full)
    noise = loop.damping * loop.reference_noise
    push, mu, fed, knee, beyond, full, smoothing = (
        x[:, None, None, :]
        for x in (
            found.torque,
            found.inertia.sum(axis=2),
            loop.position_gain * found.inertia_error.sum(axis=2),
            knee,
            beyond,
            full,
            _smoothing_power(loop, found),
        )
    )
    # (x + y)^2 <= (1 + p) x^2 + (1 + 1 / p) y^2, y_j <= p x_j.
    share = (loop.position_gain * rate.weight * (loop.armature_lower / loop.damping).max())[:, None, None, None]
    spread = (1.0 + share) * loop.damping**2 / (2.0 * b * loop.armature_lower)
    tail = fed + _DRAG * c * loop.armature_lower - loop.viscous_lower
    bends = [
        x / c + mu
        for x in ((1.0 + share) * spread + tail - loop.damping, (1.0 + share) * spread + tail, share * spread + tail)
    ]
    spans = ((np.zeros(1), knee), (knee, beyond), (beyond, full))

    def largest(pushed: Array) -> Array:
        slopes = (pushed + noise, pushed + noise - loop.limit, pushed - loop.limit)
        first, second, third = (
            _peak(slope / c, bend, *span) for slope, bend, span in zip(slopes, bends, spans, strict=True)
        )
        return np.maximum(np.maximum(first, second), third)

    # Friction that is taken for the wrong sign costs at most 2 F_c |r|, or a constant.
    return np.minimum(largest(push + 2.0 * loop.coulomb_upper), largest(push) + smoothing / c)


def _peak(slope: Array, bend: Array, start: Array, end: Array) -> Array:
    """Largest value of slope x + bend x^2 for start <= x <= end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.where(bend < 0.0, -0.5 * slope / bend, end)
    x = np.minimum(np.maximum(top, start), end)
    return np.asarray(np.maximum((slope + bend * x) * x, (slope + bend * start) * start))
