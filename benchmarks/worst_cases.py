# SPDX-License-Identifier: Apache-2.0
"""How much of each proven error bound does the worst opponent reach that optimisation finds?

Random motions of a Gen3 are certified. The opponent chooses the true model in the box, physical as it must be, and lets
every sensor's error push along r and every torque be as late as it may; the plant is delay_loop.py's, which shares
nothing with the suite but the law. A model's effect on a joint is linear in it, so that the worst one for a joint at a
time is a corner; the worst for the norm of all errors is one as well, found by power iteration over the signs. Those
of each kind that should reach most, were their disturbance constant, are simulated.

Exit status 1 when a bound was left.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.delay import box_of, draw, law, motion
from benchmarks.delay_loop import Adversary, Reached, follow
from benchmarks.report import Report, parser, progress
from benchmarks.soundness_draws import MOTOR, is_physical
from benchmarks.truth import Array
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.error_proof import closed_loop

_TIMES = 30
_SHARES = {  # of Reached, in words
    "reference": "r of a joint",
    "position": "e of a joint",
    "level": "V",
    "norm": "norm of e",
}


_REASONS = """What stays below half, and why:

- V: it is quadratic, half of an error is a quarter of it; and the costs of held torques, noise, friction of the wrong
  sign and unknown inertia are each taken at the r that is worst for them.
- Errors where the proof is that by energies (a tenth of Table I, torques in time): it knows the errors by
  one norm alone, so that a joint's bound is that of all the norm in one joint."""


class Opponent(NamedTuple):
    """Signs (14 n,) of a corner of the box, and the share of a bound on r that it would reach by itself."""

    signs: Array
    share: float


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("worst_cases", __doc__)
    options.add_argument("--plans", type=int, default=6, help="certified motions for each knowledge of the load")
    options.add_argument("--opponents", type=int, default=4, help="of each kind, simulated for each")
    options.add_argument("--duration", type=float, default=3.2, help="simulated of each motion [s]")
    chosen = options.parse_args(arguments)
    robot, rng = load_robot("kinova_gen3"), np.random.default_rng(chosen.seed)
    boxes = (("Table I", 1.0), ("a tenth of it", 0.1))
    cases = [(name, share, delay) for name, share in boxes for delay in (0.0, 0.002)]
    reached: dict[tuple[str, float], list[Reached]] = {(name, delay): [] for name, _, delay in cases}
    for name, share, delay in progress(cases, "worst_cases"):
        box, control = box_of(robot, share), law(delay, delayed=delay > 0.0)
        for plan, certificate in certified(robot, box, control, rng, chosen.plans):
            for one in opponents(robot, box, control, plan, certificate, chosen.opponents):
                adversary = Adversary(*corner_model(box, one.signs), smart=True, rng=rng)
                reached[name, delay].append(
                    follow(robot, box, control, plan, certificate, adversary, jitter=0.0, duration=chosen.duration)
                )
    report = Report("worst_cases", "The worst opponents found", chosen.out, chosen.command)
    beyond = summarise(report, reached)
    print(report.write())
    return 1 if beyond else 0


def certified(
    robot: Robot, box: ModelBox, control: RobustControlConfig, rng: np.random.Generator, count: int
) -> list[tuple[Bezier, Certificate]]:
    """Motions whose errors are proven, whatever positions and distances say."""
    certifier = Certifier(robot, (), control, CertifierConfig())
    found: list[tuple[Bezier, Certificate]] = []
    for size in np.geomspace(0.6, 0.01, 40):
        if len(found) == count:
            break
        plan = motion(draw(robot, box, rng, 1)[0], float(size), int(rng.integers(1000)))
        certificate = certifier.certify(plan, box, certifier.at_rest(box), Scene(()))
        if certificate.envelope is not None:
            found.append((plan, certificate))
    return found


