# SPDX-License-Identifier: Apache-2.0
"""In how many postures can a Gen3 whose torques come late be certified, by which proof, and how far off is it really?

Postures are drawn over the joints' ranges; those count in which the motors can hold every load of the box: nominal
torque and what the box adds to it stay within the limits. Standing still is certified in each, and a motion of up to
0.3 rad in 3 s, with the box of Table I and one of a third of its width. Then certified cases are simulated with models
at corners of the box, longest and jittering delays and sensors' errors at their bounds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.delay_loop import Adversary, Leg, follow
from benchmarks.report import Report, parser, progress
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import parameters_to_pseudo_inertia
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.robot import Array, MotorConstants
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.error_proof import ErrorProof

JITTER = 0.0005
NOTHING = Scene(())


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("delay", __doc__)
    options.add_argument("--postures", type=int, default=40, help="drawn")
    options.add_argument("--delays", type=float, nargs="+", default=[0.0005, 0.001, 0.0025, 0.0045], help="longest [s]")
    options.add_argument("--episodes", type=int, default=12, help="simulated")
    chosen = options.parse_args(arguments)
    rng = np.random.default_rng(chosen.seed)
    robot = load_robot("kinova_gen3", variant="gripper")
    boxes = {"Table I": box_of(robot, 1.0), "a third": box_of(robot, 1.0 / 3.0)}
    postures = {name: draw(robot, box, rng, chosen.postures) for name, box in boxes.items()}
    report = Report("delay", "Delay", chosen.out, chosen.command)
    report.text(
        f"Certified share of {chosen.postures} postures that the motors can hold with every load of the box, in %. "
        "Delays are the longest, jitter included; the period is 1 ms, K_r 2.5 for the delayed proof, 4 for the other."
    )
    cases = [
        (name, k, delay, delayed)
        for name in boxes
        for k in (0.0, 0.3)
        for delay in chosen.delays
        for delayed in (False, True)
    ]
    table: dict[tuple[str, float, float, bool], list[bool]] = {}
    taken: list[float] = []
    for case in progress(cases, "delay"):
        name, k, delay, delayed = case
        table[case] = []
        for seed, q in enumerate(postures[name]):
            begun = time.process_time()
            found = judge(robot, boxes[name], motion(q, k, seed), delay, delayed=delayed)
            if delayed:
                taken.append(time.process_time() - begun)
            table[case].append(found)
    rows = [
        (
            f"{name}, {'still' if k == 0.0 else f'{k:g} rad'}",
            "delayed" if delayed else "energy",
            *(f"{100.0 * np.mean(table[name, k, delay, delayed]):.0f}" for delay in chosen.delays),
        )
        for name in boxes
        for k in (0.0, 0.3)
        for delayed in (False, True)
    ]
    report.table(("", "proof", *(f"{1e3 * delay:g} ms" for delay in chosen.delays)), rows)
    report.text(f"A delayed proof with its torque margin takes {1e3 * np.median(taken):.0f} ms of CPU (median).")
    report.section("Adversaries")
    episodes(report, robot, boxes, postures, rng, chosen.episodes)
    print(report.write())
    return 0


def box_of(robot: Robot, share: float) -> ModelBox:
    """Table I, or a share of it around its middle's physical neighbour."""
    prior = PriorConfig().bounds
    whole = model_box(robot, KnownRobotConfig(), prior, robot.body_index(""))
    if share == 1.0:
        return whole
    middle, half = whole.theta[robot.body_index("")], share * prior.half_width
    return model_box(robot, KnownRobotConfig(), Bounds(middle - half, middle + half), robot.body_index(""))


def draw(robot: Robot, box: ModelBox, rng: np.random.Generator, count: int) -> list[Array]:
    """Postures whose torque the motors have for every model of the box."""
    limits, chain = robot.limits, Chain.from_robot(robot)
    lower, upper = (
        np.where(np.isfinite(x), x, side * np.pi)
        for x, side in ((limits.position_lower, -1), (limits.position_upper, 1))
    )
    found: list[Array] = []
    while len(found) < count:
        q = rng.uniform(lower, upper)
        still = np.zeros((1, robot.n))
        row = standard_regressor(chain, q[None], still, still)[0]
        needed = np.abs(row @ box.theta.ravel()) + np.abs(row) @ box.theta_radius.ravel()
        needed += box.motor.coulomb + box.motor_radius.coulomb
        if (needed <= limits.torque).all():
            found.append(q)
    return found


