# SPDX-License-Identifier: Apache-2.0
"""A run of the certified loop beside what was certified: errors, torques, distances over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.reports.certified.history import Array, CertifiedHistory
from sysid_nodes.robots import Primitive, Robot
from sysid_nodes.rollouts.contact_watch import ContactWatch

_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Tracking:
    """Errors of the executed plans at M joint states.

    Attributes:
        t: (M,) stamps [s].
        error: (M, n) desired minus measured position [rad].
        bound: (M, n) proven bound on the true error [rad].
        usage: (M,) share of the bound on sqrt(sum I_a e^2) that is taken, encoders' errors taken off [1].
    """

    t: Array
    error: Array
    bound: Array
    usage: Array


def tracking_errors(history: CertifiedHistory, armature: Array, encoder_error: Array) -> Tracking:
    """Errors against the bounds of the certificates that were in force.

    Args:
        armature: (n,) least armature of the models [kg m2]; see Envelope.
        encoder_error: (n,) largest error of a measured position [rad].
    """
    parts = []
    for plan in history.executed:
        rows = history.rows(plan)
        if not rows.size:
            continue
        record, t = plan.record, history.t[rows]
        since = np.maximum(t - record.start, 0.0)
        error = plan.motion(since).q - history.q[rows]
        error -= _TURN * np.rint(error[0] / _TURN)  # positions may be given on another turn
        interval = np.clip(np.searchsorted(record.edges, since, side="right") - 1, 0, len(record.edges) - 1)
        norm = record.error_norm[interval]
        sure = np.maximum(np.abs(error) - encoder_error, 0.0)
        usage = np.sqrt((sure**2) @ armature) / np.maximum(norm, 1e-300)
        parts.append((t, error, norm[:, None] / np.sqrt(armature), usage))
    if not parts:
        n = len(history.joint_names)
        return Tracking(np.zeros(0), np.zeros((0, n)), np.zeros((0, n)), np.zeros(0))
    return Tracking(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Distances:
    """Distances at M postures [m], and what was closest of all.

    Attributes:
        t: (M,) stamps [s].
        obstacle, itself: (M,) between robot with load and obstacles, and between parts of the robot.
        nearest: name of the obstacle that was nearest.
    """

    t: Array
    obstacle: Array
    itself: Array
    nearest: str


def distances(
    history: CertifiedHistory, robot: Robot, shapes: Sequence[Primitive], scene: Scene, *, period: float = 0.02
) -> Distances:
    """Distances of the measured postures, by MuJoCo's geometry: it shares no code with the certifier.

    Args:
        robot: kinematics.
        shapes: that cover robot and load.
        scene: obstacles.
        period: between two measurements [s].
    """
    watch = ContactWatch(robot, shapes, scene.obstacles, self_collision_pairs(robot, shapes).kept)
    due = np.arange(history.t[0], history.t[-1], period)
    rows = np.unique(np.clip(np.searchsorted(history.t, due), 0, len(history.t) - 1))
    outer = [watch.to_obstacles(history.q[row]) for row in rows]
    inner = [watch.to_itself(history.q[row]).distance for row in rows]
    nearest = min(outer, key=lambda found: found.distance).second
    return Distances(history.t[rows], np.array([found.distance for found in outer]), np.array(inner), nearest)


@dataclass(frozen=True)
class Margin:
    """A certified margin, and the least distance that was seen while it was in force.

    Attributes:
        name: what it is of.
        unit: of both.
        certified, seen: least over all executed plans.
        kept: whether every plan kept its own.
    """

    name: str
    unit: str
    certified: float
    seen: float
    kept: bool


def margins(history: CertifiedHistory, robot: Robot, found: Distances) -> list[Margin]:
    """Certified margins beside those observed, over the executed plans."""
    limits = robot.limits
    position = np.minimum(limits.position_upper - history.q, history.q - limits.position_lower)
    velocity = limits.velocity - np.abs(history.qd)
    torque = limits.torque - np.abs(history.command)
    series = (
        ("torque", "N m", history.command_t, torque, lambda r: r.torque_margin),
        ("velocity", "rad/s", history.t, velocity, lambda r: r.velocity_margin),
        ("position", "rad", history.t, position, lambda r: r.position_margin),
        ("distance to obstacles", "m", found.t, found.obstacle[:, None], lambda r: np.array([r.obstacle_margin])),
        ("distance to itself", "m", found.t, found.itself[:, None], lambda r: np.array([r.self_margin])),
    )
    out = []
    for name, unit, t, values, certified in series:
        least, seen, kept = np.inf, np.inf, True
        for plan in history.executed:
            rows = (t >= plan.begun) & (t < plan.ended)
            if not rows.any():
                continue
            here, promise = values[rows].min(axis=0), certified(plan.record)
            least, seen = min(least, float(promise.min())), min(seen, float(here.min()))
            kept = kept and bool((here >= promise).all())
        out.append(Margin(name, unit, least, seen, kept))
    return out
