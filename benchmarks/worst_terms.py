# SPDX-License-Identifier: Apache-2.0
"""How much of each proven error bound can be reached when one thing alone is not exact?

A bound on tracking errors is a sum: the load's model, the links', friction, armature, sensors, drives, age of torques
and the start each at its worst. No opponent can have all of them at their worst at once, so that worst_cases.py says
little about each. Here all but one are as good as exact, and the opponent of worst_cases.py, found by optimisation,
plays that one alone, in each of the two proofs. A term whose bound is reached here is as small as it can be; what the
sum leaves unreached is then that the terms do not meet.

The second table says what the bounds of one motion with everything inexact are made of: by how much they shrink where
one term is taken away.

Exit status 1 when a bound was left.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pinocchio

from benchmarks.delay import draw, law, motion
from benchmarks.delay_loop import Adversary, Leg, Reached, follow
from benchmarks.opponents import opponents, worst_model
from benchmarks.report import Report, parser, progress
from benchmarks.truth import Array
from benchmarks.worst_cases import SHARES
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results.certificate import PROOFS, Certificate
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig

_NOTHING = 1e-9
DELAY = 0.002


class Inexact(NamedTuple):
    """Things that are not exact, and by how much.

    Attributes:
        load: half-widths of the load's box, as a share of Table I.
        links, viscous, armature: relative errors of the other links and of the motors.
        coulomb: whether there is dry friction, 5 % of which are unknown.
        sensors: errors of positions and velocities, as a multiple of the Gen3's.
        drives: torque errors [N m] of all joints, or of the joint in the second place alone.
        delay: longest [s].
        start: error of place [rad] where a motion begins; its speed is six times that [rad/s].
    """

    load: float = 1e-6
    links: float = 0.0
    viscous: float = 0.0
    armature: float = 0.0
    coulomb: bool = False
    sensors: float = _NOTHING
    drives: float = 0.0
    alone: bool = False
    delay: float = 0.0
    start: float = 1e-7


ALL = Inexact(0.1, 0.05, 0.05, 0.05, True, 1.0, 0.2, False, 0.0, 5e-4)
NONE = Inexact()
TERMS = {
    "load": NONE._replace(load=ALL.load),
    "other links": NONE._replace(links=ALL.links),
    "viscous friction and armature": NONE._replace(viscous=ALL.viscous, armature=ALL.armature),
    "dry friction": NONE._replace(coulomb=True),
    "sensors": NONE._replace(sensors=ALL.sensors),
    "drives": NONE._replace(drives=ALL.drives),
    "the drive of one joint": NONE._replace(drives=ALL.drives, alone=True),
    "start": NONE._replace(start=ALL.start),
}
"""Each alone."""

WITHOUT = {
    "load": ALL._replace(load=NONE.load),
    "other links": ALL._replace(links=0.0),
    "viscous friction and armature": ALL._replace(viscous=0.0, armature=0.0),
    "dry friction": ALL._replace(coulomb=False),
    "sensors": ALL._replace(sensors=NONE.sensors),
    "drives": ALL._replace(drives=0.0),
    "start": ALL._replace(start=NONE.start),
}
"""All but one."""


class Setting(NamedTuple):
    """Means of certificates."""

    box: ModelBox
    control: RobustControlConfig
    certifier: Certifier


def build_setting(robot: Robot, inexact: Inexact) -> Setting:
    """Models, law and certifier for what is inexact."""
    n, prior = robot.n, PriorConfig().bounds
    friction = inexact.viscous or (0.05 if inexact.coulomb else 0.0)
    known = KnownRobotConfig(
        inertia_relative=inexact.links,
        friction_relative=friction,
        armature_relative=inexact.armature,
        coulomb=() if inexact.coulomb else (0.0,),
        viscous=(0.0,) if friction and not inexact.viscous else (),
    )
    middle = model_box(robot, known, prior, robot.body_index("")).theta[robot.body_index("")]
    half = inexact.load * prior.half_width
    box = model_box(robot, known, Bounds(middle - half, middle + half), robot.body_index(""))
    drives = np.where(np.arange(n) == 1, inexact.drives, 0.0) if inexact.alone else np.full(n, inexact.drives)
    control = replace(
        law(inexact.delay, delayed=inexact.delay > 0.0),
        position_error=tuple(0.5 * inexact.sensors * robot.encoder_step),
        velocity_error=(1e-4 * inexact.sensors,),
        torque_error=tuple(drives),
    )
    config = CertifierConfig(start_speed=6.0 * inexact.start, start_distance=inexact.start)
    return Setting(box, control, Certifier(robot, (), control, config))


def prove(robot: Robot, inexact: Inexact, plan: Bezier) -> Certificate:
    """The certificate of a motion from rest, whatever limits say of it."""
    found = build_setting(robot, inexact)
    return found.certifier.certify(plan, found.box, found.certifier.at_rest(found.box), Scene(()))


def reach(robot: Robot, inexact: Inexact, plan: Bezier, duration: float, rng: np.random.Generator) -> list[Reached]:
    """Shares that opponents reach of a motion's bounds: the worst models found, and errors along r or all one way.

    Pushes all one way are those of the signs that r would have the most energy with.
    """
    box, control, certifier = build_setting(robot, inexact)
    certificate = certifier.certify(plan, box, certifier.at_rest(box), Scene(()))
    if certificate.envelope is None:
        return []
    legs, found = [Leg(0.0, plan, certificate)], []
    for opponent in opponents(robot, box, control, legs[0], 1):
        for pattern in (None, heaviest(robot, box, plan)):
            adversary = Adversary(*worst_model(box, opponent.pull), smart=True, rng=rng, pattern=pattern)
            found.append(
                follow(
                    robot, box, control, legs, adversary, jitter=0.0, duration=duration,
                    speed=6.0 * inexact.start, distance=inexact.start,
                )
            )  # fmt: skip
    return found


def heaviest(robot: Robot, box: ModelBox, plan: Bezier) -> Array:
    """(n,) signs s with the largest s' M s where the motion ends."""
    mass = true_inertia(robot, box, plan.goal)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=robot.n - 1)))
    signs = np.column_stack([np.ones(len(signs)), signs])
    return np.asarray(signs[np.einsum("sj,jk,sk->s", signs, mass, signs).argmax()])


