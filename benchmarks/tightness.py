# SPDX-License-Identifier: Apache-2.0
"""How much narrower are set_membership's intervals than the paper's, on the same data and assumptions?

The paper's experiment (section VI): a Gen3 that moves a dumbbell for 7.5 s, 4 kHz, torque readings within 2.5 %, links
known to 5 %; friction and armature known to 5 % as well. sensitivity is Algorithm 1 with Theorem 13 over the paper's
windows of 400 samples. The figure of a data set is the geometric mean over the ten parameters of
half-width(sensitivity) / half-width(set_membership).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.disturbances import Context, reading, signs
from benchmarks.motions import DURATION, RecedingHorizon, exciting_pieces, random_pieces
from benchmarks.report import Report, parser, progress
from benchmarks.tightness_report import MARGIN, MOTIONS, PAPER_WINDOW, PATTERNS, SENSORS, Case, summarise
from benchmarks.truth import Arm, SineMotion, make_arm, random_payload
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, SetMembershipConfig, WindowConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("tightness", __doc__)
    options.add_argument("--seeds", type=int, default=5, help="payloads, robots and motions drawn")
    options.add_argument("--rate", type=float, default=4000.0, help="samples per second [Hz]")
    options.add_argument("--duration", type=float, default=DURATION, help="of the data [s]")
    options.add_argument("--windows", type=float, nargs="+", default=[0.2, 0.1, 0.05, 0.03], help="windows tried [s]")
    shipped = SetMembershipConfig().spans
    options.add_argument("--spans", type=int, default=shipped, help="windows in a row that rows are over, at most")
    options.add_argument("--motions", nargs="+", choices=MOTIONS, default=list(MOTIONS), help="motions tried")
    options.add_argument("--sensors", nargs="+", choices=SENSORS, default=list(SENSORS), help="sensors tried")
    options.add_argument("--name", default="tightness", help="of the report")
    options.add_argument("--patterns", nargs="+", choices=PATTERNS, default=list(PATTERNS), help="torque errors tried")
    chosen = options.parse_args(arguments)
    if "exact" not in chosen.sensors:
        options.error("--sensors needs exact, too: the report's headline is of them")
    jobs = [
        (motion, sensors, pattern, chosen.seed + k)
        for motion in chosen.motions
        for k in range(chosen.seeds)
        for sensors in chosen.sensors
        if sensors != "smooth" or motion == "sines"
        for pattern in chosen.patterns
    ]
    cases: list[Case] = []
    arms: dict[tuple[str, int], Arm] = {}
    for motion, sensors, pattern, seed in progress(jobs, "tightness"):
        if (motion, seed) not in arms:
            arms[motion, seed] = make_case_arm(motion, seed)
        arm = arms[motion, seed]
        data = (arm, motion, sensors, pattern, seed, chosen.rate, chosen.duration)
        cases.append(run_case(*data, chosen.windows, chosen.spans))
    report = Report(chosen.name, "Tightness", chosen.out, chosen.command)
    windows = [f"{window:g}" for window in chosen.windows]
    summarise(report, cases, windows, chosen.rate, chosen.duration)
    if chosen.spans > 1:
        report.text(f"set_membership has rows over up to {chosen.spans} windows in a row (set_membership.spans).")
    print(report.write())
    return 0


def make_case_arm(motion: str, seed: int) -> Arm:
    """A robot drawn inside its box, a dumbbell and a motion."""
    rng = np.random.default_rng([seed, list(MOTIONS).index(motion)])
    robot = load_robot("kinova_gen3")
    move: RecedingHorizon | SineMotion
    if motion == "exciting":
        move = exciting_pieces(Chain.from_robot(robot), rng)
    elif motion == "random":
        move = random_pieces(rng)
    else:
        move = SineMotion.random(rng, robot.n)
    return make_arm(
        KnownRobotConfig(),
        random_payload(rng, "dumbbell"),
        move,
        lambda centre, radius: centre + radius * rng.uniform(-1.0, 1.0, centre.size),
    )


def run_case(
    arm: Arm,
    motion: str,
    sensors: str,
    pattern: str,
    seed: int,
    rate: float,
    duration: float,
    windows: Sequence[float],
    spans: int,
) -> Case:
    """Both methods on one data set."""
    rng = np.random.default_rng([seed, PATTERNS.index(pattern), list(SENSORS).index(sensors)])
    robot = arm.problem.robot
    t = np.arange(round(duration * rate) + 1) / rate
    q, qd, qdd = arm.problem.motion(t)
    body = 10 * robot.body_index()
    own = arm.regressor(q, qd, qdd)[:, :, body : body + 10]
    context = Context(t, own, int(rng.integers(10)), PAPER_WINDOW)
    tau = reading(arm.problem.torque(q, qd, qdd), signs(pattern, rng, context), 0.025, 0.0)
    velocity = SENSORS[sensors]
    if sensors != "exact":
        q = robot.encoder_step * np.round(q / robot.encoder_step)
        qd = qd + velocity * rng.uniform(-1.0, 1.0, qd.shape)
    noise = NoiseConfig(
        position_error=(1e-9,) if sensors == "exact" else (0.0,),
        velocity_error=(velocity,),
        acceleration=tuple(MARGIN * np.abs(qdd).max(axis=0)),
        torque_rate=tuple(MARGIN * arm.torque_rate(duration)),
    )
    if sensors == "smooth":
        noise = _smooth(noise, arm, duration)
    samples = JointSamples(robot.joint_names, t, q, qd, tau)
    half_width, contains, cpu = {}, {}, {}
    condition = float("nan")
    methods = [("sensitivity", PAPER_WINDOW)] + [("set_membership", window) for window in windows]
    for method, window in methods:
        effort = SetMembershipConfig(spans=spans)
        config = IntervalIdentifierConfig(
            method=method, noise=noise, window=WindowConfig(duration=window), set_membership=effort
        )
        pipeline = IntervalPipeline(robot, config)
        start = time.process_time()
        result = pipeline.identify(samples)
        key = "sensitivity" if method == "sensitivity" else f"{window:g}"
        cpu[key] = time.process_time() - start
        half_width[key] = 0.5 * (result.upper - result.lower)
        contains[key] = bool(((result.lower <= arm.theta) & (arm.theta <= result.upper)).all())
        if method == "sensitivity":
            condition = result.excitation.condition_number
    return Case(motion, sensors, pattern, seed, condition, half_width, contains, cpu)


def _smooth(noise: NoiseConfig, arm: Arm, duration: float) -> NoiseConfig:
    """With bounds on jerk and on the torques' curvature."""
    motion: SineMotion = arm.problem.motion
    jerk = (np.abs(motion.amplitude) * motion.omega**3).sum(axis=1)
    return replace(noise, jerk=tuple(MARGIN * jerk), torque_curvature=tuple(MARGIN * arm.torque_curvature(duration)))


if __name__ == "__main__":
    sys.exit(main())
