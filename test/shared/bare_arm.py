# SPDX-License-Identifier: Apache-2.0
"""A UR10 without payload whose drives and links differ from their description: what calibration has to find."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml
from shared.payload_problem import Problem, SineMotion

from sysid_nodes.data.config import to_flat
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig, known_box
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.calibration_runs import Run
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, WindowConfig

Array = npt.NDArray[np.float64]

UR10 = IntervalIdentifierConfig(
    robot="ur10",
    target="payload",
    weigh_first=20,
    window=WindowConfig(duration=0.25, max_gap=0.05),
    noise=NoiseConfig(
        model="window",
        torque_relative=(0.0,),
        position_error=(1e-4,),
        velocity_error=(1e-3,),
        acceleration=(10.0,),
    ),
    known_robot=KnownRobotConfig(
        inertia_relative=0.3,
        inertia_scale="body",
        coulomb=(10.0, 10.0, 10.0, 4.0, 4.0, 4.0),
        viscous=(8.0, 8.0, 8.0, 3.0, 3.0, 3.0),
        friction_relative=0.8,
        armature=(2.0, 2.0, 2.0, 0.5, 0.5, 0.5),
        armature_relative=0.5,
        offset_absolute=(1.0,),
        calibration_gain=(0.0,),
    ),
    prior=PriorConfig(
        lower=(0.0, -2.0, -2.0, -2.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0),
        upper=(8.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
)
"""Drives known to within 80 %, links to within 30 % of their mass and size, nothing known of the torque error; readings
of torque are in scale, and 5 s are enough to be weighed."""

UR10_GAIN = replace(UR10, known_robot=replace(UR10.known_robot, gain_relative=(0.2,)))
"""The same with torque readings that are off by up to 20 %."""

GEN3 = IntervalIdentifierConfig(
    target="payload",
    noise=NoiseConfig(model="window", torque_relative=(0.0,), velocity_error=(1e-3,)),
    known_robot=KnownRobotConfig(
        inertia_relative=0.1, friction_relative=0.5, armature_relative=0.3, calibration_gain=(0.0,)
    ),
    prior=PriorConfig(
        lower=(0.0, -1.0, -1.0, -1.0, -0.4, -0.4, -0.4, -0.4, -0.4, -0.4),
        upper=(6.0, 1.0, 1.0, 1.0, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4),
    ),
)

LOAD = np.array([3.0, 0.15, -0.09, 0.3, 0.0385, 0.0045, 0.0435, -0.015, 0.009, 0.0142])
"""(10,) a payload of 3 kg, 12 cm in front of the flange."""


def bare_arm(rng: np.random.Generator, config: IntervalIdentifierConfig) -> Problem:
    """An arm with every parameter somewhere in its box, links scaled as a whole so that they stay physical."""
    known = config.known_robot
    robot = load_robot(config.robot)
    n = robot.n
    centre, radius = known_box(robot, known)
    p = centre + radius * rng.uniform(-0.9, 0.9, centre.size)
    links = centre[: 10 * n].reshape(n, 10) * (1.0 + 0.8 * known.inertia_relative * rng.uniform(-1.0, 1.0, (n, 1)))
    p[: 10 * n] = links.ravel()
    return Problem(robot, p, SineMotion.random(rng, n))


def loaded(arm: Problem, theta: Array, motion: SineMotion) -> Problem:
    """The same arm with a payload, in another motion."""
    body = arm.robot.body_index()
    p = arm.p.copy()
    p[10 * body : 10 * body + 10] += theta
    return Problem(arm.robot, p, motion, theta)


def write_configuration(path: Path) -> None:
    """UR10 as a parameter file, for readings that come from a recording."""
    usual = to_flat(IntervalIdentifierConfig())
    config = replace(UR10, noise=replace(UR10.noise, position_error=IntervalIdentifierConfig().noise.position_error))
    tree = {key: value for key, value in to_flat(config).items() if value != usual[key]}
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": json.loads(json.dumps(tree))}}), encoding="utf-8")


def noisy(samples: JointSamples, error: Array) -> JointSamples:
    """Samples with an error (N, n) on the torque reading."""
    return JointSamples(samples.names, samples.t, samples.q, samples.qd, samples.tau + error)


def unloaded_run(arm: Problem, rng: np.random.Generator, duration: float = 16.0, noise: float = 0.5) -> Run:
    """A run at 100 Hz with a torque error of up to `noise` [N m] on every sample."""
    samples = arm.samples(np.arange(0.0, duration, 0.01))
    return Run(noisy(samples, noise * rng.uniform(-1.0, 1.0, samples.tau.shape)), 0.0, "unloaded")
