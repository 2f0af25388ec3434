# SPDX-License-Identifier: Apache-2.0
"""A payload on an arm with exact dynamics: the truth that identification tests and benchmarks recover.

The motion is a sum of sines, known in closed form, so that torques of any parameters are exact at any instant; the
regressor comes from pinocchio through the standard form, not from the momentum form under test.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.robot import Robot

Array = npt.NDArray[np.float64]

GRIPPER = np.array(
    [1.28486427, -4.25e-05, 8.759e-05, -0.108660427, 0.012580736, -4.066e-06, 0.013381683, -8.26e-07, 5.979e-06,
     0.0013934356]
)  # fmt: skip
"""Link 7 with the gripper about its joint frame."""


@dataclass(frozen=True)
class SineMotion:
    """q(t) = centre + sum_h a_h sin(w_h t + p_h), each array (joint, harmonic)."""

    centre: Array
    amplitude: Array
    omega: Array
    phase: Array

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """q, qd, qdd (N, n) at t (N,)."""
        angle = self.omega * t[:, None, None] + self.phase
        q = self.centre + (self.amplitude * np.sin(angle)).sum(axis=2)
        qd = (self.amplitude * self.omega * np.cos(angle)).sum(axis=2)
        qdd = -(self.amplitude * self.omega**2 * np.sin(angle)).sum(axis=2)
        return q, qd, qdd

    @property
    def acceleration(self) -> Array:
        """(n,) bound on |qdd|."""
        return np.asarray((self.amplitude * self.omega**2).sum(axis=1))

    @classmethod
    def random(cls, rng: np.random.Generator, n: int, speed: float = 0.9, harmonics: int = 3) -> SineMotion:
        """A motion whose joint speeds stay below `speed` [rad/s]."""
        omega = 2.0 * np.pi * rng.uniform(0.08, 0.6, (n, harmonics))
        weight = rng.dirichlet(np.ones(harmonics), n)
        return cls(rng.uniform(-1.5, 1.5, n), speed * weight / omega, omega, rng.uniform(0, 2 * np.pi, (n, harmonics)))


def dumbbell(rng: np.random.Generator) -> Array:
    """(10,) a dumbbell of 4 to 8 lb somewhere in the gripper, physically consistent, about link 7's joint frame."""
    mass = rng.uniform(1.81, 3.63)
    com = np.array([*rng.uniform(-0.03, 0.03, 2), -0.18 + rng.uniform(-0.03, 0.03)])
    axis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    spread = axis @ np.diag([0.004, *rng.uniform(0.0003, 0.0008, 2)]) @ axis.T * mass / 2.0
    inertia = np.trace(spread) * np.eye(3) - spread + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.concatenate([[mass], mass * com, inertia[np.tril_indices(3)]])


@dataclass(frozen=True)
class Problem:
    """One arm with true parameters p (15 n,), in the order of `Unknowns`."""

    robot: Robot
    p: Array
    motion: SineMotion
    theta: Array = field(default_factory=lambda: np.zeros(10))

    def torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        """(N, n) exact joint torques."""
        n = self.robot.n
        chain = Chain.from_robot(self.robot)
        coulomb, viscous, armature, offset, gain = self.p[10 * n :].reshape(5, n)
        rigid = standard_regressor(chain, q, qd, qdd) @ self.p[: 10 * n]
        return np.asarray((rigid + coulomb * np.sign(qd) + viscous * qd + armature * qdd + offset) / gain)

    def samples(self, t: Array) -> JointSamples:
        """Exact samples at t."""
        q, qd, qdd = self.motion(t)
        return JointSamples(self.robot.joint_names, t, q, qd, self.torque(q, qd, qdd))


def gen3_problem(
    rng: np.random.Generator, known: KnownRobotConfig, *, corner: bool = False, motion: SineMotion | None = None
) -> Problem:
    """A Gen3 with gripper and a random dumbbell, its other parameters anywhere in their box or at a corner."""
    robot = load_robot("kinova_gen3")
    centre, radius = known_box(robot, known)
    draw = rng.choice([-1.0, 1.0], centre.size) if corner else rng.uniform(-1.0, 1.0, centre.size)
    p = centre + radius * draw
    body = robot.body_index()
    theta = GRIPPER + dumbbell(rng)
    p[10 * body : 10 * body + 10] = theta
    return Problem(robot, p, motion or SineMotion.random(rng, robot.n), theta)
