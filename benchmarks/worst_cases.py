# SPDX-License-Identifier: Apache-2.0
"""How much of each proven error bound does the worst opponent reach that optimisation finds?

Random motions of a Gen3 are certified, half of them taken over from by a second one while they move. The opponent
chooses the true model in the box, links, load, friction, armature and offsets, physical as it must be (opponents.py),
and lets every sensor's error push along r and every torque be as late as it may, off by as much as a drive's may be,
along r or by rounding; the plant is delay_loop.py's, which shares nothing with the suite but the law. Those of each
kind that should reach most, were their disturbance constant, are simulated; where delays jitter, all of this at random.

Exit status 1 when a bound was left.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.delay import box_of, draw, law, motion
from benchmarks.delay_loop import Adversary, Leg, Reached, follow
from benchmarks.opponents import Opponent, Shares, effects, instants, opponents, worst_model
from benchmarks.report import Report, parser, progress
from benchmarks.soundness_draws import MOTOR
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig

TAKEOVER = 1.0
"""Into the first motion [s]."""
SHARES = {  # of Reached, in words
    "reference": "r of a joint",
    "position": "e of a joint",
    "root": "norm of r",
    "norm": "norm of e",
    "command": "command",
    "velocity": "velocity",
}
_AGAINST = {"joint": ("reference", "position"), "all": ("root", "norm")}
"""Which of these an opponent of each kind is found for."""

JITTER = 0.0005


class Case(NamedTuple):
    """Models of a box, longest delay [s], drives' errors [N m], whether those round, and whether all is chance."""

    box: str
    delay: float = 0.0
    torque_error: float = 0.0
    quantised: bool = False
    chance: bool = False

    @property
    def words(self) -> str:
        """For the report."""
        late = f"{1e3 * self.delay:g} ms late" if self.delay else "in time"
        late = f"up to {late}, jittering" if self.chance else late
        exact = f"rounded to {2.0 * self.torque_error:g} N m" if self.quantised else f"off by {self.torque_error:g} N m"
        return f"{self.box}, torques {late}" + (f", {exact}" if self.torque_error else "")


BOXES = {"Table I": 1.0, "a tenth of it": 0.1}
CASES = tuple(
    case
    for name in BOXES
    for case in (
        Case(name),
        Case(name, delay=0.002),
        Case(name, torque_error=0.2),
        Case(name, delay=0.002, torque_error=0.2),
        Case(name, delay=0.002, torque_error=0.2, quantised=True),
        Case(name, delay=0.002, torque_error=0.2, chance=True),
    )
)


class Fought(NamedTuple):
    """Reach of an opponent, with the shares of its bound on r that its corner would make, and it as it is."""

    reached: Reached
    kind: str
    corner: float
    model: float
    proof: str


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("worst_cases", __doc__)
    options.add_argument("--plans", type=int, default=6, help="certified motions in each case, at least two")
    options.add_argument("--opponents", type=int, default=2, help="of each kind, simulated for each")
    options.add_argument("--duration", type=float, default=2.4, help="simulated of each motion [s]")
    chosen = options.parse_args(arguments)
    robot, rng = load_robot("kinova_gen3"), np.random.default_rng(chosen.seed)
    boxes = {name: box_of(robot, share) for name, share in BOXES.items()}
    fought: dict[str, list[Fought]] = {}
    for case in progress(CASES, "worst_cases"):
        box, control = boxes[case.box], law(case.delay, delayed=case.delay > 0.0, torque_error=case.torque_error)
        fought[case.words] = [
            fight(robot, box, control, legs, opponent, case, rng, chosen.duration)
            for legs in motions(robot, box, control, rng, chosen.plans)
            for opponent in opponents(robot, box, control, legs[-1], chosen.opponents)
        ]
    report = Report("worst_cases", "The worst opponents found", chosen.out, chosen.command)
    beyond = summarise(report, fought)
    print(report.write())
    return 1 if beyond else 0