def opponents(
    robot: Robot, box: ModelBox, control: RobustControlConfig, plan: Bezier, certificate: Certificate, count: int
) -> list[Opponent]:
    """The best against a single joint, and the best against the norm of all, at any of many times."""
    envelope, law_of = certificate.envelope, gains(robot, control)
    assert envelope is not None
    rows, radius = effects(robot, box, plan)
    metric = closed_loop(box, law_of, control, delayed=certificate.proof == "delayed").metric
    single: list[Opponent] = []
    together: list[Opponent] = []
    for t, effect in zip(np.linspace(0.0, plan.duration, _TIMES), rows, strict=True):
        i = envelope.interval(float(t))
        settled = effect * radius / (law_of.damping + box.motor.viscous)[:, None]
        shares = np.abs(settled).sum(axis=1) / envelope.reference_error[i]
        joint = int(shares.argmax())
        single.append(Opponent(np.sign(effect[joint]), float(shares[joint])))
        scaled = settled * np.sqrt(metric)[:, None]
        signs = worst_of_all(scaled)
        together.append(Opponent(signs, float(np.linalg.norm(scaled @ signs) / np.sqrt(2.0 * envelope.level[i]))))
    return [one for kind in (single, together) for one in sorted(kind, key=lambda one: -one.share)[:count]]


def effects(robot: Robot, box: ModelBox, plan: Bezier) -> tuple[Array, Array]:
    """(_TIMES, n, 14 n) torque along the motion per parameter of the bodies and motors, and their radii (14 n,)."""
    q, qd, qdd = plan(np.linspace(0.0, plan.duration, _TIMES))
    rows = [standard_regressor(Chain.from_robot(robot), q, qd, qdd)]
    columns = {"coulomb": np.sign(qd), "viscous": qd, "armature": qdd, "offset": np.ones_like(q)}
    rows += [np.einsum("tj,jk->tjk", columns[name], np.eye(robot.n)) for name in MOTOR]
    radius = np.concatenate([box.theta_radius.ravel(), *(getattr(box.motor_radius, name) for name in MOTOR)])
    return np.concatenate(rows, axis=2), radius


def worst_of_all(scaled: Array) -> Array:
    """(p,) signs that make |scaled signs| large, (n, p): each step to the corner along the gradient increases it."""
    signs = np.where(scaled[np.linalg.norm(scaled, axis=1).argmax()] >= 0.0, 1.0, -1.0)
    for _ in range(20):
        signs = np.where((scaled @ signs) @ scaled >= 0.0, 1.0, -1.0)
    return np.asarray(signs)


def corner_model(box: ModelBox, signs: Array) -> tuple[Array, MotorConstants]:
    """The model at a corner, each body as near to it as a physical one is."""
    n = len(box.theta)
    step = (1.0 - 1e-12) * signs[: 10 * n].reshape(n, 10) * box.theta_radius
    low, high = np.zeros(n), np.ones(n)
    for _ in range(30):
        middle = 0.5 * (low + high)
        good = is_physical(box.theta + middle[:, None] * step)
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    low = np.where(is_physical(box.theta + step), 1.0, low)
    parts = zip(MOTOR, signs[10 * n :].reshape(len(MOTOR), n), strict=True)
    motor = {name: getattr(box.motor, name) + sign * getattr(box.motor_radius, name) for name, sign in parts}
    return box.theta + low[:, None] * step, MotorConstants(**motor)


def summarise(report: Report, reached: dict[tuple[str, float], list[Reached]]) -> bool:
    """Fills the report; returns whether a bound was left."""
    every = [one for found in reached.values() for one in found]
    beyond = any(getattr(one, name) > 1.0 for one in every for name in _SHARES)
    verdict = "a bound was left" if beyond else "no bound was left"
    report.text(f"**{len(every)} episodes, {verdict}.** The largest share of each bound that was reached:")
    rows = []
    for (name, delay), found in reached.items():
        if found:
            shares = (f"{max(getattr(one, share) for one in found):.3f}" for share in _SHARES)
            rows.append((f"{name}, torques {1e3 * delay:g} ms late", len(found), *shares))
    report.table(("box of models", "episodes", *_SHARES.values()), rows)
    report.text(_REASONS)
    return beyond


if __name__ == "__main__":
    sys.exit(main())
