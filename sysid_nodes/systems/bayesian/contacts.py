# SPDX-License-Identifier: Apache-2.0
"""Contacts that begin and end, as the paper has them: modes with bilateral constraints at stated times, and reset maps.

While it lasts, a contact is a loop through the ground: c(q) = 0 at the position level, a force of any size. It begins
with an impact (eqs. 7-11), where M (v+ - v-) = J'Lambda over all that holds the robot then, and, of what strikes,

    c(q) = 0,    J v+ = -e J v-    across the plane of a point that bounces,    J v+ = 0    of one that stays.

The instant falls between two stages, k and k + 1. Differences of positions do not reach over it: each side sees the
other's nearest stage where its own motion would have put it, with s = t_(k+1) - t or t_k - t and unknown jumps of
velocity, dv, and acceleration, da,

    q_(k+1) - dv s - da s^2 / 2    from before,        q_k + dv s + da s^2 / 2    from after.

So t, dv, da and Lambda are constants like others, and no stage is lost. That contacts only push, and points stay above
their planes, is not in the estimate but tested at its end: the times are stated, and so can be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import ConfigError, LogError, RobotError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.contact_closure import build_contact
from sysid_nodes.models.loop_closure import LoopClosures
from sysid_nodes.models.user_term import UserConstant
from sysid_nodes.robots import Robot
from sysid_nodes.robots.loops import Contact, parse_contact
from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.log import Cuts

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

APART = 12
"""Stages between impacts, and from either end of a log, at least: a motion is told on both sides of each."""

WITHIN = 3.0
"""Standard deviations of a stated instant within which it has to lie: no reading there is used."""

AHEAD = np.array([-1.0, 1.0])
"""Signs with which accelerations at stages k and k + 1 see what the other side's stage is off."""

_JUMP, _BEND, _IMPULSE = 30.0, 1e3, 1e2
"""Prior sigmas, only so that they are determined [rad/s, rad/s2, N s]: wider, and rounding would hide what is known of
other constants."""


@dataclass(frozen=True)
class Touching:
    """A contact of a mechanism.

    Attributes:
        name: of its point and plane.
        contact: when it lasts.
        rows: of its equalities among all; the first is the height.
    """

    name: str
    contact: Contact
    rows: IntArray


@dataclass(frozen=True)
class Impact:
    """One or several contacts begin.

    Attributes:
        time: stated [s from the beginning of the log].
        held: equalities through which impulses act.
        striking: of them, those that are not met before.
        restitution: (s,) place in x of each one's e; -1 where it is zero.
        instant: place in x of the time [s].
        impulse, jump, bend: places in x of Lambda (h,), dv (n,) and da (n,).
    """

    time: float
    held: IntArray
    striking: IntArray
    restitution: IntArray
    instant: int
    impulse: IntArray
    jump: IntArray
    bend: IntArray

    def stage(self, step: float) -> int:
        """The last before it."""
        return int(self.time / step)

    def jump_offsets(self, x: Array, step: float) -> tuple[Array, Array, Array]:
        """Times s (2,) to stage k + 1 and to stage k [s], dv s + da s^2 / 2 there (2, n), and its rate by t (2, n)."""
        k = self.stage(step)
        s = step * np.array([k + 1, k]) - x[self.instant]
        off = np.outer(s, x[self.jump]) + np.outer(0.5 * s**2, x[self.bend])
        return s, off, -(x[self.jump] + np.outer(s, x[self.bend]))


@dataclass(frozen=True)
class Contacts:
    """All contacts of a mechanism.

    Attributes:
        touching: one by one.
        impacts: in the order of their times.
        constants: priors of their constants, those that are told first.
        hidden: number of the others.
        gap: standard deviation of a height in an impact [m].
        inertia: (n,) of each joint with all it carries, as described: momenta are no more exact than speeds.
        margin: about an impact, in which no reading is used [s].
    """

    touching: tuple[Touching, ...] = ()
    impacts: tuple[Impact, ...] = ()
    constants: tuple[UserConstant, ...] = ()
    hidden: int = 0
    gap: float = 1.0
    inertia: Array = field(default_factory=lambda: np.zeros(0))
    margin: float = 0.0

    @property
    def cuts(self) -> Cuts:
        """Times over which no mean of readings may reach."""
        return Cuts(np.array([impact.time for impact in self.impacts]), self.margin)

    def holds(self, count: int, stages: int, step: float) -> BoolArray:
        """(N, c) which of all equalities hold at each stage; those of loops always do."""
        t = step * np.arange(stages)
        out = np.ones((stages, count), dtype=np.bool_)
        for one in self.touching:
            lasts = (t >= one.contact.since) & (t <= one.contact.until) & (not one.contact.bounces)
            out[:, one.rows] = lasts[:, None]
        return out

    def sides(self, stages: int, step: float) -> list[slice]:
        """Stages of a log between impacts."""
        ends = [0, *(impact.stage(step) + 1 for impact in self.impacts), stages]
        return [slice(first, last) for first, last in pairwise(ends)]

    def inner_motion(self, q: Array, x: Array, step: float) -> tuple[Array, Array]:
        """Velocities and accelerations (N - 2, n) at the inner stages of positions (N, n)."""
        v, a = (q[2:] - q[:-2]) / (2.0 * step), (q[2:] - 2.0 * q[1:-1] + q[:-2]) / step**2
        for impact in self.impacts:
            around, (_, off, _) = impact.stage(step) - 1 + np.arange(2), impact.jump_offsets(x, step)
            v[around] -= off / (2.0 * step)
            a[around] += AHEAD[:, None] * off / step**2
        return v, a

    def check(self, stages: int, step: float) -> None:
        """Raises LogError where impacts are too close to one another or to an end of the log."""
        if self.impacts and min(side.stop - side.start for side in self.sides(stages, step)) < APART:
            raise LogError(
                f"impacts need {APART} stages of {step:g} s between them and from both ends of the log "
                f"({step * stages:.3g} s); stated at {', '.join(f'{impact.time:g}' for impact in self.impacts)} s"
            )


