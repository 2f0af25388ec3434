# SPDX-License-Identifier: Apache-2.0
"""Arms whose exact parameters and torques are known, and the honest bounds that go with them.

The truth comes from test/shared/payload_problem.py; this is the one place where the benchmarks reach into test/.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig, known_box
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
from shared.payload_problem import GRIPPER, Problem, SineMotion, dumbbell

__all__ = ["GRIPPER", "Arm", "Problem", "SineMotion", "dumbbell", "make_arm", "random_payload"]

Array = npt.NDArray[np.float64]
Motion = Callable[[Array], tuple[Array, Array, Array]]

_BLOCK = 5000
"""Samples whose regressors fit into memory together."""

_SLOPE_MARGIN = 1.03
"""The steepest slope between grid points exceeds the steepest difference of neighbours by far less than this."""


@dataclass(frozen=True)
class Arm:
    """A true robot that carries a true body along a known motion.

    Attributes:
        problem: exact torques.
        chain: its kinematic tree.
        centre, radius: (15 n,) what is assumed of the parameters before any data.
    """

    problem: Problem
    chain: Chain
    centre: Array
    radius: Array

    @property
    def theta(self) -> Array:
        """(10,) the truth that every interval must contain."""
        return np.asarray(self.problem.theta)

    def samples(self, t: Array) -> JointSamples:
        """Exact samples at t (N,)."""
        return self.problem.samples(t)

    def torque_rate(self, duration: float, grid: float = 1e-3) -> Array:
        """(n,) bound on the slope of the torque reading but for the jumps of Coulomb friction [N m/s].

        Args:
            duration: of the motion [s].
            grid: spacing at which the steepest slope is looked for [s].
        """
        return self._steepest(duration, grid, 1)

    def torque_curvature(self, duration: float, grid: float = 1e-3) -> Array:
        """(n,) bound on the curvature of the same, of a motion without kinks [N m/s2]. Arguments as above."""
        return self._steepest(duration, grid, 2)

    def _steepest(self, duration: float, grid: float, order: int) -> Array:
        n = self.problem.robot.n
        smooth = self.problem.p.copy()
        smooth[10 * n : 11 * n] = 0.0
        problem = replace(self.problem, p=smooth)
        steepest = np.zeros(n)
        steps = int(np.ceil(duration / grid))
        for first in range(0, steps, _BLOCK):
            t = np.arange(first, min(first + _BLOCK, steps) + order) * np.float64(grid)
            torque = problem.torque(*self.problem.motion(t))
            steepest = np.maximum(steepest, np.abs(np.diff(torque, order, axis=0)).max(axis=0) / grid**order)
        return np.asarray(_SLOPE_MARGIN * steepest + 1e-6)

    def regressor(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, n, 15 n) with torque = regressor @ p, the torque gain's columns left at zero."""
        n = self.problem.robot.n
        out = np.zeros((len(q), n, 15 * n))
        out[:, :, : 10 * n] = standard_regressor(self.chain, q, qd, qdd)
        joints = np.arange(n)
        for term, column in enumerate((np.sign(qd), qd, qdd, np.ones_like(qd))):
            out[:, joints, n * (10 + term) + joints] = column
        return out


def make_arm(
    known: KnownRobotConfig,
    theta: Array,
    motion: Any,
    draw: Callable[[Array, Array], Array],
) -> Arm:
    """A Gen3 with the last link's true parameters theta (10,).

    Args:
        known: assumed uncertainty of everything else.
        theta: the last link with all it carries.
        motion: t -> q, qd, qdd.
        draw: (centre, radius), both (15 n,), -> true parameters (15 n,) inside centre +- radius.
    """
    robot = load_robot("kinova_gen3")
    centre, radius = known_box(robot, known)
    p = draw(centre, radius)
    body = slice(10 * robot.body_index(), 10 * robot.body_index() + 10)
    p[body] = theta
    return Arm(Problem(robot, p, motion, theta), Chain.from_robot(robot), centre, radius)


def random_payload(rng: np.random.Generator, kind: str) -> Array:
    """(10,) the gripper with something in it, inside the paper's Table I.

    Args:
        rng: source of the draw.
        kind: "dumbbell" (4 to 8 lb), "points" (any four masses within 12 cm of the fingers) or "thin" (the whole last
            link is three points, its pseudo-inertia singular: the truth lies on the edge of what is physical).
    """
    prior = PriorConfig().bounds
    for _ in range(1000):
        if kind == "dumbbell":
            theta = GRIPPER + dumbbell(rng)
        elif kind == "points":
            centre = np.array([0.0, 0.0, -0.17])
            theta = GRIPPER + _points(rng.dirichlet(np.ones(4)) * rng.uniform(0.1, 3.8), centre, 0.12, rng)
        else:
            theta = _points(rng.dirichlet(np.ones(3)) * rng.uniform(1.3, 5.0), np.array([0.0, 0.0, -0.14]), 0.09, rng)
        if prior.contains(theta):
            return np.asarray(theta)
    raise RuntimeError(f"no payload of kind '{kind}' fits the prior box")


def _points(mass: Array, centre: Array, radius: float, rng: np.random.Generator) -> Array:
    """(10,) point masses (k,) within a cube of half side `radius` [m] around centre."""
    at = centre + rng.uniform(-radius, radius, (mass.size, 3))
    spread = np.einsum("k,ki,kj->ij", mass, at, at)
    inertia = np.trace(spread) * np.eye(3) - spread
    return np.concatenate([[mass.sum()], mass @ at, inertia[np.tril_indices(3)]])
