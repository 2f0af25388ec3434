# SPDX-License-Identifier: Apache-2.0
"""Measurements of a payload problem with every error at its bound, and the configuration that states those bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from shared.payload_problem import GRIPPER, Problem, SineMotion, gen3_problem

from sysid_nodes.data import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig, known_box
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, WindowConfig

Array = npt.NDArray[np.float64]

PATTERNS = ("random", "corners", "plus", "alternating", "regressor")
PAYLOAD_PRIOR = PriorConfig(lower=(0.0, -1.0, -1.0, -1.0, *[-0.3] * 6), upper=(5.0, 1.0, 1.0, 1.0, *[0.3] * 6))


@dataclass(frozen=True)
class Errors:
    """Largest errors of a measurement."""

    relative: float = 0.01
    absolute: float = 0.0
    position: float = 1e-5
    velocity: float = 1e-5
    stamp: float = 0.0


def point_mass(mass: float, com: Array) -> Array:
    """(10,) the edge of the physically consistent set."""
    inertia = mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.concatenate([[mass], mass * com, inertia[np.tril_indices(3)]])


def problem(
    rng: np.random.Generator, known: KnownRobotConfig, *, corner: bool = True, kind: str = "body", speed: float = 0.9
) -> Problem:
    """A Gen3 that carries something; `kind` body or payload (what is identified) or point (a point mass is)."""
    found = gen3_problem(rng, known, corner=corner, motion=SineMotion.random(rng, 7, speed))
    own = slice(60, 70)
    p = found.p.copy()
    if kind == "payload":
        centre, radius = known_box(found.robot, known)
        p[own] = centre[own] + radius[own] * rng.choice([-1.0, 1.0], 10)
        theta = found.theta - GRIPPER
        p[own] += theta
    elif kind == "point":
        theta = point_mass(rng.uniform(1.3, 3.0), np.array([0.02, -0.03, -0.18]))
        p[own] = theta
    else:
        theta = found.theta
    return Problem(found.robot, p, found.motion, theta)


def configuration(
    found: Problem, known: KnownRobotConfig, errors: Errors, **changes: object
) -> IntervalIdentifierConfig:
    """The assumptions that hold for `measure`, no wider than needed."""
    t = np.arange(0.0, 4.0, 2e-3)
    q, qd, qdd = found.motion(t)
    gain = found.p[98:]
    smooth = found.torque(q, qd, qdd) - found.p[70:77] * np.sign(qd) / gain
    # 3 %: the largest slope of a sum of sines lies between two of the instants looked at
    rate = 1.03 * np.abs(np.diff(smooth, axis=0)).max(axis=0) / 2e-3
    noise = NoiseConfig(
        torque_relative=(errors.relative,), torque_absolute=(errors.absolute,), position_error=(errors.position,),
        velocity_error=(errors.velocity,), stamp_error=errors.stamp, torque_rate=tuple(rate.tolist()),
        acceleration=tuple((found.motion.acceleration * 1.000001).tolist()),
    )  # fmt: skip
    config = IntervalIdentifierConfig(noise=noise, known_robot=known, window=WindowConfig(max_gap=0.03))
    return replace(config, **changes)  # type: ignore[arg-type]


def measure(
    found: Problem, rng: np.random.Generator, errors: Errors, *, rate: float = 250.0, duration: float = 2.4,
    pattern: str = "random", start: float = 1.0,
) -> JointSamples:  # fmt: skip
    """Jittered samples, some missing, with errors of the pattern at their bounds."""
    t = (np.arange(int(rate * duration)) + rng.uniform(-0.3, 0.3, int(rate * duration))) / rate
    t = t[rng.random(t.size) > 0.05]
    q, qd, qdd = found.motion(t + errors.stamp * rng.choice([-1.0, 1.0], t.size))
    shape = q.shape
    if pattern == "regressor":
        columns = standard_regressor(Chain.from_robot(found.robot), q, qd, qdd)
        sign = np.where(columns[:, :, 60 + int(rng.integers(10))] >= 0.0, 1.0, -1.0)
    else:
        sign = {
            "random": rng.uniform(-1.0, 1.0, shape),
            "corners": rng.choice([-1.0, 1.0], shape),
            "plus": rng.choice([-1.0, 1.0]) * np.ones(shape),
            "alternating": np.where(np.arange(shape[0])[:, None] % 2, 1.0, -1.0) * np.ones(shape),
        }[pattern]
    moved = found.torque(q, qd, qdd) + sign * errors.absolute
    # the reading that is wrong by its own share: e - sign * relative * |e| = moved
    tau = moved / (1.0 - errors.relative * sign * np.sign(moved))
    steps = np.round(q / (2.0 * errors.position)) * 2.0 * errors.position if errors.position else q
    return JointSamples(found.robot.joint_names, start + t, steps, qd + errors.velocity * sign, tau)
