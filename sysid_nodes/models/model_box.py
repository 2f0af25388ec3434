# SPDX-License-Identifier: Apache-2.0
"""All the models a controller has to be safe for: a box around the nominal one it feeds forward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.bounds import PARAMETER_NAMES, Bounds
from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.robots.robot import Array, MotorConstants, Robot
from sysid_nodes.solvers.semidefinite import constrained_quadratic

TARGETS = ("body", "payload")


@dataclass(frozen=True)
class ModelBox:
    """Nominal model, and how far the true one may be off in each number.

    Attributes:
        theta: (n, 10) nominal inertial parameters of the moving bodies, physically consistent.
        theta_radius: (n, 10) how far the true ones may be from them.
        motor: nominal motor constants.
        motor_radius: half-widths of them.
    """

    theta: Array
    theta_radius: Array
    motor: MotorConstants
    motor_radius: MotorConstants

    @property
    def armature_lower(self) -> Array:
        """(n,) least I_a [kg m2]."""
        return self.motor.armature - self.motor_radius.armature

    @property
    def armature_upper(self) -> Array:
        """(n,) largest I_a [kg m2]."""
        return self.motor.armature + self.motor_radius.armature

    def contains(self, theta: Array, motor: MotorConstants) -> bool:
        """Whether a model lies in the box; theta (n, 10)."""
        pairs = [(theta, self.theta, self.theta_radius)]
        for name in ("coulomb", "viscous", "armature", "offset"):
            pairs.append((getattr(motor, name), getattr(self.motor, name), getattr(self.motor_radius, name)))
        return all(bool((np.abs(value - centre) <= radius).all()) for value, centre, radius in pairs)


def model_box(
    robot: Robot,
    known: KnownRobotConfig,
    bounds: Bounds,
    body: int,
    target: str = "body",
    nominal: Array | None = None,
) -> ModelBox:
    """The box that a known robot and the bounds on one body span.

    Args:
        robot: nominal robot.
        known: what is known of everything but the body.
        bounds: ten intervals of the identified body, as an identifier publishes them.
        body: index of that body, as of Robot.body_index.
        target: whether the bounds are of the ``body`` with all it carries or of the ``payload`` added to it.
        nominal: (10,) a physical body within the bounds, with all it carries, to stand in the box's middle; None takes
            the one nearest to theirs, which machines solve for and need not agree on to the last bit.

    Raises:
        ConfigError: the bounds are not ten finite intervals, the target is unknown, no physical body lies in them, the
            nominal one is not physical or not within them, the robot's own bodies are not physical, or a joint's
            armature or viscous friction may be zero or less.
    """
    if bounds.lower.shape != (len(PARAMETER_NAMES),) or not np.isfinite([bounds.lower, bounds.upper]).all():
        raise ConfigError(f"the bounds of a body are {len(PARAMETER_NAMES)} finite intervals")
    if target not in TARGETS:
        raise ConfigError(f"unknown target '{target}' of the bounds; known: {', '.join(TARGETS)}")
    n = robot.n
    centre, radius = known_box(robot, known)
    theta, theta_radius = centre[: 10 * n].reshape(n, 10).copy(), radius[: 10 * n].reshape(n, 10).copy()
    if target == "body":
        theta[body], theta_radius[body] = 0.0, 0.0
    margin = theta_radius[body] + 1e-15  # the middle of an interval is rounded
    whole = Bounds(theta[body] + bounds.lower - margin, theta[body] + bounds.upper + margin)
    physical = _physical(whole)
    theta[body] = _physical_middle(physical) if nominal is None else nominal
    if not ((physical.lower <= theta[body]) & (theta[body] <= physical.upper)).all():
        raise ConfigError("the nominal body is not within the bounds")
    if np.linalg.eigvalsh(np.tensordot(theta[body], PSEUDO_INERTIA_BASIS, axes=1))[0] < 0.0:
        raise ConfigError(
            "no physical body lies within the bounds" if nominal is None else "the nominal body is not physical"
        )
    theta_radius[body] = np.nextafter(np.maximum(physical.upper - theta[body], theta[body] - physical.lower), np.inf)
    for joint, row in zip(robot.joint_names, theta, strict=True):
        if np.linalg.eigvalsh(_spatial_inertia(row))[0] < -1e-12 * np.abs(row).max():
            raise ConfigError(
                f"the nominal body that {joint} moves is not physical: its kinetic energy may be negative"
            )
    motors = [MotorConstants(*part[10 * n : 14 * n].reshape(4, n)) for part in (centre, radius)]
    box = ModelBox(theta, theta_radius, *motors)
    if (box.armature_lower <= 0.0).any():
        joint = robot.joint_names[int(np.argmin(box.armature_lower))]
        raise ConfigError(f"the armature of {joint} may be zero; the certificate needs it to be positive")
    if (box.motor.viscous - box.motor_radius.viscous < 0.0).any():
        raise ConfigError("viscous friction may be negative; the certificate needs it to brake")
    return box


def _physical(bounds: Bounds) -> Bounds:
    """The bounds, less what no body with a positive mass distribution can have.

    Moments of inertia are not negative and none exceeds the sum of the other two; a product of inertia is at most half
    of the moment about the axis it leaves out: |Ixy| = |Sxy| <= sqrt(Sxx Syy) <= (Sxx + Syy) / 2 = Izz / 2.

    Raises:
        ConfigError: nothing is left.
    """
    lower, upper = bounds.lower.copy(), bounds.upper.copy()
    lower[0] = max(lower[0], 0.0)
    moments, products = (4, 6, 9), ((5, 9), (7, 6), (8, 4))
    for k in moments:
        lower[k] = max(lower[k], 0.0)
    for k in moments:
        upper[k] = min(upper[k], np.nextafter(sum(upper[j] for j in moments if j != k), np.inf))
    for k, about in products:
        half = 0.5 * upper[about]
        lower[k], upper[k] = max(lower[k], -half), min(upper[k], half)
    if (lower > upper).any():
        raise ConfigError(
            f"no physical body lies within the bounds on {PARAMETER_NAMES[int(np.argmax(lower > upper))]}"
        )
    return Bounds(lower, upper)


def _spatial_inertia(theta: Array) -> Array:
    """(6, 6) inertia of a body about its joint frame's origin, linear part first."""
    mass, x, y, z = theta[:4]
    moment = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    turning = theta[[4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(3, 3)
    return np.block([[mass * np.eye(3), moment.T], [moment, turning]])


def _physical_middle(bounds: Bounds) -> Array:
    """(10,) the physical body nearest to the middle of its bounds; the middle where none was found."""
    scale = np.maximum(bounds.half_width, 1e-9)
    basis = np.concatenate([PSEUDO_INERTIA_BASIS * scale[:, None, None], np.zeros((1, 4, 4))])
    basis[-1] = np.tensordot(bounds.centre, PSEUDO_INERTIA_BASIS, axes=1)
    least = 1e-6 * max(float(bounds.upper[0]), 1e-6)
    ends = np.append(bounds.half_width / scale, 1.0)
    x = constrained_quadratic(
        np.diag(np.append(np.ones(10), 0.0)), np.zeros(11), np.append(-ends[:10], 1.0), ends, [(basis, least)]
    )
    return bounds.centre if x is None else np.clip(bounds.centre + scale * x[:10], bounds.lower, bounds.upper)
