"""Margins of a motion whose errors are proven: torque, position, velocity, obstacles, the robot itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.scene import Scene
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.solids import Solid, from_obstacle, from_primitive
from sysid_nodes.planners.bodies import Placement
from sysid_nodes.planners.closed_loop import INFLATE, robust_input
from sysid_nodes.planners.error_proof import ErrorProof
from sysid_nodes.planners.motion import Desired
from sysid_nodes.planners.occupancy import ENOUGH, Indices, Occupancy, obstacle_distance, occupancy, self_distance
from sysid_nodes.results.certificate import Margins, Verdict
from sysid_nodes.robots.robot import Array, Primitive, Robot


@dataclass(frozen=True)
class Conduct:
    """What a robot can do along a trajectory, whoever moves it, over T intervals.

    Attributes:
        desired: the trajectory.
        position_error: (T, n) bound on |e| [rad].
        qd: (T, n) bound on |qd| [rad/s].
        torque: (n,) largest torque [N m].
        placement: joint frames over all errors.
    """

    desired: Desired
    position_error: Array
    qd: Array
    torque: Array
    placement: Placement


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
        stop: (n,) least deceleration of the robot's own stop, 0 where its travel is not kept clear [rad/s2].
        stop_travel: of that stop beyond speed squared over twice the deceleration [rad].

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
        stop: Array,
        stop_travel: float,
    ) -> None:
        self._robot, self._tree = robot, tree
        self._joints = joints_of(robot, shapes) - 1
        self._solids = [from_primitive(shape) for shape in shapes]
        self._pairs = self_collision_pairs(robot, shapes).kept
        self._levers = _levers(tree, self._joints, self._solids)
        self._between = _between(tree, self._joints[self._pairs])
        self._keep, self._torque_margin = keep, torque_margin
        self._stop, self._stop_travel = stop, stop_travel

    def judge(self, proof: ErrorProof, scene: Scene) -> Judgement:
        """All margins of the motion of a proof among what stands around."""
        tube, found = proof.proven.tube(proof.loop), proof.demand
        torque = ((found.nominal_torque + robust_input(proof.loop, tube)) * INFLATE).max(axis=0)
        return self.compare(Conduct(proof.desired, tube.position, found.qd, torque, found.placement), scene)

    def compare(self, conduct: Conduct, scene: Scene) -> Judgement:
        """All margins of what a robot can do."""
        limits, qd, torque = self._robot.limits, conduct.qd, conduct.torque
        travel = self._travel(qd)
        desired = conduct.desired.position
        middle, aside = desired.centre, np.abs(desired.slope_term) + desired.remainder
        reach = (aside + conduct.position_error + travel) * INFLATE
        shapes = self._occupancies(conduct.placement, travel)
        obstacles = [from_obstacle(obstacle) for obstacle in scene.obstacles]
        # The base stands on what carries it: only what moves is kept from obstacles.
        movable = [shape for shape, joint in zip(shapes, self._joints, strict=True) if joint >= 0]
        outside = obstacle_distance(movable, obstacles)
        within = self_distance(shapes, self._pairs, self._approach(travel))
        margins = Margins(
            torque=limits.torque - self._torque_margin - torque,
            position=np.minimum(
                (limits.position_upper - middle - reach).min(axis=0),
                (middle - reach - limits.position_lower).min(axis=0),
            ),
            velocity=limits.velocity - qd.max(axis=0),
            obstacle=float(outside.min(initial=np.inf)) - self._keep,
            self_distance=float(within.min(initial=np.inf)) - self._keep,
        )
        return Judgement(margins, torque, self._binding(margins, outside, within, scene))

    def _travel(self, qd: Array) -> Array:
        """(T, n) how far the robot's own stop carries each joint on [rad]; zero where that is not accounted for."""
        stops = self._stop > 0.0
        travel = qd**2 / (2.0 * np.where(stops, self._stop, 1.0)) + self._stop_travel
        return np.where(stops, travel, 0.0)

    def _occupancies(self, placement: Placement, travel: Array) -> list[Occupancy]:
        """All shapes over time, grown by what a stop of the robot's own adds."""
        slack = travel @ self._levers.T * INFLATE
        return [
            occupancy(placement, int(joint), solid, slack[:, s])
            for s, (joint, solid) in enumerate(zip(self._joints, self._solids, strict=True))
        ]

    def _approach(self, travel: Array) -> Array:
        """(P, T) by how much that stop can bring the shapes of each pair nearer to each other [m].

        Joints below both bodies move them as one and leave their distance as it is: of a posture after the stop the
        same distance is found with those joints where they were. What is left are the joints between the two.
        """
        levers = self._levers[self._pairs].sum(axis=1)
        return np.asarray(np.where(self._between, levers, 0.0) @ travel.T * INFLATE)

    def _binding(self, margins: Margins, outside: Array, within: Array, scene: Scene) -> str:
        """What refuses the trajectory, or what comes nearest to its limit, in words."""
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
        joint = int(self._joints[shape])
        return "the base" if joint < 0 else f"what {self._robot.joint_names[joint]} moves"


def _levers(tree: Tree, joints: Indices, solids: Sequence[Solid]) -> Array:
    """(S, n) farthest that any point of a shape can be from each joint that moves it, in any posture, else 0 [m]."""
    length, out = np.linalg.norm(tree.translation, axis=1), np.zeros((len(solids), len(tree.parents)))
    for s, (joint, solid) in enumerate(zip(joints, solids, strict=True)):
        lever = np.linalg.norm(solid.centre) + np.linalg.norm(solid.generators, axis=1).sum() + solid.radius
        body = int(joint)
        while body >= 0:
            out[s, body] = lever
            lever += length[body]
            body = int(tree.parents[body])
    return out


def _between(tree: Tree, pairs: Indices) -> npt.NDArray[np.bool_]:
    """(P, n) whether a joint moves just one of the two bodies (P, 2)."""
    moves = np.zeros((len(tree.parents) + 1, len(tree.parents)), dtype=np.bool_)  # the last row is the base's
    for joint in range(len(tree.parents)):
        body = joint
        while body >= 0:
            moves[joint, body] = True
            body = int(tree.parents[body])
    return np.asarray(moves[pairs[:, 0]] != moves[pairs[:, 1]])
