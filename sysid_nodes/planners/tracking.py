"""How far the robust controller can be off, whatever the model in its box and whatever the errors in their bounds.

With r = qd_a - qd the closed loop of models/robust_control.py is M rd + C(q, qd) r + F_v r = w - v, w the disturbance: what
the true model needs at (q, qd, qd_a, qdd_a) less what the nominal one feeds forward from the *measured* state. Along it
V = r' M(q) r / 2 obeys (Mdot - 2 C is skew)

    Vdot = r' (w - v) - r' F_v r.

Three things keep v from being the ideal -clip(K r): noise of r (componentwise, rho), and the torque being held while r
moves on. Held torque changes v_j by at most K_j |r_j(t) - r_j(t_k)|, so with Cauchy-Schwarz in the norm of the armature
I_a <= M and |rd|_M <= A it costs at most sqrt(sum K_j^2 r_j^2 / I_a,j) h A <= sum K_j^2 r_j^2 / (2 beta I_a,j) + beta (h A)^2 / 2
for every beta > 0, h the age of the joint state behind the torque. The last term acts through its mean over a period, but for
a ripple of V that one period's share of it bounds. What is left is a sum of one function of |r_j| a joint, so for every c > 0

    Vdot <= 2 c (V* - V),   2 V* = sum_j max_{|r_j| <= R_j} (g_j(|r_j|) / c + mu_j r_j^2) + (beta (h A)^2 / 2 + E) / c

as long as |r_j| <= R_j and M <= diag(mu). What errors add to w through qdd_a = qdd_d + K_r r - K_r^2 e is not a matter of
joints one by one: with |M - M0| <= delta in the norm of I_a it is at most K_r delta r' M r and K_r^2 delta |e| |r|, the first
taken off the damping, the second treated like h A. V is then below L(t) = V* + (L - V*) exp(-2 c t), and
since I_a <= M, r lies in the ellipsoid sum I_a,j r_j^2 <= 2 L. Errors e = q_d - q follow from de/dt = r - K_r e, so that their
norm in I_a obeys d|e|/dt <= |r| - K_r |e|. Errors assumed for w and A are proven when those that follow lie strictly inside:
they are continuous, so they cannot leave first. Both being ellipsoids, not boxes, is what keeps this loop's gain below one.

Coulomb friction is fed forward with the sign of qd_a, smoothed over +-width: where the two signs differ, friction brakes
r, and what smoothing costs is E = sum 2 F_c (width + nu), nu the error of qd_a at the controller.

All sums here are of non-negative terms in double precision; INFLATE covers their rounding many times over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysid_nodes.robots.robot import Array

INFLATE = 1.0 + 1e-9
_DECAY = np.geomspace(1.0, 120.0, 20)
_SPLIT = np.geomspace(0.1, 1000.0, 13)


@dataclass(frozen=True)
class ClosedLoop:
    """What the law and the robot's assumed box say of each joint, (n,) arrays.

    Attributes:
        position_gain: K_r, one number [1/s].
        damping, limit: K [N m s/rad] and the clip of the robust input [N m].
        viscous_lower, viscous_upper: F_v over its box [N m s/rad].
        coulomb_upper: F_c over its box [N m].
        armature_lower, armature_upper: I_a over its box [kg m2].
        reference_noise: largest error of r at the controller from its sensors [rad/s].
        sign_width: reference velocity at which friction is fed forward in full [rad/s].
        period, delay: longest time between commands, and from a joint state to its torque [s].
    """

    position_gain: float
    damping: Array
    limit: Array
    viscous_lower: Array
    viscous_upper: Array
    coulomb_upper: Array
    armature_lower: Array
    armature_upper: Array
    reference_noise: Array
    sign_width: float
    period: float
    delay: float

    @property
    def age(self) -> float:
        """h: largest age of the joint state behind the torque in force [s]."""
        return self.period + self.delay

    @property
    def mean_square_age(self) -> float:
        """Mean of the squared age over a period: it grows from the delay by one period [s2]."""
        return self.delay**2 + self.delay * self.period + self.period**2 / 3.0


class Tube(NamedTuple):
    """Half-axes (T, n) of the ellipsoids that hold e [rad] and r [rad/s] over T time intervals.

    Each joint's error is at most its half-axis; together, sum (e_j / position_j)^2 <= 1, and so for r.
    """

    position: Array
    reference: Array

    def velocity(self, position_gain: float) -> Array:
        """(T, n) bound on |qd_d - qd| = |r - K_r e| [rad/s]."""
        return self.reference + position_gain * self.position


class Assumed(NamedTuple):
    """Errors over T intervals, assumed and then to be proven.

    Attributes:
        level: (T,) bound on V [J].
        position: (T,) bound on sqrt(sum I_a,j e_j^2) [kg^0.5 m].
        acceleration: (T, n) bound on |dr/dt| [rad/s2].
    """

    level: Array
    position: Array
    acceleration: Array

    def tube(self, loop: ClosedLoop) -> Tube:
        """The same by joint."""
        root = np.sqrt(loop.armature_lower)
        return Tube(self.position[:, None] / root * INFLATE, reference_bound(loop, self.level))


class Errors(NamedTuple):
    """Errors that follow from an assumption, at the T + 1 edges; between them they are at most the larger of the two.

    Attributes:
        level: (T + 1,) bound on V [J].
        position: (T + 1,) bound on sqrt(sum I_a,j e_j^2) [kg^0.5 m].
    """

    level: Array
    position: Array


class Disturbance(NamedTuple):
    """Bounds over T intervals, given a tube.

    Attributes:
        torque: (T, n) |w| at qdd_a = qdd_d [N m].
        inertia_error: (T, n, n) |M - M0| entry by entry, armature included [kg m2].
        coriolis: (T, n) |C(q, qd) r| [N m].
        inertia_root: (T, n) s with |M_jk - I_a| <= s_j s_k over the box of models and the tube [kg^0.5 m].
        inertia_sum: (T, n) bounds on the sums of |M_jk - I_a| over k [kg m2].
        reference_shift: (T, n) nu, error of qd_a at the controller [rad/s].
    """

    torque: Array
    inertia_error: Array
    coriolis: Array
    inertia_root: Array
    inertia_sum: Array
    reference_shift: Array


def reference_bound(loop: ClosedLoop, level: Array) -> Array:
    """(T, n) bound on |r| where V is at most level (T,): I_a <= M."""
    return np.sqrt(2.0 * level[:, None] / loop.armature_lower) * INFLATE


def drive(loop: ClosedLoop, found: Disturbance, tube: Tube) -> Array:
    """(T, n) bound on |w - v - F_v r - C r| at any time of an interval, both signs of Coulomb friction included [N m]."""
    robust = np.minimum(loop.limit, loop.damping * (tube.reference + loop.reference_noise))
    friction = 2.0 * loop.coulomb_upper + loop.viscous_upper * tube.reference
    pulled = loop.position_gain * (tube.reference + loop.position_gain * tube.position)
    unmatched = np.einsum("tjk,tk->tj", found.inertia_error, pulled)
    return np.asarray((found.torque + unmatched + robust + friction + found.coriolis) * INFLATE)


def inertia_mismatch(loop: ClosedLoop, found: Disturbance) -> Array:
    """(T,) delta: largest |I_a^-1/2 (M - M0) I_a^-1/2| in the spectral norm [1]."""
    root = np.sqrt(loop.armature_lower)
    scaled = found.inertia_error / root[:, None] / root
    return np.asarray(np.linalg.eigvalsh(0.5 * (scaled + scaled.swapaxes(1, 2)))[:, -1] * INFLATE)


def speed_of_change(loop: ClosedLoop, found: Disturbance, assumed: Assumed) -> Array:
    """(T,) A, bound on |dr/dt| in the norm of M: the norm of the drive in that of I_a^-1, taken part by part."""

    def norm(x: Array) -> Array:
        return np.asarray(np.sqrt((x**2 / loop.armature_lower).sum(axis=-1)))

    size = np.sqrt(2.0 * assumed.level)  # of r in the norm of I_a
    linear = (loop.damping / loop.armature_lower).max() * size + norm(loop.damping * loop.reference_noise)
    friction = (loop.viscous_upper / loop.armature_lower).max() * size
    gain = loop.position_gain
    unmatched = inertia_mismatch(loop, found) * gain * (size + gain * assumed.position)
    rest = norm(found.torque + 2.0 * loop.coulomb_upper) + norm(found.coriolis) + unmatched
    return np.asarray((rest + friction + np.minimum(linear, norm(loop.limit))) * INFLATE)


def reference_acceleration(loop: ClosedLoop, found: Disturbance, assumed: Assumed) -> Array:
    """(T, n) bound on |dr/dt| = |M^-1 (w - v - F_v r - C r)| [rad/s2].

    M^-1 <= I_a^-1, and I_a^-1 - M^-1 <= I_a^-1 (M - I_a) I_a^-1 is positive, so that its entries are at most
    s_j s_k / (I_a,j I_a,k). The norm of dr/dt in M bounds each joint's as well.
    """
    x = drive(loop, found, assumed.tube(loop))
    root = found.inertia_root / loop.armature_lower
    own = x / loop.armature_lower
    alone = own + root * ((root * x).sum(axis=1, keepdims=True) - root * x)
    together = speed_of_change(loop, found, assumed)[:, None] / np.sqrt(loop.armature_lower)
    return np.asarray(np.minimum(alone, together) * INFLATE)


def propagate(
    loop: ClosedLoop, found: Disturbance, assumed: Assumed, edges: Array, level: float, position: float
) -> Errors:
    """Bounds on V and e along the motion, valid while the errors are as assumed.

    Args:
        loop: the closed loop.
        found: disturbances under the assumption.
        assumed: the assumption.
        edges: (T + 1,) of the intervals [s]; the last may be infinite.
        level: bound on V at the start [J].
        position: bound on sqrt(sum I_a,j e_j^2) at the start [kg^0.5 m].
    """
    star, ripple = _stationary(loop, found, assumed)
    step = np.diff(edges)
    fade = np.exp(-2.0 * _DECAY[None, :] * step[:, None])[:, :, None]
    fading = np.exp(-loop.position_gain * step)
    levels, positions = np.empty((2, len(step) + 1))
    levels[0], positions[0] = level * INFLATE, position * INFLATE
    for i in range(len(step)):
        after = star[i] + (levels[i] - star[i]) * fade[i] + ripple[i]
        levels[i + 1] = INFLATE * after.min()
        drive_ = np.sqrt(2.0 * max(levels[i], levels[i + 1])) / loop.position_gain
        positions[i + 1] = INFLATE * (positions[i] * fading[i] + drive_ * (1.0 - fading[i]))
    return Errors(levels, positions)


def _stationary(loop: ClosedLoop, found: Disturbance, assumed: Assumed) -> tuple[Array, Array]:
    """V* and the ripple over a period [J], (T, decays, splits) each, for every interval, c and beta."""
    speed = speed_of_change(loop, found, assumed)
    # The torque in force may date from the interval before.
    speed = np.maximum(speed, np.r_[speed[0], speed[:-1]])
    delta, gain = inertia_mismatch(loop, found), loop.position_gain
    dragged = gain**2 * delta * assumed.position  # |K_r^2 (M - M0) e| in the norm of I_a^-1
    mu = loop.armature_upper + found.inertia_sum
    fed = gain * np.minimum(delta[:, None] * loop.armature_lower, mu)  # M0 >= 0, so that M - M0 <= M
    push = found.torque
    # Where the signs of qd and qd_a may differ, |r| <= width + nu: friction feeds at most 2 F_c min(|r|, width + nu).
    confused = loop.sign_width + found.reference_shift
    covered = found.reference_shift <= loop.sign_width
    slip = 2.0 * loop.coulomb_upper
    c = _DECAY[:, None, None]
    grow = _largest(loop, assumed, push + slip, mu, fed)
    flat = _largest(loop, assumed, push, mu, fed) + np.where(covered, slip * confused, np.inf)[:, None, None] / c
    # x y <= x^2 / (2 b) + b y^2 / 2 once more; b such that it costs a fifth of the decay.
    dragging = 0.5 * dragged[:, None] ** 2 / (0.4 * _DECAY)
    held = 0.5 * _SPLIT[None, None, :] * (speed**2)[:, None, None]
    constant = held * loop.mean_square_age + dragging[..., None]
    star = 0.5 * (np.minimum(grow, flat).sum(axis=-1) + constant / c[..., 0]) * INFLATE
    return np.asarray(star), held * loop.period * loop.age**2 * INFLATE


def _largest(loop: ClosedLoop, assumed: Assumed, push: Array, mu: Array, fed: Array) -> Array:
    """max over |r_j| <= R_j of g_j(|r_j|) / c + mu_j r_j^2: (T, decays, splits, n).

    Below the knee the robust input is linear; far enough beyond it the torque in force is clipped as well, so that neither
    noise nor holding changes it.
    """
    c, beta = _DECAY[:, None, None], _SPLIT[None, :, None]
    full = reference_bound(loop, assumed.level)
    knee = np.minimum(loop.limit / loop.damping, full)
    stale = loop.age * assumed.acceleration + loop.reference_noise
    beyond = np.minimum(knee + np.maximum(stale, np.r_[stale[:1], stale[:-1]]), full)
    spread = loop.damping**2 / (2.0 * beta * loop.armature_lower)
    noise = loop.damping * loop.reference_noise
    push, mu, fed, knee, beyond, full = (x[:, None, None, :] for x in (push, mu, fed, knee, beyond, full))
    tail = fed + 0.2 * c * loop.armature_lower - loop.viscous_lower
    linear = _peak((push + noise) / c, (spread + tail - loop.damping) / c + mu, np.zeros(1), knee)
    bent = _peak((push + noise - loop.limit) / c, (spread + tail) / c + mu, knee, beyond)
    clipped = _peak((push - loop.limit) / c, tail / c + mu, beyond, full)
    return np.maximum(np.maximum(linear, bent), clipped)


def _peak(slope: Array, bend: Array, start: Array, end: Array) -> Array:
    """Largest value of slope x + bend x^2 for start <= x <= end."""
    with np.errstate(divide="ignore", invalid="ignore"):
        top = np.where(bend < 0.0, -0.5 * slope / bend, end)
    x = np.clip(top, start, end)
    best = slope * x + bend * x * x
    for edge in (start, end):
        best = np.maximum(best, slope * edge + bend * edge * edge)
    return np.asarray(best)