def motion(q: Array, k: float, seed: int) -> Bezier:
    """A motion from rest at q by up to k a joint."""
    still = np.zeros(q.size)
    return Bezier(q, still, still, np.random.default_rng(seed).uniform(-k, k, q.size), 3.0)


def law(delay: float, *, delayed: bool, torque_error: float = 0.0) -> RobustControlConfig:
    """The law's configuration."""
    return RobustControlConfig(delay=delay, position_gain=2.5 if delayed else 4.0, torque_error=(torque_error,))


def judge(robot: Robot, box: ModelBox, plan: Bezier, delay: float, *, delayed: bool) -> bool:
    """Whether errors and torques are proven by one of the proofs, whatever positions and distances say."""
    certifier = Certifier(robot, (), law(delay, delayed=delayed), CertifierConfig())
    proof = certifier.prove_by(plan, box, certifier.at_rest(box), delayed=delayed)
    if not isinstance(proof, ErrorProof):
        return False
    return bool((proof.demand.nominal_torque + proof.robust <= robot.limits.torque).all())


def episodes(
    report: Report,
    robot: Robot,
    boxes: dict[str, ModelBox],
    postures: dict[str, list[Array]],
    rng: np.random.Generator,
    count: int,
) -> None:
    """Simulates certified cases against models at corners and the worst that sensors and delays may do."""
    rows: list[tuple[object, ...]] = []
    tried = 0
    while len(rows) < count and tried < 4 * count:
        name, delay, k = [("Table I", 0.0025, 0.0), ("Table I", 0.0025, 0.1), ("a third", 0.0045, 0.3)][tried % 3]
        q, smart = postures[name][tried % len(postures[name])], tried % 2 == 0
        tried += 1
        box, control, plan = boxes[name], law(delay, delayed=True), motion(q, k, tried)
        certifier = Certifier(robot, (), control, CertifierConfig())
        certificate: Certificate = certifier.certify(plan, box, certifier.at_rest(box), NOTHING)
        if not certificate.certified or certificate.proof != "delayed":
            continue
        adversary = Adversary(*corner(robot, box, q, rng), smart=smart, rng=rng)
        # From the beginning until e has settled.
        legs = [Leg(0.0, plan, certificate)]
        reached = follow(robot, box, control, legs, adversary, jitter=JITTER, duration=2.0)
        kind = "along r, longest" if smart else "random, jittering"
        shares = (f"{100.0 * x:.0f}" for x in (reached.reference, reached.position, reached.torque))
        rows.append((f"{name}, {k:g} rad, {1e3 * delay:g} ms, {kind}", *shares))
    report.text(
        "Largest shares of what is proven of |r_j| and |e_j| that were reached, and of the torque limits, in %."
    )
    report.table(("", "r", "e", "torque"), rows)


def corner(robot: Robot, box: ModelBox, q: Array, rng: np.random.Generator) -> tuple[Array, MotorConstants]:
    """A physical model as far as the box allows in the direction that loads a joint most, friction at random ends."""
    chain, still = Chain.from_robot(robot), np.zeros((1, robot.n))
    row = standard_regressor(chain, q[None], still, still)[0]
    joint = int(np.argmax(np.abs(row) @ box.theta_radius.ravel()))
    wanted = np.sign(row[joint]).reshape(box.theta.shape) * box.theta_radius * rng.choice([-1.0, 1.0])
    theta = box.theta.copy()
    for body in range(len(theta)):
        low, high = 0.0, 1.0
        for _ in range(20):
            share = 0.5 * (low + high)
            low, high = (share, high) if _physical(theta[body] + share * wanted[body]) else (low, share)
        theta[body] = theta[body] + low * wanted[body]
    ends = [
        getattr(box.motor, name) + rng.choice([-1.0, 1.0], robot.n) * getattr(box.motor_radius, name)
        for name in ("coulomb", "viscous", "armature", "offset")
    ]
    return theta, MotorConstants(*ends)


def _physical(theta: Array) -> bool:
    return bool(np.linalg.eigvalsh(parameters_to_pseudo_inertia(theta))[0] > 1e-9)


if __name__ == "__main__":
    sys.exit(main())
