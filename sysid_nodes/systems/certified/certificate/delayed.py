# SPDX-License-Identifier: Apache-2.0
"""Errors of the robust controller when its torques are old: a proof beside that of tracking.py.

docs/certified/delay.md has the theorem and its proof; names are those of it. In short: what a model that is constant
in time adds to the desired motion, w_s(t), moves slowly and is answered by r_bar = w_s / (K + F_v), whatever the delay.
Around it the loop M dr/dt = (K + F_v) (r_bar(t) - r(s(t))) + rest is linear in r at an earlier time s(t) >= t - h. With
M frozen at its value now, in the metric of K + F_v, it falls into modes of rates slow..fast that answer to the rest by
kernels without a sign change as long as fast h <= 1/e (memory.py). Joints one by one are answered by a kernel of
integral 1 that takes what other joints' accelerations couple into them as one more disturbance.

Nothing here clips the robust input: the clip is the largest that the errors ask for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE, Assumed, ClosedLoop, Disturbance, recent
from sysid_nodes.systems.certified.certificate.disturbance import Split
from sysid_nodes.systems.certified.certificate.memory import STEADY, Intervals, peak_rate


class DelayedErrors(NamedTuple):
    """Errors that follow from an assumption.

    Attributes:
        errors: as assumed ones.
        robust: (T, n) bound on |v|, the robust input in force [N m].
        weight: w with M <= w diag(metric).
        apart_norm, apart_error: (T,) and (T, n) bounds on r - r_bar.
    """

    errors: Assumed
    robust: Array
    weight: float
    apart_norm: Array
    apart_error: Array


class _Forces(NamedTuple):
    """The drive of the loop besides w_s: (T, n) by joint [N m], and (T,) norms of the r that answers to it."""

    joint: Array
    norm: Array


class _Loop:
    """Norms of a delayed loop.

    Args:
        loop: the closed loop.
        found: disturbances under the assumption.
    """

    def __init__(self, loop: ClosedLoop, found: Disturbance) -> None:
        self.loop, self.metric, self.fast = loop, loop.metric, loop.stiffest
        self.stiffness = loop.damping + loop.viscous
        self.root = np.sqrt(self.metric)
        self.weight = float(self.spectral(found.inertia).max())
        self.slow = self.fast / self.weight
        own = np.diagonal(found.inertia, axis1=1, axis2=2)
        self.joint_slow = self.stiffness / (own.max(axis=0) * INFLATE)
        self.joint_fast = self.stiffness / loop.armature_lower * INFLATE

    def norm(self, torque: Array) -> Array:
        """(T,) of (K + F_v)^-1 torque, for torques (T, n), in the metric [kg^0.5 rad/s]."""
        return np.asarray(np.sqrt((torque**2 / self.metric).sum(axis=-1)) / self.fast * INFLATE)

    def spectral(self, size: Array) -> Array:
        """(T,) largest norm in the metric of symmetric matrices with entries up to ``size`` (T, n, n)."""
        return np.asarray(np.linalg.eigvalsh(size / self.root[:, None] / self.root)[:, -1] * INFLATE)

    def times(self, size: Array, norm: Array, joint: Array) -> Array:
        """(T, n) bound on |A x|, |A_jk| <= size (T, n, n), for x of norm <= norm (T,) and |x_j| <= joint (T, n)."""
        ellipsoid = np.sqrt(((size / self.root) ** 2).sum(axis=2)) * norm[:, None]
        box = np.einsum("tjk,tk->tj", size, joint)
        return np.asarray(np.minimum(ellipsoid, box) * INFLATE)


def steady(loop: ClosedLoop) -> bool:
    """Whether the loop is slow enough against its delay for the proof."""
    return loop.age * loop.stiffest <= STEADY


def propagate_delayed(
    loop: ClosedLoop,
    found: Disturbance,
    split: Split,
    assumed: Assumed,
    edges: Array,
    start: Entry,
    theta: Array,
) -> DelayedErrors:
    """Errors along the motion, valid while they are as assumed; only for a loop that is `steady`.

    Args:
        loop: the closed loop; its limit is not used.
        found: disturbances under the assumption.
        split: the same in two parts.
        assumed: the assumption.
        edges: (T + 1,) of the intervals [s], each at least as long as the loop's age; the last may be infinite.
        start: errors until the first torque of this motion acts.
        theta: (n, 10) nominal model.
    """
    own, times = _Loop(loop, found), Intervals(edges, loop.age)
    rest = _forces(own, found, split, assumed)
    # What r settles at jumps where the nominal model does.
    jump = split.jump(theta - start.theta) if start.theta.size else np.zeros(len(theta))
    size, apart, speed = _together(own, split, rest, times, start, jump)
    box, away = _each(own, found, split, rest, assumed, times, start, jump)
    box, away = np.minimum(box, size[:, None] / own.root), np.minimum(away, apart[:, None] / own.root)
    # M dr/dt = w_s(t) - w_s(s) - (K + F_v) (r - r_bar)(s) + rest.
    force = own.stiffness * recent(away) + loop.age * recent(split.slope) + rest.joint
    speed = np.minimum(speed, own.fast * own.norm(force))
    speed[0] = max(speed[0], start.speed)
    # As in closed_loop.py: M^-1 <= I_a^-1, and what is taken off has small entries.
    root = found.inertia_root / loop.armature_lower
    alone = force / loop.armature_lower + root * ((root * force).sum(axis=1, keepdims=True) - root * force)
    alone[0] = np.maximum(alone[0], start.speed / np.sqrt(loop.armature_lower))
    acceleration = np.minimum(alone, speed[:, None] / own.root)
    position, position_error = _positions(own, size, box, edges, start)
    errors = Assumed(0.5 * size**2, position, acceleration, speed, position_error, box)
    robust = loop.damping * (recent(box) + loop.reference_noise)
    proven = Assumed(*(x * INFLATE for x in errors))
    return DelayedErrors(proven, robust * INFLATE, own.weight, apart * INFLATE, away * INFLATE)


def _forces(own: _Loop, found: Disturbance, split: Split, assumed: Assumed) -> _Forces:
    """The rest of the disturbance, and what friction, Coriolis terms, noise and holding add."""
    loop, gain = own.loop, own.loop.position_gain
    size, held_rate = np.sqrt(2.0 * assumed.level), loop.age * recent(assumed.speed)
    held_joint = loop.age * recent(assumed.acceleration)
    # (M - M0) (qdd_a - qdd_d) = K_r (M - M0) (r - K_r e), and M0 K_r (r(t) - r(s)).
    feedback = gain * own.times(found.inertia_error, size, assumed.reference_error)
    feedback += gain**2 * own.times(found.inertia_error, assumed.position, assumed.position_error)
    held = gain * own.times(found.inertia, held_rate, held_joint)
    # F_v r(t) against the middle of F_v times r(s).
    dragged = loop.viscous * np.minimum(held_joint, held_rate[:, None] / own.root)
    other = split.rest + found.coriolis + 2.0 * loop.coulomb_upper + loop.damping * loop.reference_noise
    other = other + 0.5 * (loop.viscous_upper - loop.viscous_lower) * assumed.reference_error
    delta = own.spectral(found.inertia_error)
    norm = own.norm(other)
    norm += np.minimum(own.norm(feedback), gain * delta * (size + gain * assumed.position) / own.fast)
    norm += np.minimum(own.norm(held), gain * held_rate * own.weight / own.fast)
    norm += own.norm(dragged)
    return _Forces((other + feedback + held + dragged) * INFLATE, norm * INFLATE)


def _together(
    own: _Loop, split: Split, rest: _Forces, times: Intervals, start: Entry, jump: Array
) -> tuple[Array, Array, Array]:
    """(T,) norms in the metric: of r, of r - r_bar, of dr/dt."""
    h = own.loop.age
    shift, slope = own.norm(split.steady), own.norm(split.slope)
    size = float(min(np.sqrt(2.0 * start.level), start.reference_norm)) * INFLATE
    varied = h * (start.speed + slope[0])
    apart = min(size + shift[0], start.apart_norm + float(own.norm(jump)) + varied)
    force = rest.norm + own.norm(h * recent(split.slope))
    drift = own.norm(split.drift)
    most, least = times.kernels(np.array(own.slow), np.array(own.fast))
    # History until the first torque acts is that of its moment but for what passes within one age.
    force = force + np.where(times.begin < 2.0 * h, varied, 0.0)
    answer = times.answer(force, most.mass, least.mass) + times.answer(slope, most.length, least.length)
    forced = answer + times.answer(drift, most.moment, least.moment)
    fade = np.exp(-own.slow * times.acting)
    moved = np.maximum.accumulate(slope) / (np.e * own.slow)
    whole = np.minimum(shift + fade * apart, np.hypot(shift, size) + moved) + forced
    whole[0] = max(whole[0], size)
    # dr/dt now, from r one age ago with M of now.
    late = forced + h * times.answer(drift, most.mass, least.mass)
    begun = peak_rate(np.maximum(times.acting - h, 0.0), own.slow, own.fast) * apart
    return whole, fade * apart + forced, begun + own.fast * (recent(late) + force)


def _each(
    own: _Loop,
    found: Disturbance,
    split: Split,
    rest: _Forces,
    assumed: Assumed,
    times: Intervals,
    start: Entry,
    jump: Array,
) -> tuple[Array, Array]:
    """(T, n) bounds on |r_j| and |r_j - r_bar_j|, other joints' accelerations being disturbances."""
    loop, h, slow = own.loop, own.loop.age, own.joint_slow
    shift, slope, drift = (x / own.stiffness for x in (split.steady, split.slope, split.drift))
    size = np.minimum(start.reference_error, min(np.sqrt(2.0 * start.level), start.reference_norm) / own.root) * INFLATE
    varied = h * (start.speed / np.sqrt(loop.armature_lower) + slope[0])
    apart = np.minimum(size + shift[0], start.apart_error + jump / own.stiffness + varied)
    others = found.inertia * (1.0 - np.eye(len(slow)))
    coupled = own.times(others, assumed.speed, assumed.acceleration)
    force = (rest.joint + h * recent(split.slope) + coupled) / own.stiffness
    force = force + np.where(times.begin < 2.0 * h, 1.0, 0.0)[:, None] * varied
    most, least = times.kernels(slow, own.joint_fast)
    forced = np.minimum(times.answer(force, most.mass, least.mass), times.bounded_answer(force, slow))
    forced = forced + times.answer(drift, most.moment, least.moment)
    forced = forced + times.answer(slope, most.length, least.length)
    fade = np.exp(-slow * times.acting[:, None])
    moved = np.maximum.accumulate(slope, axis=0) / (np.e * slow)
    whole = np.minimum(shift + fade * apart, np.maximum(shift, size) + moved) + forced
    whole[0] = np.maximum(whole[0], size)
    return whole, fade * apart + forced


def _positions(own: _Loop, size: Array, box: Array, edges: Array, start: Entry) -> tuple[Array, Array]:
    """(T,) the norm of e in the metric and (T, n) |e_j|, by de/dt = r - K_r e."""
    gain, step = own.loop.position_gain, np.diff(edges)
    pushed = np.column_stack([size, box]) / gain * INFLATE
    norm = min(start.position, start.position_norm)
    now = np.append(norm, np.minimum(start.position_error, norm / own.root)) * INFLATE
    found = np.empty_like(pushed)
    # The first torque acts between 0 and one age after the start.
    shortest = step - np.where(np.arange(len(step)) == 0, own.loop.age, 0.0)
    for i, push in enumerate(pushed):
        excess = now - push
        later = push + np.maximum(excess * np.exp(-gain * shortest[i]), excess * np.exp(-gain * step[i]))
        found[i] = np.maximum(now, later) * INFLATE
        now = later * INFLATE
    return found[:, 0], np.minimum(found[:, 1:], found[:, :1] / own.root)
