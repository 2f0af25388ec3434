"""Margins of a motion whose errors are proven: torque, position, velocity, obstacles, the robot itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.solids import from_obstacle, from_primitive
from sysid_nodes.planners.closed_loop import INFLATE, robust_input
from sysid_nodes.planners.disturbance import Demand
from sysid_nodes.planners.error_proof import ErrorProof
from sysid_nodes.planners.occupancy import ENOUGH, Occupancy, obstacle_distance, occupancy, self_distance
from sysid_nodes.results.certificate import Margins, Verdict
from sysid_nodes.robots.robot import Array, Primitive, Robot


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
        self._keep, self._torque_margin = keep, torque_margin
        self._stop, self._stop_travel = stop, stop_travel

    def judge(self, proof: ErrorProof, scene: Scene) -> Judgement:
        """All margins of the motion of a proof among what stands around."""
        limits, tube, qd = self._robot.limits, proof.proven.tube(proof.loop), proof.demand.qd
        torque = ((proof.demand.nominal_torque + robust_input(proof.loop, tube)) * INFLATE).max(axis=0)
        travel = self._travel(qd)
        desired = proof.desired.position
        middle, aside = desired.centre, np.abs(desired.slope_term) + desired.remainder
        reach = (aside + tube.position + travel) * INFLATE
        shapes = self._occupancies(proof.demand, travel)
        obstacles = [from_obstacle(obstacle) for obstacle in scene.obstacles]
        # The base stands on what carries it: only what moves is kept from obstacles.
        movable = [shape for shape, joint in zip(shapes, self._joints, strict=True) if joint >= 0]
        outside, within = obstacle_distance(movable, obstacles), self_distance(shapes, self._pairs)
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

    def _occupancies(self, found: Demand, travel: Array) -> list[Occupancy]:
        """All shapes over time, grown by what a stop of the robot's own adds."""
        length = np.linalg.norm(self._tree.translation, axis=1)
        out = []
        for joint, solid in zip(self._joints, self._solids, strict=True):
            lever = float(np.linalg.norm(solid.centre) + np.linalg.norm(solid.generators, axis=1).sum() + solid.radius)
            slack, body = np.zeros(len(travel)), int(joint)
            while body >= 0:
                slack += travel[:, body] * lever
                lever += length[body]
                body = int(self._tree.parents[body])
            out.append(occupancy(found.placement, int(joint), solid, slack * INFLATE))
        return out

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
