# SPDX-License-Identifier: Apache-2.0
"""Random states of a floating-base robot and readings of its sensors that are some way off the prediction."""

from __future__ import annotations

import numpy as np
import pinocchio

from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Samples, Sensor, States
from sysid_nodes.signals.channel_config import ValueKind


def random_states(robot: Robot, count: int, rng: np.random.Generator) -> States:
    """States with any orientation of the base, a few m/s and rad/s, up to tens of m/s2."""
    nv = robot.model.nv
    start = pinocchio.neutral(robot.model)
    q = np.array([pinocchio.integrate(robot.model, start, rng.normal(size=nv)) for _ in range(count)])
    return States(
        q,
        2.0 * rng.normal(size=(count, nv)),
        10.0 * rng.normal(size=(count, nv)),
        5.0 * rng.normal(size=(count, robot.n)),
    )


def random_samples(sensor: Sensor, robot: Robot, states: States, rng: np.random.Generator) -> Samples:
    """Readings at every state; orientations within 1.5 rad or so of the base's."""
    count = len(states)
    values = rng.normal(size=(count, sensor.width))
    if sensor.kind is not ValueKind.VECTOR:
        turns = [pinocchio.Quaternion(pinocchio.exp3(rng.normal(scale=0.5, size=3))) for _ in range(count)]
        bases = [pinocchio.Quaternion(*np.roll(q[3:7], 1)) for q in states.q]
        values[:, -4:] = [(base * turn).coeffs() for base, turn in zip(bases, turns, strict=True)]
    vector = sensor.kind is ValueKind.VECTOR
    rates = rng.normal(size=(count, 4 if vector else 1, sensor.width - (not vector)))
    return Samples(np.arange(count), values, rng.uniform(0.2, 2.0, count), rates)


def parameter_count(sensor: Sensor) -> int:
    """Length p of the sensor's parameter vector."""
    return sum(len(entry.mean) for entry in sensor.parameters)
