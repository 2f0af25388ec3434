# SPDX-License-Identifier: Apache-2.0
"""A loaded Gen3 as the certifier sees it, and adversaries: models of its box, errors of its ellipsoids."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import parameters_to_pseudo_inertia
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.robots.robot import Primitive
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig

Array = npt.NDArray[np.float64]

START = np.array([-1.16, 0.35, -3.68, -1.75, 0.2, -1.09, -0.2])
BODY = 6
MOTOR = ("coulomb", "viscous", "armature", "offset")
LOAD = np.array([3.0, 0.02, -0.01, -0.5, 0.11, 0.0, 0.11, 0.004, -0.003, 0.013])
SCENE = Scene((Obstacle("post", "box", (0.35, -0.9, 0.2), size=(0.2, 0.2, 0.4)),))


@cache
def robot() -> Robot:
    return load_robot("kinova_gen3", variant="gripper")


def shapes() -> tuple[Primitive, ...]:
    return (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))


@cache
def box(share: float = 1.0) -> ModelBox:
    """Models within Table I of the paper, or within a share of it around a true load."""
    prior = PriorConfig().bounds
    half = share * prior.half_width
    bounds = prior if share == 1.0 else Bounds(LOAD - half, LOAD + half)
    return model_box(robot(), KnownRobotConfig(), bounds, BODY)


def certifier(control: RobustControlConfig | None = None, **config: object) -> Certifier:
    made = CertifierConfig(**config)  # type: ignore[arg-type]
    return Certifier(robot(), shapes(), control or RobustControlConfig(), made)


def plan(k: float = 0.3, *, seed: int = 0, moving: float = 0.0, duration: float = 3.0) -> Bezier:
    """A random motion from START, of displacements up to k; ``moving`` is the speed of its beginning."""
    rng = np.random.default_rng(seed)
    qd, qdd = moving * rng.uniform(-1.0, 1.0, (2, 7))
    return Bezier(START, qd, qdd, rng.uniform(-k, k, 7), duration)


def model(
    bounds: ModelBox, rng: np.random.Generator, *, corner: bool = True, against: Array | None = None
) -> tuple[Array, MotorConstants]:
    """A physical model in the box: at a corner, or as near to it as one is, or anywhere.

    Args:
        bounds: the box.
        rng: of the corner.
        corner: False for anywhere.
        against: (n, 10) direction in which the bodies are to be as far as they can.
    """
    theta = bounds.theta.copy()
    for i, radius in enumerate(bounds.theta_radius):
        signs = rng.choice([-1.0, 1.0], 10) if corner else rng.uniform(-1.0, 1.0, 10)
        if against is not None:
            signs = np.sign(against[i])
        step = (1.0 - 1e-12) * signs * radius  # a corner is rounded
        theta[i] += _physical_share(theta[i], step) * step
    signs = rng.choice([-1.0, 1.0], (4, len(theta))) if corner else rng.uniform(-1.0, 1.0, (4, len(theta)))
    motor = [
        getattr(bounds.motor, name) + (1.0 - 1e-12) * sign * getattr(bounds.motor_radius, name)
        for name, sign in zip(MOTOR, signs, strict=True)
    ]
    return theta, MotorConstants(*motor)


def _physical_share(theta: Array, step: Array) -> float:
    """The largest share of a step, to 2^-20, that keeps a physical body physical."""
    if _physical(theta + step):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _physical(theta + middle * step) else (low, middle)
    return low


def _physical(theta: Array) -> bool:
    return bool(np.linalg.eigvalsh(parameters_to_pseudo_inertia(theta))[0] > 1e-9)


def draw_in_ball(rng: np.random.Generator, count: int, n: int) -> Array:
    """(count, n) points of the unit ball, half of them on its surface, some along single axes."""
    x = rng.normal(size=(count, n))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[::5] = np.eye(n)[rng.integers(0, n, len(x[::5]))] * rng.choice([-1.0, 1.0], (len(x[::5]), 1))
    inside = rng.random(count) < 0.5
    x[inside] *= rng.random((int(inside.sum()), 1))
    return x
