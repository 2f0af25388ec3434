# SPDX-License-Identifier: Apache-2.0
"""Short rollouts of a Go2 with loads, motors and grounds of their own."""

import numpy as np
import pinocchio

from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import Drive, GroundConfig, Variants, Work, build_legged_mujoco

STEP, STEPS = 0.002, 20
ROBOT = load_robot("go2")
DRIVE = Drive(np.full(12, 40.0), np.full(12, 1.0))
LEGS = np.tile([0.0, 0.8, -1.6], 4)


def build(bodies, ground=None, robot=ROBOT):
    return build_legged_mujoco(robot, bodies, (), ground or GroundConfig(), timestep=STEP)


def variants(rng, count):
    """Random loads, motors and grounds."""
    base = ROBOT.model.inertias[1]
    loads = [base + pinocchio.Inertia(m, np.array([-0.1, 0.02, 0.05]), 0.02 * np.eye(3)) for m in range(count)]
    hip = ROBOT.model.inertias[2]
    hips = [(1.0 + 0.1 * k) * hip.toDynamicParameters() for k in range(count)]
    theta = np.array([[load.toDynamicParameters(), other] for load, other in zip(loads, hips, strict=True)])
    return Variants(
        (0, 1), theta, rng.uniform(0.8, 1.2, (count, 12)), rng.uniform(0.0, 0.1, (count, 12)),
        rng.uniform(0.0, 0.2, (count, 12)), np.zeros((count, 12)), np.zeros((count, 12)),
        rng.uniform(0.4, 1.0, count),        rng.uniform(0.006, 0.02, count),
    )  # fmt: skip


def start(rng, count):
    state = np.zeros((count, 37))
    state[:, 2], state[:, 3], state[:, 7:19] = 0.28, 1.0, LEGS
    state[:, 7:] += 0.02 * rng.standard_normal((count, 30))
    return state


def work(rng, count, clips=2):
    targets = LEGS + 0.1 * rng.standard_normal((clips, STEPS, 12))
    return Work(start(rng, count), np.arange(count), np.arange(count) % clips, targets)
