# SPDX-License-Identifier: Apache-2.0
"""Whether errors of a loop with old torques prove themselves: the theorem of docs/certified/delay.md.

Names are those of that page. K' = K + F_v; g_2 the largest K' / I_a ("fast"), D = K' / g_2; |x|_D the norm of e, r and
dr/dt, ||torque|| = |K'^-1 torque|_D; M <= lambda D ("weight"). Other than there, what a certificate's clip takes off
the robust input where errors are wider than the certificate's is one more disturbance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.verification.chain import Chain
from sysid_nodes.verification.demand import Assumed, Demand, Law
from sysid_nodes.verification.desired import Parts
from sysid_nodes.verification.errors import Errors
from sysid_nodes.verification.memory import Ages, Kernel
from sysid_nodes.verification.models import Models
from sysid_nodes.verification.state_changes import changes

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_MORE = 1.0 + 1e-9
"""Sums of positive terms in double precision lose much less."""
_INSTANT = 1e-6
"""Over which rates are differences [s]; bounds on those grow faster than in proportion, so that it errs upwards."""


@dataclass(frozen=True)
class Metric:
    """K' (n,), g_2 and the roots (n,) of D."""

    stiffness: Array
    fast: float
    root: Array

    def norm(self, torque: Array) -> Array:
        """(P,) ||torque|| for torques (P, n)."""
        return np.asarray(np.sqrt(((torque / self.root) ** 2).sum(axis=-1)) / self.fast * _MORE)

    def largest(self, size: Array) -> Array:
        """(P,) largest norm, in that of D, of symmetric matrices with entries up to ``size`` (P, n, n)."""
        return np.asarray(np.linalg.eigvalsh(size / self.root[:, None] / self.root)[:, -1] * _MORE)


def metric(law: Law, models: Models) -> Metric:
    """That of a law and its models."""
    stiffness = law.damping + models.viscous[:, 0]
    fast = float((stiffness / models.least_armature).max()) * _MORE
    return Metric(stiffness, fast, np.sqrt(stiffness / fast))


@dataclass(frozen=True)
class Begun:
    """Errors until the first torque acts: r, e, |dr/dt| in M, and z = r - r_bar as far as the former says so.

    Attributes:
        apart: z of the former trajectory; infinite where nothing is known.
        jump: (n,) by how much the torque that r_bar answers to changes with the nominal model [N m].
    """

    reference: Errors
    position: Errors
    speed: float
    apart: Errors
    jump: Array


@dataclass(frozen=True)
class Late:
    """Consequences over P parts: errors, z = r - r_bar, and lambda (P,)."""

    errors: Assumed
    apart: Errors
    weight: Array


def steady(law: Law, models: Models) -> bool:
    """Whether the loop is slow enough for the lemma."""
    return bool(metric(law, models).fast * law.age <= np.exp(-1.0))


@dataclass(frozen=True)
class _Pushes:
    """Whatever acts on r, part by part.

    Attributes:
        ages: of the torques over each part.
        acting: (P,) least time since the first torque acted [s].
        early: (P,) whether torques of before may still act.
        settles: (P, n) |w_s|, where r would settle [N m].
        slope: (P, n) |dw_s/dt| [N m/s].
        force: (P, n) |f| [N m].
        size: (P,) ||f||.
        rate: |de/dt| and |dr/dt|, as assumed.
        turning: (n, n) |dM/dt| [kg m2/s].
    """

    ages: Ages
    acting: Array
    early: BoolArray
    settles: Array
    slope: Array
    force: Array
    size: Array
    rate: Errors
    turning: Array