def refuse_contacts(config: BayesianConfig) -> None:
    """Raises ConfigError where contacts are stated for a log that comes part by part."""
    if any(config.mechanism.contacts):
        raise ConfigError("'bayesian.mechanism.contacts' is for a whole log, not for one that comes part by part")


def build_contacts(
    robot: Robot, chain: Chain, loops: LoopClosures, config: BayesianConfig, first: int
) -> tuple[LoopClosures, Contacts]:
    """Closures of loops and contacts together, and the contacts.

    Args:
        robot: with a fixed base.
        chain: its tree.
        loops: that are always closed.
        config: contacts and their priors.
        first: place in x of the first constant.

    Raises:
        RobotError: a contact says nothing, a link is unknown, its point cannot leave or reach its place, or touches
            twice at a time.
    """
    closures, touching = loops, list[Touching]()
    for contact in (parse_contact(word) for word in config.mechanism.contacts if word):
        own = build_contact(robot, chain, contact)
        name = f"{contact.loop.second.link}:{contact.loop.first.link}"
        touching.append(Touching(name, contact, closures.count + np.arange(own.count)))
        closures = closures.together_with(own)
    for one, other in combinations(touching, 2):
        overlap = one.contact.since <= other.contact.until and other.contact.since <= one.contact.until
        if one.name == other.name and overlap:
            raise RobotError(f"contacts of '{one.name}' overlap in time")
    inertia = np.diag(pinocchio.crba(robot.model, robot.model.createData(), np.zeros(robot.n))) + robot.motor.armature
    found = _place_constants(tuple(touching), loops.count, robot.joint_names, config, first)
    return closures, replace(
        found, inertia=inertia, gap=config.contact.gap, margin=WITHIN * config.contact.instant_sigma
    )


class _Places:
    """Constants, each of which gets the next place in x."""

    def __init__(self, first: int) -> None:
        self.constants: list[UserConstant] = []
        self._first = first

    @property
    def next(self) -> int:
        """Place of the constant that comes next."""
        return self._first + len(self.constants)

    def add(self, *constants: UserConstant) -> IntArray:
        """Their places."""
        first = self.next
        self.constants += constants
        return first + np.arange(len(constants))


def _place_constants(
    touching: tuple[Touching, ...], loops: int, joints: tuple[str, ...], config: BayesianConfig, first: int
) -> Contacts:
    """Contacts with their impacts and the constants of these: restitutions, instants and impulses are told, the rest is
    not."""
    prior, told = config.contact, _Places(first)
    bouncing = list(dict.fromkeys(one.name for one in touching if one.contact.bounces))
    mean, sigma = prior.restitution, prior.restitution_sigma
    places = told.add(*(UserConstant(f"{name}.restitution", "1", mean, sigma, 0.0, 1.0) for name in bouncing))
    restitution = dict(zip(bouncing, places, strict=True))
    times = sorted({one.contact.since for one in touching if one.contact.since > 0.0})
    striking = [[one for one in touching if one.contact.since == time] for time in times]
    shown = []
    for time, those in zip(times, striking, strict=True):
        instant = UserConstant(f"{those[0].name} at {time:g} s.instant", "s", time, prior.instant_sigma)
        impulses = (UserConstant(f"{one.name} at {time:g} s.impulse", "N s", 0.0, _IMPULSE, 0.0) for one in those)
        shown.append(told.add(instant, *impulses))
    hidden, impacts = _Places(told.next), list[Impact]()
    for time, those, places in zip(times, striking, shown, strict=True):
        held = [*range(loops)]
        held += [row for one in touching if one.contact.since < time < one.contact.until for row in one.rows]
        impacts.append(_place_impact(time, held, those, places, restitution, joints, hidden))
    return Contacts(touching, tuple(impacts), (*told.constants, *hidden.constants), len(hidden.constants))


def _place_impact(
    time: float,
    held: Sequence[int],
    striking: Sequence[Touching],
    shown: IntArray,
    restitution: Mapping[str, int],
    joints: tuple[str, ...],
    hidden: _Places,
) -> Impact:
    """An impact with its constants.

    Args:
        time: stated [s].
        held: equalities that hold before it.
        striking: contacts that begin.
        shown: places of its instant, and of the impulse through the height of each contact that begins.
        restitution: places by the name of a contact.
        joints: names.
        hidden: where its other constants are added.
    """
    rows = [*held, *(row for one in striking for row in one.rows)]
    place = {int(one.rows[0]): at for one, at in zip(striking, shown[1:], strict=True)}
    unseen = [row for row in rows if row not in place]
    impulses = hidden.add(*(UserConstant(f"at {time:g} s: impulse {row}", "N s", 0.0, _IMPULSE) for row in unseen))
    place |= zip(unseen, impulses, strict=True)
    jump, bend = (
        hidden.add(*(UserConstant(f"at {time:g} s: {name} of {joint}", "", 0.0, size) for joint in joints))
        for name, size in (("dv", _JUMP), ("da", _BEND))
    )
    bounces = [
        restitution[one.name] if one.contact.bounces and row == one.rows[0] else -1
        for one in striking
        for row in one.rows
    ]
    return Impact(
        time=time,
        held=np.array(rows, dtype=np.intp),
        striking=np.array(rows[len(held) :], dtype=np.intp),
        restitution=np.array(bounces, dtype=np.intp),
        instant=int(shown[0]),
        impulse=np.array([place[row] for row in rows], dtype=np.intp),
        jump=jump,
        bend=bend,
    )
