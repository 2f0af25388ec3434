"""Proves a trajectory safe for every model in the bounds, or refuses it (section V of the paper; ARMOUR).

Proposals may come from anywhere: a trajectory is judged as it is, over its whole length, braking tail and rest
included. The certificate says yes only on what is proven with outward rounding; numbers that are not finite refuse.

What is assumed: the true model lies in the box; joint states, torques and timing err by no more than the
controller's configuration says; obstacles lie inside their shapes and rest; the shapes cover robot and load; nothing
else touches the robot.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains, RobustControlConfig, gains
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.solids import from_obstacle, from_primitive
from sysid_nodes.planners.config import CertifierConfig
from sysid_nodes.planners.disturbance import Demand, demand
from sysid_nodes.planners.motion import Desired, desired_motion, jerk_bound
from sysid_nodes.planners.occupancy import ENOUGH, Occupancy, obstacle_distance, occupancy, self_distance
from sysid_nodes.planners.tracking import (
    INFLATE,
    Assumed,
    ClosedLoop,
    propagate,
    reference_acceleration,
    speed_of_change,
)
from sysid_nodes.results.certificate import Certificate, Entry, Envelope, Margins, Verdict
from sysid_nodes.robots.robot import Array, Primitive, Robot

_GROWTH = 1.15
_HOPELESS = 2.0
"""A tracking error of this level [J] is given up on."""


@dataclass(frozen=True)
class _Proof:
    """Errors that were shown to hold, and the demands under them."""

    assumed: Assumed
    demand: Demand
    loop: ClosedLoop
    iterations: int


class Certifier:
    """Judges trajectories of one robot with one set of shapes and gains.

    Args:
        robot: with a fixed base, all its joints of one degree of freedom.
        shapes: that cover the robot and what it carries.
        control: the controller that is to execute the trajectories.
        config: effort and margins.

    Raises:
        RobotError: the base floats, or a shape is on no joint of the robot.
        ConfigError: gains do not fit the robot, or a joint has no damping.
    """

    def __init__(
        self, robot: Robot, shapes: Sequence[Primitive], control: RobustControlConfig, config: CertifierConfig
    ) -> None:
        self._robot, self._control, self._config = robot, control, config
        self._tree = Chain.from_robot(robot).tree
        self._gains: Gains = gains(robot, control)
        if (self._gains.damping <= 0.0).any():
            raise ConfigError("'control.damping' must be positive for every joint")
        self._joints = joints_of(robot, shapes) - 1
        self._solids = [from_primitive(shape) for shape in shapes]
        self._pairs = self_collision_pairs(robot, shapes).kept
        self._stop = per_joint(config.stop_deceleration, robot.n, "certifier.stop_deceleration")

    @property
    def joints(self) -> int:
        """Number of joints n."""
        return self._robot.n

    def at_rest(self, box: ModelBox) -> Entry:
        """Errors of a robot that rests where it was measured."""
        found, control = self._gains, self._control
        rate = control.position_gain * found.position_error + self._config.start_speed
        heavy = self._still_inertia(box)
        armature = box.motor.armature + box.motor_radius.armature
        return Entry(
            level=float(0.5 * (heavy * rate**2).sum()) * INFLATE,
            position=float(np.sqrt((armature * found.position_error**2).sum())) * INFLATE,
            speed=0.0,
            jerk=np.zeros(self.joints),
        )

    def certify(self, plan: Bezier, box: ModelBox, entry: Entry, scene: Scene) -> Certificate:
        """The verdict on a trajectory that starts with the errors of ``entry``.

        Raises:
            ConfigError: the trajectory is not for this robot's joints.
        """
        if plan.n != self.joints:
            raise ConfigError(f"the trajectory is for {plan.n} joints, '{self._robot.name}' has {self.joints}")
        edges = np.linspace(0.0, plan.duration, self._config.intervals + 1)
        desired, jerk = desired_motion(plan, edges), jerk_bound(plan, edges)
        quick = self._quick_refusal(desired)
        if quick is not None:
            return quick
        proof = self._bound_errors(desired, jerk, box, self._handed_over(entry, jerk, box))
        if not isinstance(proof, _Proof):
            return self._refusal(Verdict.TRACKING, "errors grow without bound under the model's uncertainty", proof)
        return self._judge(desired, jerk, proof, scene)

    def _still_inertia(self, box: ModelBox) -> Array:
        """(n,) mu with M <= diag(mu) in any posture, from lengths alone [kg m2]."""
        tree, n = self._tree, self.joints
        length = np.linalg.norm(tree.translation, axis=1)
        largest = np.abs(box.theta) + box.theta_radius
        total = np.zeros((n, n))
        for i in range(n):
            chain, reach, b = [], 0.0, i
            while b >= 0:
                chain.append((b, reach))
                reach += length[b]
                b = int(tree.parents[b])
            mass, first = largest[i, 0], float(np.linalg.norm(largest[i, 1:4]))
            second = float(np.linalg.norm(largest[i][[4, 5, 7, 5, 6, 8, 7, 8, 9]]))
            for j, vj in chain:
                for k, vk in chain:
                    total[j, k] += mass * vj * vk + first * (vj + vk) + second
        return np.asarray(total.sum(axis=1) + box.motor.armature + box.motor_radius.armature)

    def _handed_over(self, entry: Entry, jerk: Array, box: ModelBox) -> Entry:
        """Errors once no torque of the former trajectory is in force any more.

        Until then |r| grows by no more than its rate of change allows; the two desired motions agree in position,
        velocity and acceleration where they meet, and differ by their jerks in between.
        """
        age = self._control.period + self._control.delay
        apart = (jerk[0] + entry.jerk) * age**2 * (1.0 + self._control.position_gain * age)
        heavy = self._still_inertia(box)
        size = np.sqrt(2.0 * entry.level) + age * entry.speed + np.sqrt((heavy * apart**2).sum())
        position = entry.position + age * size + age**3 * np.sqrt((heavy * (jerk[0] + entry.jerk) ** 2).sum())
        return replace(entry, level=float(0.5 * size**2) * INFLATE, position=float(position) * INFLATE)

    def _loop(self, box: ModelBox, limit: Array) -> ClosedLoop:
        motor, radius, found = box.motor, box.motor_radius, self._gains
        return ClosedLoop(
            position_gain=found.position_gain,
            damping=found.damping,
            limit=limit,
            viscous_lower=motor.viscous - radius.viscous,
            viscous_upper=motor.viscous + radius.viscous,
            coulomb_upper=motor.coulomb + radius.coulomb,
            armature_lower=motor.armature - radius.armature,
            armature_upper=motor.armature + radius.armature,
            reference_noise=found.position_gain * found.position_error + found.velocity_error,
            sign_width=self._control.sign_width,
            period=self._control.period,
            delay=self._control.delay,
        )

    def _bound_errors(self, desired: Desired, jerk: Array, box: ModelBox, entry: Entry) -> _Proof | int:
        """Errors that hold, or the number of passes after which there are none."""
        count = len(jerk)
        assumed = Assumed(
            level=np.full(count, 1.2 * entry.level + 0.01),
            position=np.full(count, 1.2 * entry.position + 0.02),
            acceleration=np.full((count, self.joints), 4.0),
        )
        limits = self._robot.limits.torque - self._config.torque_margin
        for passes in range(1, self._config.iterations + 1):
            # The limit enters the errors, not the demand: it takes what the demand leaves of the motors.
            loop = self._loop(box, np.zeros(self.joints))
            found = demand(self._tree, desired, jerk, box, self._gains, loop, assumed)
            loop = replace(loop, limit=np.maximum((limits - found.nominal_torque.max(axis=0)) * (1.0 - 1e-8), 0.0))
            if (loop.limit <= 0.0).any():
                return passes
            errors = propagate(loop, found.disturbance, assumed, desired.edges, entry.level, entry.position)
            level = np.maximum(errors.level[1:], errors.level[:-1])
            position = np.maximum(errors.position[1:], errors.position[:-1])
            acceleration = reference_acceleration(loop, found.disturbance, assumed)
            inside = (
                (level < assumed.level).all()
                and (position < assumed.position).all()
                and (acceleration <= assumed.acceleration).all()
            )
            if inside:
                return _Proof(assumed, found, loop, passes)
            if not (np.isfinite(level).all() and level.max() < _HOPELESS):
                return passes
            assumed = Assumed(_GROWTH * level + 1e-6, _GROWTH * position + 1e-6, _GROWTH * acceleration)
        return self._config.iterations

    def _judge(self, desired: Desired, jerk: Array, proof: _Proof, scene: Scene) -> Certificate:
        robot, assumed, loop = self._robot, proof.assumed, proof.loop
        tube = assumed.tube(loop)
        robust = np.minimum(loop.limit, loop.damping * (tube.reference + loop.reference_noise))
        torque = ((proof.demand.nominal_torque + robust) * INFLATE).max(axis=0)
        qd = proof.demand.qd
        travel = self._stop_travel(qd)
        spread = tube.position + travel
        middle, moving = desired.position.centre, np.abs(desired.position.slope_term) + desired.position.remainder
        reached = (moving + spread) * INFLATE
        position = np.minimum(
            (robot.limits.position_upper - middle - reached).min(axis=0),
            (middle - reached - robot.limits.position_lower).min(axis=0),
        )
        shapes = self._occupancies(proof.demand, travel)
        obstacles = [from_obstacle(obstacle) for obstacle in scene.obstacles]
        # The base stands on what carries it: only what moves is kept from obstacles.
        movable = [shape for shape, joint in zip(shapes, self._joints, strict=True) if joint >= 0]
        outside = obstacle_distance(movable, obstacles)
        within = self_distance(shapes, self._pairs)
        keep = self._config.distance_margin
        margins = Margins(
            torque=robot.limits.torque - self._config.torque_margin - torque,
            position=position,
            velocity=robot.limits.velocity - qd.max(axis=0),
            obstacle=float(outside.min(initial=np.inf)) - keep,
            self_distance=float(within.min(initial=np.inf)) - keep,
        )
        verdict, _ = margins.worst()
        envelope = Envelope(
            edges=desired.edges,
            level=assumed.level,
            position=assumed.position,
            position_error=tube.position,
            reference_error=tube.reference,
            speed=speed_of_change(loop, proof.demand.disturbance, assumed),
            jerk=jerk,
        )
        words = self._binding(margins, outside, within, scene)
        return Certificate(verdict, margins, words, loop.limit, torque, envelope, proof.iterations)

    def _stop_travel(self, qd: Array) -> Array:
        """(T, n) how far the robot's own stop carries each joint on [rad]; zero where none is accounted for."""
        with np.errstate(divide="ignore"):
            travel = qd**2 / (2.0 * self._stop) + self._config.stop_travel
        return np.where(self._stop > 0.0, travel, 0.0)

    def _occupancies(self, found: Demand, travel: Array) -> list[Occupancy]:
        """All shapes over time, grown by what a stop of the robot's own adds."""
        length = np.linalg.norm(self._tree.translation, axis=1)
        out = []
        for joint, solid in zip(self._joints, self._solids, strict=True):
            lever = float(np.linalg.norm(solid.centre) + np.linalg.norm(solid.generators, axis=1).sum() + solid.radius)
            slack, body = np.zeros(len(travel)), int(joint)
            while body >= 0:
                slack += travel[:, body] * (lever if self._tree.revolute[body] else 1.0)
                lever += length[body]
                body = int(self._tree.parents[body])
            out.append(occupancy(found.placement, int(joint), solid, slack * INFLATE))
        return out

    def _quick_refusal(self, desired: Desired) -> Certificate | None:
        """A refusal of a trajectory that leaves the limits by itself, without any error."""
        limits, middle = self._robot.limits, desired.position.centre
        position = np.minimum(
            (limits.position_upper - middle).min(axis=0), (middle - limits.position_lower).min(axis=0)
        )
        velocity = limits.velocity - np.abs(desired.velocity.centre).max(axis=0)
        unknown = np.full(self.joints, -np.inf)
        margins = Margins(unknown, position, velocity, -np.inf, -np.inf)
        for verdict, values, unit in ((Verdict.POSITION, position, "rad"), (Verdict.VELOCITY, velocity, "rad/s")):
            if (values < 0.0).any():
                worst = int(np.argmin(values))
                words = f"the desired motion exceeds the limit of {self._robot.joint_names[worst]} by "
                words += f"{-values[worst]:.3g} {unit}"
                return Certificate(verdict, margins, words, np.zeros(self.joints), -unknown, None, 0)
        return None

    def _refusal(self, verdict: Verdict, words: str, passes: int) -> Certificate:
        unknown = np.full(self.joints, -np.inf)
        margins = Margins(unknown, unknown, unknown, -np.inf, -np.inf)
        return Certificate(verdict, margins, words, np.zeros(self.joints), -unknown, None, passes)

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
        if outside.size and np.isfinite(margins.obstacle):
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