def motions(
    robot: Robot, box: ModelBox, control: RobustControlConfig, rng: np.random.Generator, count: int
) -> list[list[Leg]]:
    """Motions whose errors are proven, whatever positions and distances say; another takes over from every other."""
    certifier = Certifier(robot, (), control, CertifierConfig())
    found: list[list[Leg]] = []
    for size in np.geomspace(0.6, 0.01, 40):
        if len(found) == count:
            break
        plan = motion(draw(robot, box, rng, 1)[0], float(size), int(rng.integers(1000)))
        certificate = certifier.certify(plan, box, certifier.at_rest(box), Scene(()))
        if certificate.envelope is None:
            continue
        legs = [Leg(0.0, plan, certificate)]
        if len(found) % 2:
            start = plan(TAKEOVER)
            further = Bezier(start.q, start.qd, start.qdd, float(size) * rng.uniform(-1.0, 1.0, robot.n), plan.duration)
            after = certifier.certify(further, box, certificate.envelope.entry(TAKEOVER), Scene(()))
            if after.envelope is None:
                continue
            legs.append(Leg(TAKEOVER, further, after))
        found.append(legs)
    return found


def fight(
    robot: Robot,
    box: ModelBox,
    control: RobustControlConfig,
    legs: Sequence[Leg],
    opponent: Opponent,
    case: Case,
    rng: np.random.Generator,
    duration: float,
) -> Fought:
    """Reach of an opponent."""
    theta, motor = worst_model(box, opponent.pull)
    off = [(theta - box.theta).ravel(), *(getattr(motor, name) - getattr(box.motor, name) for name in MOTOR)]
    share = Shares(robot, box, control, legs[-1])
    pushed = effects(robot, legs[-1].plan) @ np.concatenate(off)
    model = max(share(t, torque)[opponent.kind] for t, torque in zip(instants(legs[-1].plan), pushed, strict=True))
    adversary = Adversary(theta, motor, smart=not case.chance, rng=rng, quantised=case.quantised)
    reached = follow(robot, box, control, legs, adversary, jitter=JITTER, duration=duration)
    return Fought(reached, opponent.kind, opponent.share, model, legs[-1].certificate.proof)


def summarise(report: Report, fought: dict[str, list[Fought]]) -> bool:
    """Fills the report; returns whether a bound was left."""
    every = [one.reached for found in fought.values() for one in found]
    beyond = any(getattr(one, name) > 1.0 for one in every for name in SHARES)
    verdict = "a bound was left" if beyond else "no bound was left"
    report.text(f"**{len(every)} episodes, {verdict}.** The largest share of each bound that was reached:")
    rows, below = [], []
    for words, found in fought.items():
        if not found:
            continue
        most = {share: max(getattr(one.reached, share) for one in found) for share in SHARES}
        rows.append((words, len(found), *(f"{most[share]:.3f}" for share in SHARES)))
        for kind, both in _AGAINST.items():
            those = [one for one in found if one.kind == kind]
            low = [share for share in both if most[share] < 0.5]
            if low and those:
                made = (max(getattr(one, name) for one in those) for name in ("corner", "model"))
                reached = ", ".join(f"{SHARES[share]} {most[share]:.3f}" for share in low)
                proofs = " and ".join(sorted({one.proof for one in found}))
                below.append((words, reached, *(f"{share:.3f}" for share in made), proofs))
    report.table(("box of models", "episodes", *SHARES.values()), rows)
    report.text("The norm of r is the root of V's share: half of all errors is a quarter of V.")
    if below:
        report.section("Less than half")
        report.text(
            "What models alone would make of the bound on r, were their effect constant: at the worst corner of the "
            "box, and with each body as near to it as a physical one is. The rest of a bound is for what sensors, age, "
            "friction and coupling add, all at their worst at once."
        )
        report.table(("box of models", "reached", "worst corner", "physical", "proof"), below)
    return beyond


if __name__ == "__main__":
    sys.exit(main())