def follows_late(
    chain: Chain, gravity: Array, parts: Parts, models: Models, law: Law, found: Demand, assumed: Assumed, begun: Begun
) -> Late:
    """Errors that follow from those assumed; of a loop that is `steady`."""
    m, h = metric(law, models), law.age
    rate = Errors(assumed.speed, assumed.acceleration, m.root)
    force, size = _rest(m, models, law, found, assumed, rate)
    pushes = _Pushes(
        ages=Ages(parts.begin, parts.length, h),
        acting=np.maximum(parts.begin - h, 0.0),
        early=parts.begin < 2.0 * h,
        settles=found.model,
        slope=_slope(chain, gravity, parts, models, found, assumed),
        force=force,
        size=size,
        rate=rate,
        turning=_mass_matrix_rate(chain, models, found.qd.max(axis=0)),
    )
    weight = m.largest(found.inertia)
    norm, apart, speed = _all_joints(m, h, pushes, float(weight.max()), begun)
    each, away = _joint_by_joint(m, h, pushes, models, found, begun)
    reference = Errors(norm, np.minimum(each, norm[:, None] / m.root), m.root)
    between = Errors(apart, np.minimum(away, apart[:, None] / m.root), m.root)

    # M dr/dt = -K' z(s) + w_s(t) - w_s(s) + f.
    torque = m.stiffness * _recent(between.each) + h * _recent(pushes.slope) + force
    speed = np.minimum(speed, m.fast * m.norm(torque)) * _MORE
    speed[0] = max(speed[0], begun.speed)
    # I_a^-1 - M^-1 is positive semidefinite and at most I_a^-1 (M - I_a) I_a^-1.
    lever = np.sqrt(found.heavy) / models.least_armature
    alone = torque / models.least_armature + lever * ((lever * torque).sum(axis=1, keepdims=True) - lever * torque)
    alone[0] = np.maximum(alone[0], begun.speed / np.sqrt(models.least_armature))
    acceleration = np.minimum(alone, speed[:, None] / m.root) * _MORE
    position = _positions(law, parts, reference, begun)
    errors = Assumed(position, reference, acceleration, speed, np.sqrt(weight) * speed * _MORE)
    return Late(errors, between, weight)


def _all_joints(m: Metric, h: float, pushes: _Pushes, heaviest: float, begun: Begun) -> tuple[Array, Array, Array]:
    """(P,) norms of r, z and, in M, dr/dt of all joints together, by (3), (4) and the acceleration."""
    ages, acting, early = pushes.ages, pushes.acting, pushes.early
    slow = m.fast / heaviest
    kernel, span = Kernel(slow, m.fast, h), ages.span(slow)
    above, below = kernel.above(ages.most), kernel.below(ages.least)
    r0, shift, moves = begun.reference.norm[0], m.norm(pushes.settles), m.norm(pushes.slope)
    passed = h * (begun.speed + moves[0])
    z0 = min(r0 + shift[0], begun.apart.norm[0] + float(m.norm(begun.jump)) + passed)
    pushed = pushes.size + m.norm(h * _recent(pushes.slope)) + early * passed
    forced = ages.answer(pushed, above[0], below[0]) + ages.answer(moves, *span)
    turned = m.norm(pushes.rate.times(np.broadcast_to(pushes.turning, (len(acting), *pushes.turning.shape))))
    forced = forced + ages.answer(turned, above[1], below[1])
    fade = np.exp(-slow * acting)
    varied = np.maximum.accumulate(moves) / (np.e * slow)
    norm = np.minimum(shift + fade * z0, np.sqrt(shift**2 + r0**2) + varied) + forced
    norm[0] = max(norm[0], r0)
    late = forced + h * ages.answer(turned, above[0], below[0])
    least = np.maximum(acting - h, 0.0)
    rates = np.clip(1.0 / np.maximum(least, 1e-300), slow, m.fast)
    speed = rates * np.exp(-rates * least) * z0 + m.fast * (_recent(late) + pushed)
    return norm, fade * z0 + forced, speed


def _joint_by_joint(
    m: Metric, h: float, pushes: _Pushes, models: Models, found: Demand, begun: Begun
) -> tuple[Array, Array]:
    """(P, n) |r| and |z| of each joint, the others' accelerations being disturbances."""
    ages, rate, n = pushes.ages, pushes.rate, len(m.stiffness)
    others = found.inertia * (1.0 - np.eye(n))
    each, away = np.empty((2, len(pushes.acting), n))
    drive = (pushes.force + h * _recent(pushes.slope) + rate.times(others)) / m.stiffness
    drift = rate.each * np.diag(pushes.turning)
    for j in range(n):
        gentle, steep = m.stiffness[j] / float(found.inertia[:, j, j].max()), m.stiffness[j] / models.least_armature[j]
        kernel, span = Kernel(gentle, steep, h), ages.span(gentle)
        above, below = kernel.above(ages.most), kernel.below(ages.least)
        begin, runs = begun.reference.each[0, j], pushes.slope[:, j] / m.stiffness[j]
        r_bar = pushes.settles[:, j] / m.stiffness[j]
        passed = h * (begun.speed / np.sqrt(models.least_armature[j]) + runs[0])
        first = min(begin + r_bar[0], begun.apart.each[0, j] + begun.jump[j] / m.stiffness[j] + passed)
        push = drive[:, j] + pushes.early * passed
        answer = np.minimum(ages.answer(push, above[0], below[0]), ages.slow_answer(push, gentle))
        answer = answer + ages.answer(runs, *span)
        answer = answer + ages.answer(drift[:, j] / m.stiffness[j], above[1], below[1])
        fade, varied = np.exp(-gentle * pushes.acting), np.maximum.accumulate(runs) / (np.e * gentle)
        each[:, j] = np.minimum(r_bar + fade * first, np.maximum(r_bar, begin) + varied) + answer
        each[0, j] = max(each[0, j], begin)
        away[:, j] = fade * first + answer
    return each, away


