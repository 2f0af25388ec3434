# SPDX-License-Identifier: Apache-2.0
"""One trial of the containment benchmark: a world drawn from a seed, every assumption true and many at their edge."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.disturbances import SENSOR_PATTERNS, TORQUE_PATTERNS, Context, influence, reading, signs
from benchmarks.motions import RecedingHorizon, random_pieces
from benchmarks.truth import Arm, SineMotion, make_arm, random_payload
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.signals.windows import cut
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, SetMembershipConfig, WindowConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.window_spans import WindowSpans

Array = npt.NDArray[np.float64]

START = 100.0
"""Stamp of the first sample [s]; double precision resolves 1e-14 s there."""


@dataclass(frozen=True)
class World:
    """Draws of a trial. All of it is stated to the identifier, the truth and the errors themselves apart."""

    payload: str
    corner: str  # where in their box the robot's other parameters are
    parameter: int  # the one that aimed errors aim at
    torque_pattern: str
    sensor_pattern: str  # of velocity
    encoder: str  # quantised, or off by half a step in a sensor pattern
    motion: str  # sines of a random arm posture, or the paper's small pieces
    speed: float  # of sines [rad/s]
    still: int  # joints that stand still, with static friction of any size
    rate: float  # [Hz]
    duration: float  # of the data [s]
    jitter: float  # share of the sample interval
    stamp_error: float  # [s]
    velocity_error: float  # [rad/s]
    torque_absolute: float  # [N m]
    offset: float  # [N m]
    gain: float  # [1]
    known: float  # relative uncertainty of inertia, friction and armature
    smooth: bool  # bounds on jerk and, of sines, on the torques' curvature are stated
    window: float  # [s]
    max_rows: int
    mode: str  # stream, block or blocks
    spans: int  # rows over up to so many windows in a row

    @classmethod
    def draw(cls, rng: np.random.Generator) -> World:
        return cls(
            payload=str(rng.choice(["dumbbell", "points", "thin"], p=[0.4, 0.3, 0.3])),
            corner=str(rng.choice(["inside", "corner", "aimed corner"])),
            parameter=int(rng.integers(10)),
            torque_pattern=str(rng.choice(TORQUE_PATTERNS)),
            sensor_pattern=str(rng.choice(SENSOR_PATTERNS)),
            encoder=str(rng.choice(["quantised", *SENSOR_PATTERNS], p=[0.5] + [0.1] * len(SENSOR_PATTERNS))),
            motion=str(rng.choice(["sines", "pieces"], p=[0.75, 0.25])),
            speed=float(rng.choice([0.2, 0.6, 0.9, 1.3, 1.3])),
            still=int(rng.choice([0, 0, 0, 1, 2])),
            rate=float(rng.choice([250.0, 500.0, 1000.0, 2000.0])),
            duration=float(rng.choice([1.5, 2.5, 4.5])),
            jitter=float(rng.choice([0.0, 0.1, 0.4])),
            stamp_error=float(rng.choice([0.0, 0.0, 0.0, 2e-5])),
            velocity_error=float(rng.choice([0.0, 1e-5, 1e-4, 1e-3])),
            torque_absolute=float(rng.choice([0.0, 0.0, 0.1])),
            offset=float(rng.choice([0.0, 0.0, 0.2])),
            gain=float(rng.choice([0.0, 0.0, 0.03])),
            known=float(rng.choice([0.05, 0.05, 0.005, 0.0005])),
            smooth=bool(rng.random() < 0.5),
            window=float(rng.choice([0.05, 0.1, 0.2])),
            max_rows=int(rng.choice([60, 400])),
            mode=str(rng.choice(["stream", "block", "blocks"], p=[0.5, 0.3, 0.2])),
            spans=int(rng.choice([1, 2, 4, 8])),
        )


@dataclass(frozen=True)
class Data:
    """Input of the identifier, and the truth."""

    arm: Arm
    config: IntervalIdentifierConfig
    samples: JointSamples


def run_trial(seed: int, trial: int, **fixed: Any) -> dict[str, Any]:
    """The record of one trial, ready for JSON; the same for the same arguments. What is fixed is not drawn."""
    rng = np.random.default_rng([seed, trial])
    world = replace(World.draw(rng), **fixed)
    data = simulate(world, rng)
    record: dict[str, Any] = {"trial": trial, **asdict(world)}
    record["set_membership"] = _follow(data, world.mode, rng)
    record["radius_used"] = radius_used(data)
    record["sensitivity"] = _sensitivity(data)
    return record


def simulate(world: World, rng: np.random.Generator) -> Data:
    """Signals of a world and the configuration that states its assumptions."""
    known = KnownRobotConfig(
        inertia_relative=world.known,
        friction_relative=world.known,
        armature_relative=world.known,
        offset_absolute=(world.offset,),
        gain_relative=(world.gain,),
    )
    motion = _motion(world, rng)
    t = _times(world, rng)
    theta = random_payload(rng, world.payload)

    # Errors are aimed through the exact regressor; the robot's true parameters come last: they may be aimed too.
    probe = make_arm(known, theta, motion, lambda centre, radius: centre + 0.0 * radius)
    q, qd, qdd = motion(t)
    regressor = probe.regressor(q, qd, qdd)
    body = 10 * probe.problem.robot.body_index()
    own = regressor[:, :, body : body + 10]
    arm = make_arm(known, theta, motion, partial(_draw_robot, world, rng, own, regressor))
    robot, n = arm.problem.robot, arm.problem.robot.n
    torque = arm.problem.torque(q, qd, qdd)
    coulomb, gain = arm.problem.p[10 * n : 11 * n], arm.problem.p[14 * n :]
    torque = torque + np.where(qd == 0.0, rng.uniform(-1.0, 1.0, qd.shape), 0.0) * coulomb / gain

    context = Context(t, own, world.parameter, world.window)
    torque_sign = signs(world.torque_pattern, rng, context)
    sensor_sign = signs(world.sensor_pattern, rng, context)
    position = robot.encoder_step * np.round(q / robot.encoder_step)
    if world.encoder != "quantised":
        position = q + 0.5 * robot.encoder_step * signs(world.encoder, rng, context)
    noise = _stated_noise(world, arm, motion, float(t[-1]))
    stamps = START + t + world.stamp_error * signs("uniform", rng, context)[:, 0]
    samples = JointSamples(
        robot.joint_names,
        stamps,
        position,
        qd + world.velocity_error * sensor_sign,
        reading(torque, torque_sign, noise.torque_relative[0], world.torque_absolute),
    )
    config = IntervalIdentifierConfig(
        noise=noise,
        known_robot=known,
        window=WindowConfig(duration=world.window),
        set_membership=SetMembershipConfig(max_rows=world.max_rows, spans=world.spans),
    )
    return Data(arm, config, samples)


def _draw_robot(
    world: World, rng: np.random.Generator, own: Array, regressor: Array, centre: Array, radius: Array
) -> Array:
    """(P,) parameters of the robot in their box, or the corner at which they push the aimed estimate most."""
    if world.corner == "inside":
        return np.asarray(centre + radius * rng.uniform(-1.0, 1.0, centre.size))
    if world.corner == "corner":
        return np.asarray(centre + radius * rng.choice([-1.0, 1.0], centre.size))
    push = np.einsum("tk,tkp->p", influence(own)[:, :, world.parameter], regressor)
    return np.asarray(centre + radius * rng.choice([-1.0, 1.0]) * np.where(push >= 0.0, 1.0, -1.0))


def _stated_noise(world: World, arm: Arm, motion: SineMotion | RecedingHorizon, duration: float) -> NoiseConfig:
    return NoiseConfig(
        torque_absolute=(world.torque_absolute,),
        velocity_error=(world.velocity_error,),
        stamp_error=world.stamp_error,
        acceleration=tuple(np.maximum(motion.acceleration, 1e-6)),
        jerk=tuple(np.maximum(_jerk(motion), 1e-6)) if world.smooth else (0.0,),
        torque_rate=tuple(arm.torque_rate(duration)),
        torque_curvature=tuple(arm.torque_curvature(duration)) if world.smooth and world.motion == "sines" else (0.0,),
    )


def _motion(world: World, rng: np.random.Generator) -> SineMotion | RecedingHorizon:
    if world.motion == "pieces":
        return random_pieces(rng, 2)
    motion = SineMotion.random(rng, 7, world.speed)
    amplitude = motion.amplitude.copy()
    amplitude[rng.permutation(7)[: world.still]] = 0.0
    return SineMotion(motion.centre, amplitude, motion.omega, motion.phase)


def _jerk(motion: SineMotion | RecedingHorizon) -> Array:
    """(n,) bound on |qddd|."""
    if isinstance(motion, RecedingHorizon):
        return motion.jerk
    return np.asarray((motion.amplitude * motion.omega**3).sum(axis=1))


def _times(world: World, rng: np.random.Generator) -> Array:
    t = np.arange(0.0, world.duration, 1.0 / world.rate)
    return np.asarray(t + rng.uniform(0.0, world.jitter, t.size) / world.rate)


def _results(pipeline: IntervalPipeline, samples: JointSamples, mode: str, rng: np.random.Generator) -> Any:
    """Every result the pipeline publishes."""
    if mode == "stream":
        order = rng.permutation(len(samples.names))
        names = [samples.names[k] for k in order]
        for k in range(len(samples)):
            row = (samples.q[k, order], samples.qd[k, order], samples.tau[k, order])
            if (result := pipeline.push(names, float(samples.t[k]), *row)) is not None:
                yield result
        yield pipeline.finish()
        return
    cuts = [0, len(samples) - 1]
    if mode == "blocks":
        cuts = sorted({0, len(samples) - 1, *rng.integers(1, len(samples) - 1, 3).tolist()})
    for first, last in pairwise(cuts):
        yield pipeline.identify(samples.slice(first, last + 1))
    yield pipeline.finish()


def _follow(data: Data, mode: str, rng: np.random.Generator) -> dict[str, Any]:
    """Checks every published result, not only the last one."""
    theta = data.arm.theta
    pipeline = IntervalPipeline(data.arm.problem.robot, data.config)
    misses: list[dict[str, Any]] = []
    count = 0
    result: IdentificationResult = pipeline.result
    for result in _results(pipeline, data.samples, mode, rng):
        count += 1
        if result.status is Status.INCONSISTENT:
            sentence = result.contradiction.sentence() if result.contradiction else ""
            misses.append({"window": result.window, "inconsistent": sentence})
            break
        outside = np.flatnonzero((theta < result.lower) | (theta > result.upper))
        if outside.size:
            excess = np.maximum(result.lower - theta, theta - result.upper)[outside]
            misses.append({"window": result.window, "parameters": outside.tolist(), "excess": excess.tolist()})
            break
    half = 0.5 * (result.upper - result.lower)
    accused = {key: value for key, value in result.samples_rejected.items() if "bound" in key or "odds" in key}
    return {
        "results": count,
        "status": result.status.name,
        "misses": misses,
        "accused": accused,
        "half_width": half.tolist(),
        "position": (np.abs(theta - 0.5 * (result.upper + result.lower)) / half).tolist(),
    }


def radius_used(data: Data) -> float:
    """Largest share of its error radius that any row needs at the truth: a sharper test than the bounds themselves."""
    pipeline = IntervalPipeline(data.arm.problem.robot, data.config)
    reach = Reach(pipeline.chain, np.zeros(pipeline.chain.n))
    builder = RowBuilder(pipeline.chain, reach, pipeline.noise, pipeline.unknowns)
    edges, _ = cut(data.samples, data.config.window.duration, data.config.window.max_gap)
    theta = data.arm.theta
    lengths = WindowSpans(data.config.set_membership.spans).lengths
    rows, _ = builder.rows_over(builder.draft(data.samples, edges), theta, lengths, 0)
    residual = np.abs(rows.coefficients @ data.arm.problem.p)
    return float((residual / rows.total_radius(Bounds(theta, theta))).max())


def _sensitivity(data: Data) -> dict[str, Any]:
    """The paper's method on all data of the trial at once, where it is at its best."""
    config = data.config
    config = IntervalIdentifierConfig(
        method="sensitivity", noise=config.noise, known_robot=config.known_robot, window=config.window
    )
    result = IntervalPipeline(data.arm.problem.robot, config).identify(data.samples)
    half = 0.5 * (result.upper - result.lower)
    off = np.abs(data.arm.theta - result.nominal)
    with np.errstate(invalid="ignore", divide="ignore"):
        position = np.where(np.isfinite(half), off / half, 0.0)
    return {"half_width": half.tolist(), "position": position.tolist()}
