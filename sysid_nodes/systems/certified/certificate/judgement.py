# SPDX-License-Identifier: Apache-2.0
"""Margins of a motion whose errors are proven: torque, position, velocity, obstacles, the robot itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.intervals import Affine
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.solids import from_obstacle, from_primitive
from sysid_nodes.results.certificate import Margins, Verdict
from sysid_nodes.robots.links import moved_part
from sysid_nodes.robots.robot import Array, Primitive, Robot
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE
from sysid_nodes.systems.certified.certificate.error_proof import ErrorProof
from sysid_nodes.systems.certified.certificate.motion import Desired, motion
from sysid_nodes.systems.certified.certificate.occupancy import ENOUGH, obstacle_distance, occupancy, self_distance
from sysid_nodes.systems.certified.certificate.own_stop import OwnStop, sweep_stop


@dataclass(frozen=True)
class Conduct:
    """Bounds on the robot's motion along a trajectory, whoever moves it, over T intervals.

    Attributes:
        desired: the trajectory.
        position_error, rate_error: (T, n) bounds on |e| and |de/dt| [rad, rad/s].
        qd: (T, n) bound on |qd| [rad/s].
        torque: (n,) largest torque [N m].
        q: (T, n) position over all errors; affine, as in motion.py.
        boxed: those errors fill a box.
    """

    desired: Desired
    position_error: Array
    rate_error: Array
    qd: Array
    torque: Array
    q: Affine
    boxed: bool


@dataclass(frozen=True)
class Judgement:
    """Margins, the largest command (n,) [N m], and what binds, in words."""

    margins: Margins
    torque: Array
    binding: str


class Judge:
    """Compares what can happen with what must not.

    Args:
        robot: gives limits and names.
        tree: its kinematics.
        shapes: that cover the robot and what it carries.
        keep: distance kept free [m].
        torque_margin: torque kept free [N m].
        stop: of the robot's own, whose way is kept clear as well; None: it is not.

    Raises:
        RobotError: a shape is on no joint of the robot.
    """

    def __init__(
        self,
        robot: Robot,
        tree: Tree,
        shapes: Sequence[Primitive],
        *,
        keep: float,
        torque_margin: float,
        stop: OwnStop | None,
    ) -> None:
        self._robot, self._tree = robot, tree
        self._joints = joints_of(robot, shapes) - 1
        self._solids = [from_primitive(shape) for shape in shapes]
        self._pairs = self_collision_pairs(robot, shapes).kept
        self._keep, self._torque_margin, self._stop = keep, torque_margin, stop

    def judge(self, proof: ErrorProof, scene: Scene) -> Judgement:
        """All margins of the motion of a proof among what stands around."""
        tube, found = proof.proven.tube(proof.loop), proof.demand
        torque = ((found.nominal_torque + proof.robust) * INFLATE).max(axis=0)
        rate = (proof.loop.position_gain * tube.position + tube.reference) * INFLATE
        state = motion(proof.desired, tube, proof.loop.position_gain)
        return self.compare(Conduct(proof.desired, tube.position, rate, found.qd, torque, state.q, tube.boxed), scene)

    def compare(self, conduct: Conduct, scene: Scene) -> Judgement:
        """All margins of what a robot can do, and of a stop of its own from any moment on."""
        limits, qd, torque = self._robot.limits, conduct.qd, conduct.torque
        desired, below, above = conduct.desired.position, np.zeros(qd.shape), np.zeros(qd.shape)
        if self._stop is not None:
            below, above = self._stop.reach(*_rates(conduct))
        placement = sweep_stop(self._tree, conduct.q, below, above, boxed=conduct.boxed)
        aside = (np.abs(desired.slope_term) + desired.remainder + conduct.position_error) * INFLATE
        shapes = [
            occupancy(placement, int(joint), solid) for joint, solid in zip(self._joints, self._solids, strict=True)
        ]
        obstacles = [from_obstacle(obstacle) for obstacle in scene.obstacles]
        # The base stands on what carries it: only what moves is kept from obstacles.
        movable = [shape for shape, joint in zip(shapes, self._joints, strict=True) if joint >= 0]
        outside = obstacle_distance(movable, obstacles)
        within = self_distance(shapes, self._pairs)
        margins = Margins(
            torque=limits.torque - self._torque_margin - torque,
            position=np.minimum(
                (limits.position_upper - desired.centre - (aside + above) * INFLATE).min(axis=0),
                (desired.centre - (aside + below) * INFLATE - limits.position_lower).min(axis=0),
            ),
            velocity=limits.velocity - qd.max(axis=0),
            obstacle=float(outside.min(initial=np.inf)) - self._keep,
            self_distance=float(within.min(initial=np.inf)) - self._keep,
        )
        return Judgement(margins, torque, self._binding_limit(margins, outside, within, scene))

    def _binding_limit(self, margins: Margins, outside: Array, within: Array, scene: Scene) -> str:
        """The limit that refuses the trajectory, or comes nearest to it, in words."""
        verdict, _ = margins.worst()
        limits, names = self._robot.limits, self._robot.joint_names
        shares = []
        for kind, values, limit, unit in (
            (Verdict.TORQUE, margins.torque, limits.torque, "N m"),
            (Verdict.POSITION, margins.position, limits.position_upper - limits.position_lower, "rad"),
            (Verdict.VELOCITY, margins.velocity, limits.velocity, "rad/s"),
        ):
            share = np.where(np.isfinite(limit), values / np.where(np.isfinite(limit), limit, 1.0), np.inf)
            worst = int(np.argmin(share))
            words = f"{kind.name.lower()} of {names[worst]}, {values[worst]:+.3g} {unit} to its limit"
            shares.append((kind, float(share[worst]), words))
        movable = np.flatnonzero(self._joints >= 0)
        if outside.size:
            _, shape, obstacle = np.unravel_index(int(np.argmin(outside)), outside.shape)
            part = self._part(int(movable[shape]))
            words = f"{part} and '{scene.obstacles[obstacle].name}', {margins.obstacle:+.3f} m apart"
            shares.append((Verdict.OBSTACLE, margins.obstacle / ENOUGH, words))
        if within.size:
            _, pair = np.unravel_index(int(np.argmin(within)), within.shape)
            one, two = (self._part(int(shape)) for shape in self._pairs[pair])
            words = f"{one} and {two}, {margins.self_distance:+.3f} m apart"
            shares.append((Verdict.SELF_COLLISION, margins.self_distance / ENOUGH, words))
        wanted = [entry for entry in shares if verdict in (Verdict.CERTIFIED, entry[0])]
        return min(wanted or shares, key=lambda entry: entry[1])[2]

    def _part(self, shape: int) -> str:
        return moved_part(self._robot, int(self._joints[shape]))


def _rates(conduct: Conduct) -> tuple[Array, Array]:
    """(T, n) least and largest velocity [rad/s]."""
    desired = conduct.desired.velocity
    aside = (np.abs(desired.slope_term) + desired.remainder + conduct.rate_error) * INFLATE + 1e-12
    return np.maximum(desired.centre - aside, -conduct.qd), np.minimum(desired.centre + aside, conduct.qd)