def true_inertia(robot: Robot, box: ModelBox, q: Array) -> Array:
    """(n, n) mass matrix of the middle of a box."""
    model = robot.model.copy()
    for body in range(robot.n):
        model.inertias[body + 1] = pinocchio.Inertia.FromDynamicParameters(box.theta[body])
    model.armature = box.motor.armature
    upper = np.triu(pinocchio.crba(model, model.createData(), q))
    return np.asarray(upper + np.triu(upper, 1).T)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("worst_terms", __doc__)
    options.add_argument("--plans", type=int, default=2, help="motions from rest of each kind")
    options.add_argument("--duration", type=float, default=1.8, help="simulated of each [s]")
    chosen = options.parse_args(arguments)
    robot, rng = load_robot("kinova_gen3"), np.random.default_rng(chosen.seed)
    box = build_setting(robot, ALL).box
    plans = [motion(q, 0.3, seed) for seed, q in enumerate(draw(robot, box, rng, chosen.plans))]
    reached: dict[tuple[str, str], list[Reached]] = {}
    for term, delay in progress([(term, delay) for term in TERMS for delay in (0.0, DELAY)], "worst_terms"):
        inexact = TERMS[term]._replace(delay=delay)
        found = [one for plan in plans for one in reach(robot, inexact, plan, chosen.duration, rng)]
        reached[term, PROOFS[delay > 0.0]] = found
    report = Report("worst_terms", "Each term of the proven errors alone", chosen.out, chosen.command)
    beyond = summarise(report, reached)
    made_of(report, robot, plans)
    print(report.write())
    return 1 if beyond else 0


def summarise(report: Report, reached: dict[tuple[str, str], list[Reached]]) -> bool:
    """Fills the report; returns whether a bound was left."""
    every = [one for found in reached.values() for one in found]
    beyond = any(getattr(one, name) > 1.0 for one in every for name in SHARES)
    verdict = "a bound was left" if beyond else "no bound was left"
    report.text(f"**{len(every)} episodes, {verdict}.** Largest shares that were reached, all else being exact:")
    rows = []
    for (term, proof), found in reached.items():
        if found:
            most = (max(getattr(one, share) for one in found) for share in SHARES)
            rows.append((term, proof, *(f"{share:.2f}" for share in most)))
    report.table(("not exact", "proof", *SHARES.values()), rows)
    return beyond


def made_of(report: Report, robot: Robot, plans: Sequence[Bezier]) -> None:
    """By how much bounds shrink where one term is taken away, in the mean of the motions."""
    report.section("What the bounds are made of")
    rows = []
    for delay in (0.0, DELAY):
        whole = [sizes(prove(robot, ALL._replace(delay=delay), plan)) for plan in plans]
        for term, inexact in WITHOUT.items():
            less = [sizes(prove(robot, inexact._replace(delay=delay), plan)) for plan in plans]
            shares = 1.0 - np.mean(np.array(less) / np.array(whole), axis=0)
            rows.append((term, PROOFS[delay > 0.0], *(f"{share:.2f}" for share in shares)))
    report.text("With everything inexact: the share of a bound, at its largest over the motion, that goes with a term.")
    report.table(("without", "proof", "norm of r", "norm of e", "r of a joint", "e of a joint", "clip"), rows)


def sizes(certificate: Certificate) -> tuple[float, ...]:
    """Largest bounds over a motion; those of single joints, and the clip, as root mean squares over the joints."""
    found = certificate.envelope
    if found is None:
        return (np.nan,) * 5
    joints = (x.max(axis=0) for x in (found.reference_error, found.position_error))
    mean = (float(np.sqrt((x**2).mean())) for x in (*joints, certificate.robust_limit))
    return float(np.sqrt(2.0 * found.level.max())), float(found.position.max()), *mean


if __name__ == "__main__":
    sys.exit(main())
