# SPDX-License-Identifier: Apache-2.0
"""Errors where a trajectory begins: of a robot at rest, or of one that comes from another trajectory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE
from sysid_nodes.systems.certified.certificate.shift import norms_of


def at_rest(
    tree: Tree, box: ModelBox, gains: Gains, start_speed: float, start_distance: float, rate: float = 0.0
) -> Entry:
    """Errors of a robot that rests: its joints are no faster than ``start_speed``.

    When the trajectory starts the robot is measured no further from there than ``start_distance`` and the error of a
    measurement. A robot that holds itself does not accelerate. One that a trajectory holds at its end still does, as
    the controller answers to errors: dr/dt is then what it was, since both desired motions rest.

    Args:
        tree: the robot.
        box: its models.
        gains: the law's numbers.
        start_speed: [rad/s].
        start_distance: [rad].
        rate: bound on |dr/dt| in the norm of M while torques of the trajectory that holds it act; 0 without one.
    """
    error = 2.0 * gains.position_error + start_distance
    heavy = _still_inertia(tree, box)
    creep = np.full(len(error), start_speed)
    reference = (gains.position_gain * error + creep) * INFLATE
    return Entry(
        position_norm=float(np.sqrt((box.armature_upper * error**2).sum())) * INFLATE,
        reference_norm=float(np.sqrt((box.armature_upper * reference**2).sum())) * INFLATE,
        position_error=error * INFLATE,
        reference_error=reference,
        level=float(0.5 * (heavy * (gains.position_gain * error + creep) ** 2).sum()) * INFLATE,
        position=float(np.sqrt((box.armature_upper * error**2).sum())) * INFLATE,
        speed=max(float(gains.position_gain * np.sqrt((heavy * creep**2).sum())) * INFLATE, rate),
        jerk=np.zeros(len(error)),
    )


def handover_entry(tree: Tree, box: ModelBox, entry: Entry, jerk: Array, position_gain: float, age: float) -> Entry:
    """Errors of the new trajectory for as long as torques of the former one are in force.

    Until then the robot moves as the former certificate says, sqrt(2 V) growing by no more than ``entry.speed`` allows.
    The two desired motions agree in position, velocity and acceleration where they meet and differ by their jerks, so
    by at most (jerk + former jerk) (t, t^2 / 2, t^3 / 6) in acceleration, velocity and position after t seconds.

    Args:
        tree: the robot.
        box: its models.
        entry: what the former certificate says.
        jerk: (n,) bound on that of the new trajectory's beginning [rad/s3].
        position_gain: K_r [1/s].
        age: largest age of the joint state behind a torque [s].
    """
    heavy, apart = _still_inertia(tree, box), jerk + entry.jerk

    def norm(x: Array) -> float:
        return float(np.sqrt((heavy * x**2).sum()))

    moved = apart * age**2 * (0.5 + position_gain * age / 6.0)
    reference, further = norm(moved), (age * entry.speed / np.sqrt(box.armature_lower) + moved) * INFLATE
    size = np.sqrt(2.0 * entry.level) + age * entry.speed + reference
    return replace(
        entry,
        level=float(0.5 * size**2) * INFLATE,
        position=(entry.position + age * float(size) + norm(apart * age**3 / 6.0)) * INFLATE,
        speed=(entry.speed + norm(apart * age * (1.0 + 0.5 * position_gain * age))) * INFLATE,
        position_norm=(entry.position_norm + age * float(size) + norm(apart * age**3 / 6.0)) * INFLATE,
        reference_norm=(entry.reference_norm + age * entry.speed + reference) * INFLATE,
        position_error=(entry.position_error + age * (entry.reference_error + further) + apart * age**3 / 6.0)
        * INFLATE,
        reference_error=(entry.reference_error + further) * INFLATE,
    )


def _still_inertia(tree: Tree, box: ModelBox) -> Array:
    """(n,) mu with M <= diag(mu) in any posture, from lengths alone [kg m2]."""
    n = len(tree.parents)
    length = np.linalg.norm(tree.translation, axis=1)
    mass, first, second = norms_of(np.abs(box.theta) + box.theta_radius)
    total = np.zeros((n, n))
    for i in range(n):
        chain, reach, b = [], 0.0, i
        while b >= 0:
            chain.append((b, reach))
            reach += length[b]
            b = int(tree.parents[b])
        for j, vj in chain:
            for k, vk in chain:
                total[j, k] += mass[i] * vj * vk + first[i] * (vj + vk) + second[i]
    return np.asarray((total.sum(axis=1) + box.armature_upper) * INFLATE)
