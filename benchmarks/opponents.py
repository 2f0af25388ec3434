# SPDX-License-Identifier: Apache-2.0
"""Opponents of certified motions: the models that make the most of a bound on r, as far as physical ones can.

A model's effect on a joint is linear in it, so that the worst one for a joint at a time is a corner of the box; the
worst for the norm of all errors is one as well, found by power iteration over the signs. Bodies are the physical ones
that make the corner's effect largest, by semidefinite programs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.delay_loop import Leg
from benchmarks.soundness_draws import MOTOR, is_physical
from benchmarks.truth import Array
from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.solvers.semidefinite import constrained_quadratic
from sysid_nodes.systems.certified.certificate.error_proof import closed_loop

TIMES = 30

KINDS = ("joint", "all")
"""Errors that opponents are found against: that of a joint, or the norm of all."""
_PHYSICAL = 2e-9
"""Least eigenvalue of a pseudo-inertia that opponents keep, above that of `is_physical`."""


class Opponent(NamedTuple):
    """A model against a joint, or against the norm of all errors, at one time of a motion.

    Attributes:
        kind: one of KINDS.
        pull: (14 n,) effect of each number of the model at the end of its interval, at a corner of the box.
        share: of a bound on r that the corner's effect would make by itself, were it constant.
    """

    kind: str
    pull: Array
    share: float


def opponents(robot: Robot, box: ModelBox, control: RobustControlConfig, leg: Leg, count: int) -> list[Opponent]:
    """The best against a single joint, and the best against the norm of all, at any of many times."""
    radius = np.concatenate([box.theta_radius.ravel(), *(getattr(box.motor_radius, name) for name in MOTOR)])
    share, found = Shares(robot, box, control, leg), []
    for t, effect in zip(instants(leg.plan), effects(robot, leg.plan), strict=True):
        alone = [Opponent("joint", row * radius, share(t, effect @ (np.sign(row) * radius))["joint"]) for row in effect]
        scaled = share.scale_columns(effect * radius)
        signs = worst_of_all(scaled)
        together = Opponent("all", (scaled @ signs) @ scaled, share(t, effect @ (signs * radius))["all"])
        found += [max(alone, key=lambda one: one.share), together]
    best = sorted(found, key=lambda one: -one.share)
    return [one for kind in KINDS for one in [x for x in best if x.kind == kind][:count]]


class Shares:
    """Shares of the bounds on r that a constant disturbance makes: of a joint's at most, and of that on the norm."""

    def __init__(self, robot: Robot, box: ModelBox, control: RobustControlConfig, leg: Leg) -> None:
        law_of, envelope = gains(robot, control), leg.certificate.envelope
        assert envelope is not None
        self._envelope, self._stiffness = envelope, law_of.damping + box.motor.viscous
        self._metric = closed_loop(box, law_of, control, delayed=leg.certificate.proof == "delayed").metric

    def scale_columns(self, torque: Array) -> Array:
        """(n, p) of columns whose lengths are norms of r, for columns of torques [N m]."""
        return np.asarray(torque * (np.sqrt(self._metric) / self._stiffness)[:, None])

    def __call__(self, t: float, torque: Array) -> dict[str, float]:
        """By kind of opponent, at a time of the motion, of a torque (n,) [N m]."""
        i = self._envelope.interval(float(t))
        norm = np.linalg.norm(self.scale_columns(torque[:, None])) / np.sqrt(2.0 * self._envelope.level[i])
        joint = np.abs(torque / self._stiffness) / self._envelope.reference_error[i]
        return {"joint": float(joint.max()), "all": float(norm)}


def instants(plan: Bezier) -> Array:
    return np.linspace(0.0, plan.duration, TIMES)


def effects(robot: Robot, plan: Bezier) -> Array:
    """(TIMES, n, 14 n) torque along the motion per parameter of the bodies and motors."""
    q, qd, qdd = plan(instants(plan))
    rows = [standard_regressor(Chain.from_robot(robot), q, qd, qdd)]
    columns = {"coulomb": np.sign(qd), "viscous": qd, "armature": qdd, "offset": np.ones_like(q)}
    rows += [np.einsum("tj,jk->tjk", columns[name], np.eye(robot.n)) for name in MOTOR]
    return np.concatenate(rows, axis=2)


def worst_of_all(scaled: Array) -> Array:
    """(p,) signs that make |scaled signs| large, (n, p): each step to the corner along the gradient increases it."""
    signs = np.where(scaled[np.linalg.norm(scaled, axis=1).argmax()] >= 0.0, 1.0, -1.0)
    for _ in range(20):
        signs = np.where((scaled @ signs) @ scaled >= 0.0, 1.0, -1.0)
    return np.asarray(signs)


def worst_model(box: ModelBox, pull: Array) -> tuple[Array, MotorConstants]:
    """The physical model of a box that makes a linear effect largest, body by body.

    Args:
        box: of models.
        pull: (14 n,) the effect of each number at the end of its interval.
    """
    n = len(box.theta)
    bodies = zip(box.theta, box.theta_radius, pull[: 10 * n].reshape(n, 10), strict=True)
    theta = np.array([worst_body(middle, radius, own) for middle, radius, own in bodies])
    ends = np.where(pull[10 * n :] >= 0.0, 1.0, -1.0).reshape(len(MOTOR), n)
    parts = zip(MOTOR, ends, strict=True)
    return theta, MotorConstants(**{
        name: getattr(box.motor, name) + sign * getattr(box.motor_radius, name) for name, sign in parts
    })  # fmt: skip


def worst_body(middle: Array, radius: Array, pull: Array) -> Array:
    """(10,) the body with the largest ``pull`` within ``radius`` of a middle whose mass is nowhere negative.

    Middles lie where bodies end to be physical, if bounds reach further: on the way to a corner little would be gained.
    """
    half = (1.0 - 1e-9) * radius
    basis = np.concatenate([PSEUDO_INERTIA_BASIS * half[:, None, None], np.zeros((1, 4, 4))])
    basis[-1] = np.tensordot(middle, PSEUDO_INERTIA_BASIS, axes=1)
    scale = max(float(np.abs(pull).max()), 1e-12)
    one = np.append(np.ones(10), 1.0)
    x = constrained_quadratic(
        np.zeros((11, 11)), np.append(-pull / scale, 0.0), np.append(-one[:10], 1.0), one, [(basis, _PHYSICAL)]
    )
    best = middle if x is None else middle + half * np.clip(x[:10], -1.0, 1.0)
    low, high = 0.0, 1.0  # what the solver leaves to rounding
    for _ in range(30):
        share = 0.5 * (low + high)
        low, high = (share, high) if is_physical(middle + share * (best - middle)) else (low, share)
    return np.asarray(best if is_physical(best) else middle + low * (best - middle))
