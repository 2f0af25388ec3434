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
from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Rates, rates
from sysid_nodes.systems.certified.certificate.disturbance import Demand, demand
from sysid_nodes.systems.certified.certificate.motion import Desired, desired_motion, jerk_bound
from sysid_nodes.systems.certified.certificate.tracking import propagate

_GROWTH = 1.07
_COARSE = 4
"""Intervals taken as one to guess errors."""

_HOPELESS = 2.0
"""A tracking error of this level [J] is given up on."""

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
        passes: how often errors were assumed over all intervals.
    """

    desired: Desired
    jerk: Array
    assumed: Assumed
    proven: Assumed
    demand: Demand
    loop: ClosedLoop
    rates: Rates
    passes: int


def closed_loop(box: ModelBox, gains: Gains, control: RobustControlConfig) -> ClosedLoop:
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

    def follow(
        self, desired: Desired, jerk: Array, assumed: Assumed
    ) -> tuple[Assumed, Demand, ClosedLoop, Rates] | None:
        """Errors that follow from an assumption, and by what; None where the motors have nothing left for them.

        The clip of the robust input is at most what the fed-forward torque leaves of the motors.
        """
        found = demand(self.tree, desired, jerk, self.box, self.gains, self.loop, assumed)
        limit = (self.torque_limit - found.nominal_torque.max(axis=0)) * (1.0 - 1e-8)
        if self.clip is not None:
            limit = np.where(self.clip <= limit, self.clip, -np.inf)
        if not (limit > 0.0).all():
            return None
        loop = replace(self.loop, limit=limit)
        rate = rates(loop, found.disturbance, assumed, self.start)
        errors = propagate(loop, found.disturbance, assumed, rate, desired.edges, self.start)
        return Assumed(errors.level, errors.position, rate.acceleration), found, loop, rate


def prove_errors(problem: ErrorProblem, edges: Array, passes: int) -> ErrorProof | int:
    """Errors that hold, or the number of passes after which there are none.

    Args:
        problem: of which motion and models.
        edges: of the time intervals, from 0 to the plan's end [s].
        passes: how often to try.
    """
    desired, jerk = desired_motion(problem.plan, edges), jerk_bound(problem.plan, edges)
    assumed = _guess(problem, edges)
    for done in range(1, passes + 1):
        outcome = problem.follow(desired, jerk, assumed)
        if outcome is None:
            return done
        follows, found, loop, rate = outcome
        if all((after < before).all() for after, before in zip(follows, assumed, strict=True)):
            return ErrorProof(desired, jerk, assumed, follows, found, loop, rate, done)
        if not follows.level.max() < _HOPELESS:
            return done
        assumed = _widened(follows)
    return passes


class Claim(NamedTuple):
    """Errors that somebody says he has proven, of a law with this clip (n,) of its robust input [N m]."""

    errors: Assumed
    robust_limit: Array


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
    shapes = ((count,), (count,), (count, n))
    if any(x.shape != shape for x, shape in zip(claim.errors, shapes, strict=True)):
        return 1
    if not all(((x >= 0.0) & (x < _ABSURD)).all() for x in claim.errors) or not claim.errors.level.max() < _HOPELESS:
        return 1
    assumed, problem = Assumed(*(_SLACK * x for x in claim.errors)), replace(problem, clip=claim.robust_limit)
    desired, jerk = desired_motion(problem.plan, edges), jerk_bound(problem.plan, edges)
    outcome = problem.follow(desired, jerk, assumed)
    if outcome is None:
        return 1
    follows, found, loop, rate = outcome
    if not all((after < before).all() for after, before in zip(follows, assumed, strict=True)):
        return 1
    return ErrorProof(desired, jerk, assumed, follows, found, loop, rate, 1)


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
    )
    outcome = problem.follow(desired_motion(problem.plan, coarse), jerk_bound(problem.plan, coarse), rough)
    better = rough if outcome is None or not outcome[0].level.max() < _HOPELESS else _widened(outcome[0])
    middles = np.append(0.5 * (edges[1:] + edges[:-1]), np.inf)
    which = np.minimum(np.searchsorted(coarse, middles, side="right") - 1, count)
    return Assumed(*(x[which] for x in better))


def _widened(x: Assumed) -> Assumed:
    return Assumed(*(_GROWTH * part + 1e-6 for part in x))
