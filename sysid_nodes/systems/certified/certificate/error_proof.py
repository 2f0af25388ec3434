# SPDX-License-Identifier: Apache-2.0
"""Finds errors that prove themselves: those that follow from assuming them lie strictly inside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains, RobustControlConfig
from sysid_nodes.results.certificate import PROOFS, Entry, Settling
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Rates, rates, robust_input
from sysid_nodes.systems.certified.certificate.delayed import propagate_delayed, steady
from sysid_nodes.systems.certified.certificate.disturbance import Demand, demand
from sysid_nodes.systems.certified.certificate.motion import Desired, desired_motion, jerk_bound
from sysid_nodes.systems.certified.certificate.tracking import propagate

_GROWTH = 1.07
_COARSE = 4
"""Intervals taken as one to guess errors."""

_DELAYED_GROWTH = 1.03
"""Of a delayed loop, whose errors are guessed from below: the closer, the less they add to themselves."""

_ROUGH, _AGAIN = 3, 2
"""Passes over few intervals that such a guess costs, and how often errors are followed further after each."""

_HOPELESS = 2.0
"""A tracking error of this level [J] is given up on."""

_BY_ENERGY = 3
"""Errors of `Assumed` that the proof by energies assumes."""

_ABSURD = 1e9
"""Errors that nobody can mean, and that numbers cannot be trusted with."""

_SLACK = 1.0 + 1e-7
"""By which errors are widened before they are to prove themselves: more than machines round differently."""


@dataclass(frozen=True)
class ErrorProof:
    """Errors that were shown to hold, and what follows under them.

    Attributes:
        desired: the motion.
        jerk: (T, n) bound on its jerk [rad/s3].
        assumed: errors, assumed.
        proven: those that follow, which lie within.
        demand: what the robot can be asked for under the assumption.
        loop: the closed loop, with the clip of the robust input.
        rates: bounds on dr/dt.
        robust: (T, n) bound on |v|, the robust input in force [N m].
        weight: w with M <= w diag(metric), where V is not what was bounded; else 1.
        settling: of a delayed loop.
        passes: how often errors were assumed over all intervals.
    """

    desired: Desired
    jerk: Array
    assumed: Assumed
    proven: Assumed
    demand: Demand
    loop: ClosedLoop
    rates: Rates
    robust: Array
    weight: float
    settling: Settling | None
    passes: int

    @property
    def name(self) -> str:
        """One of results.certificate.PROOFS."""
        return PROOFS[self.loop.delayed]


class Outcome(NamedTuple):
    """Consequences of an assumption; attributes as of `ErrorProof`."""

    errors: Assumed
    demand: Demand
    loop: ClosedLoop
    rates: Rates
    robust: Array
    weight: float = 1.0
    settling: Settling | None = None


def closed_loop(box: ModelBox, gains: Gains, control: RobustControlConfig, *, delayed: bool = False) -> ClosedLoop:
    """The loop of a law around a model of the box, its robust input not yet limited."""
    motor, radius = box.motor, box.motor_radius
    return ClosedLoop(
        position_gain=gains.position_gain,
        damping=gains.damping,
        limit=np.zeros_like(gains.damping),
        viscous_lower=motor.viscous - radius.viscous,
        viscous_upper=motor.viscous + radius.viscous,
        coulomb_upper=motor.coulomb + radius.coulomb,
        armature_lower=box.armature_lower,
        armature_upper=box.armature_upper,
        reference_noise=gains.position_gain * gains.position_error + gains.velocity_error,
        sign_width=control.sign_width,
        period=control.longest_period,
        delay=control.delay,
        delayed=delayed,
    )


@dataclass(frozen=True)
class ErrorProblem:
    """Inputs of a proof of error bounds.

    Attributes:
        tree: kinematics and gravity.
        plan: the trajectory.
        box: the models.
        gains: the law's numbers.
        loop: the closed loop without clip.
        start: errors while no torque of this trajectory acts yet.
        torque_limit: (n,) of the motors, less what is kept free [N m].
        clip: (n,) of the robust input [N m]; None takes all that the motors leave.
    """

    tree: Tree
    plan: Bezier
    box: ModelBox
    gains: Gains
    loop: ClosedLoop
    start: Entry
    torque_limit: Array
    clip: Array | None = None

    def follow(self, desired: Desired, jerk: Array, assumed: Assumed) -> Outcome | None:
        """Errors that follow from an assumption, and by what; None where the motors have nothing left for them.

        The clip of the robust input is at most what the fed-forward torque leaves of the motors, or, of a delayed loop,
        what its errors ask for: that a clip may be more than the motors have is for the margins to say.
        """
        found = demand(self.tree, desired, jerk, self.box, self.gains, self.loop, assumed)
        if self.loop.delayed:
            return self.follow_delayed(desired, found, assumed)
        limit = (self.torque_limit - found.nominal_torque.max(axis=0)) * (1.0 - 1e-8)
        if self.clip is not None:
            limit = np.where(self.clip <= limit, self.clip, -np.inf)
        if not (limit > 0.0).all():
            return None
        loop = replace(self.loop, limit=limit)
        rate = rates(loop, found.disturbance, assumed, self.start)
        errors = propagate(loop, found.disturbance, assumed, rate, desired.edges, self.start)
        follows = Assumed(errors.level, errors.position, rate.acceleration, rate.speed)
        tube = follows.ellipsoids(loop)
        follows = follows._replace(position_error=tube.position, reference_error=tube.reference)
        return Outcome(follows, found, loop, rate, robust_input(loop, tube))

    def follow_delayed(self, desired: Desired, found: Demand, assumed: Assumed) -> Outcome | None:
        """The same of a delayed loop, by what an assumption asks for."""
        if found.split is None or not steady(self.loop):
            return None
        follows = propagate_delayed(
            self.loop, found.disturbance, found.split, assumed, desired.edges, self.start, self.box.theta
        )
        asked = follows.robust.max(axis=0)
        limit = asked if self.clip is None else self.clip
        if not (asked <= limit).all():
            return None
        # The norm of M is at most root w times that of the metric.
        speed = np.sqrt(follows.weight) * follows.errors.speed
        none = np.zeros_like(speed)
        rate = Rates(none, none, speed, follows.errors.acceleration)
        loop = replace(self.loop, limit=limit)
        settling = Settling(follows.apart_norm, follows.apart_error, self.box.theta)
        return Outcome(follows.errors, found, loop, rate, follows.robust, follows.weight, settling)


def prove_errors(problem: ErrorProblem, edges: Array, passes: int) -> ErrorProof | int:
    """Errors that hold, or the number of passes after which there are none.

    Args:
        problem: of which motion and models.
        edges: of the time intervals, from 0 to the plan's end [s].
        passes: how often to try.
    """
    desired, jerk = desired_motion(problem.plan, edges), jerk_bound(problem.plan, edges)
    delayed = problem.loop.delayed
    assumed = _guess_from_below(problem, edges) if delayed else _guess(problem, edges)
    for done in range(1, passes + 1):
        outcome = problem.follow(desired, jerk, assumed)
        if outcome is None:
            return done
        if _lies_inside(outcome.errors, assumed, delayed=delayed):
            return _proof(desired, jerk, assumed, outcome, done)
        if not outcome.errors.level.max() < _HOPELESS:
            return done
        assumed = _widen(outcome.errors)
        if delayed:
            assumed = _follow_further(problem, desired, outcome)
    return passes


def _lies_inside(after: Assumed, before: Assumed, *, delayed: bool) -> bool:
    """Whether all that a proof assumes has room; that of energies assumes the first three."""
    pairs = list(zip(after, before, strict=True))
    return all((x < y).all() for x, y in (pairs if delayed else pairs[:_BY_ENERGY]))


def _proof(desired: Desired, jerk: Array, assumed: Assumed, outcome: Outcome, passes: int) -> ErrorProof:
    errors, found, loop, rate, robust, weight, settling = outcome
    return ErrorProof(desired, jerk, assumed, errors, found, loop, rate, robust, weight, settling, passes)


class Claim(NamedTuple):
    """Errors that somebody says he has proven, of a law with this clip (n,) of its robust input [N m], and how."""

    errors: Assumed
    robust_limit: Array
    proof: str = PROOFS[0]


def check_errors(problem: ErrorProblem, edges: Array, claim: Claim) -> ErrorProof | int:
    """The proof of errors that somebody claims, or 1 (pass) where they do not prove themselves.

    Whoever found them by `prove_errors` has them from wider ones, and what follows from less is less: they lie inside
    themselves but for rounding, which may differ between machines.

    Args:
        problem: of which motion and models.
        edges: of the time intervals, from 0 to the plan's end [s].
        claim: anything.
    """
    count, n = len(edges), problem.plan.n
    shapes = ((count,), (count,), (count, n), (count,), (count, n), (count, n))
    counted = len(shapes) if problem.loop.delayed else _BY_ENERGY
    claimed = claim.errors[:counted]
    if any(x.shape != shape for x, shape in zip(claimed, shapes[:counted], strict=True)):
        return 1
    if not all(((x >= 0.0) & (x < _ABSURD)).all() for x in claimed) or not claim.errors.level.max() < _HOPELESS:
        return 1
    assumed, problem = Assumed(*(_SLACK * x for x in claimed)), replace(problem, clip=claim.robust_limit)
    desired, jerk = desired_motion(problem.plan, edges), jerk_bound(problem.plan, edges)
    outcome = problem.follow(desired, jerk, assumed)
    if outcome is None or not _lies_inside(outcome.errors, assumed, delayed=problem.loop.delayed):
        return 1
    return _proof(desired, jerk, assumed, outcome, 1)


def _guess(problem: ErrorProblem, edges: Array) -> Assumed:
    """Errors to begin with: what follows from rough ones, seen over few intervals."""
    start, n = problem.start, problem.plan.n
    count = max((len(edges) - 1) // _COARSE, 1)
    coarse = np.linspace(0.0, problem.plan.duration, count + 1)
    level = 1.2 * start.level + 0.01
    rough = Assumed(
        level=np.full(count + 1, level),
        position=np.full(count + 1, max(1.2 * start.position, np.sqrt(2.0 * level) / problem.loop.position_gain)),
        acceleration=np.full((count + 1, n), 4.0),
        speed=np.full(count + 1, 12.0),
        position_error=np.ones((count + 1, n)),
        reference_error=np.ones((count + 1, n)),
    )
    outcome = problem.follow(desired_motion(problem.plan, coarse), jerk_bound(problem.plan, coarse), rough)
    hopeless = outcome is None or not outcome.errors.level.max() < _HOPELESS
    better = rough if hopeless or outcome is None else _widen(outcome.errors)
    middles = np.append(0.5 * (edges[1:] + edges[:-1]), np.inf)
    which = np.minimum(np.searchsorted(coarse, middles, side="right") - 1, count)
    return Assumed(*(x[which] for x in better))


def _guess_from_below(problem: ErrorProblem, edges: Array) -> Assumed:
    """The same, by what follows from none, a few times over."""
    n = problem.plan.n
    coarse = np.append(edges[:-1][::_COARSE], edges[-1])
    desired, jerk, count = desired_motion(problem.plan, coarse), jerk_bound(problem.plan, coarse), len(coarse)
    none, nothing = np.zeros(count), np.zeros((count, n))
    assumed = Assumed(none, none, nothing, none, nothing, nothing)
    for _ in range(_ROUGH):
        outcome = problem.follow(desired, jerk, assumed)
        if outcome is None or not outcome.errors.level.max() < _HOPELESS:
            break
        assumed = _follow_further(problem, desired, outcome)
    middles = np.append(0.5 * (edges[1:] + edges[:-1]), np.inf)
    which = np.minimum(np.searchsorted(coarse, middles, side="right") - 1, count - 1)
    return Assumed(*(x[which] for x in assumed))


def _follow_further(problem: ErrorProblem, desired: Desired, outcome: Outcome) -> Assumed:
    """Errors to try after those that led to an outcome, by following them further with what they ask for.

    That changes less with them than they do with one another, and takes ten times as long to say.
    """
    assumed = _widen(outcome.errors, _DELAYED_GROWTH)
    for _ in range(_AGAIN):
        further = problem.follow_delayed(desired, outcome.demand, assumed)
        if further is None or not further.errors.level.max() < _HOPELESS:
            break
        assumed = _widen(further.errors, _DELAYED_GROWTH)
    return assumed


def _widen(x: Assumed, growth: float = _GROWTH) -> Assumed:
    return Assumed(*(growth * part + 1e-6 for part in x))