def _recent(x: Array) -> Array:
    """Of each part and the one before the larger: parts are longer than a torque is old."""
    return np.asarray(np.maximum(x, np.concatenate([x[:1], x[:-1]])))


def _slope(chain: Chain, gravity: Array, parts: Parts, models: Models, found: Demand, assumed: Assumed) -> Array:
    """(P, n) |dw_s/dt| [N m/s]: the model's error at the true state, which moves."""
    qdd_a = found.qdd + found.pulled
    pace = (found.qd, qdd_a + assumed.acceleration, qdd_a)
    now = (found.qd, found.qd_a, found.qdd)
    step = (_INSTANT * pace[0], _INSTANT * pace[1], _INSTANT * pace[2])
    moved = changes(chain, gravity, models.theta_off, now, step, found.turning)
    jerked = np.einsum("pjk,pk->pj", found.inertia_off, parts.jerk)
    return np.asarray((moved[1] / _INSTANT + models.viscous[:, 1] * qdd_a + jerked) * _MORE)


def _mass_matrix_rate(chain: Chain, models: Models, fastest: Array) -> Array:
    """(n, n) |dM/dt| entry by entry in any posture, joints being no faster than ``fastest`` (n,) [kg m2/s]."""
    n, heaviest = len(chain.names), np.abs(models.theta) + models.theta_off
    still, columns = np.zeros((1, n)), []
    for k in range(n):
        unit = np.eye(n)[k : k + 1]
        turned = (_INSTANT * fastest[None], still, still)
        columns.append(changes(chain, np.zeros(3), heaviest, (still, still, unit), turned)[1][0] / _INSTANT)
    rate = np.stack(columns, axis=1)
    return np.asarray(np.minimum(rate, rate.T) * _MORE)


def _rest(m: Metric, models: Models, law: Law, found: Demand, assumed: Assumed, rate: Errors) -> tuple[Array, Array]:
    """(P, n) |f| joint by joint, and (P,) ||f||."""
    gain, h = law.gain, law.age
    before = Errors(_recent(rate.norm), _recent(rate.each), rate.root)
    wrong = (assumed.reference + assumed.position.scale(gain)).scale(gain)  # K_r (r - K_r e), times M - M0
    held = before.scale(gain * h)  # K_r (r(t) - r(s)), times M0
    parted, kept = wrong.times(found.inertia_off), held.times(found.inertia)
    dragged = models.viscous[:, 0] * h * before.each
    clipped = np.maximum(law.damping * (_recent(assumed.reference.each) + law.noise) - law.limit, 0.0)
    coulomb = models.coulomb.sum(axis=1) + models.coulomb[:, 0]
    other = found.moved + law.torque_error + found.coriolis + coulomb + law.damping * law.noise + clipped
    other = other + models.viscous[:, 1] * assumed.reference.each
    norm = m.norm(other) + m.norm(dragged)
    norm = norm + np.minimum(m.norm(parted), m.largest(found.inertia_off) * wrong.norm / m.fast)
    norm = norm + np.minimum(m.norm(kept), m.largest(found.inertia) * held.norm / m.fast)
    return (other + dragged + parted + kept) * _MORE, norm * _MORE


def _positions(law: Law, parts: Parts, reference: Errors, begun: Begun) -> Errors:
    """e, by de/dt = r - K_r e."""
    now = np.append(begun.position.norm, begun.position.each) * _MORE
    found = []
    for i, r in enumerate(np.column_stack([reference.norm, reference.each])):
        goal, length = r / law.gain, parts.length[i]
        # The first torque acts somewhere within the first age.
        times = (length - law.age, length) if i == 0 else (length,)
        after = np.max([goal + (now - goal) * np.exp(-law.gain * t) for t in times], axis=0)
        found.append(np.maximum(now, after) * _MORE)
        now = after * _MORE
    norm, each = np.array(found)[:, 0], np.array(found)[:, 1:]
    return Errors(norm, np.minimum(each, norm[:, None] / reference.root), reference.root)
