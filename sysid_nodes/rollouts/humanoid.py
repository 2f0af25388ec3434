# SPDX-License-Identifier: Apache-2.0
"""A scripted controller of a humanoid that obeys commands, for many robots at a time: set-points for their drives.

It takes the commands that the quadruped's takes and gives what it gives (`walking.py`); whatever gait is commanded
beside standing, its legs alternate. It knows the nominal robot and not what it carries. `footsteps.py` says where feet
and weight are to be; the force of the ground then is what turns the body upright about its centre and holds it up, and
legs on the ground give it by their Jacobians, their own inertia neglected. Legs in the air follow their feet. A robot
whose load is elsewhere than thought walks faster than told: what that shifts is learned from the speed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_nodes.data.digest import digest
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.biped_body import GRAVITY, BipedBody, Seen
from sysid_nodes.rollouts.drive import Drive
from sysid_nodes.rollouts.footsteps import BOTH, Footsteps, HumanoidMemory, Pendulum, plane_rotations
from sysid_nodes.rollouts.policy import FALLEN_TILT, Array, Command
from sysid_nodes.rollouts.rotations import exponential, from_matrix, inverse, logarithm, matrix, product
from sysid_nodes.rollouts.walking import WalkingConfig

_INERTIA = np.array([2.5, 2.2, 0.4])  # of the body over its feet, about its centre [kg m2]
_TILT, _RATE = 60.0, 12.0  # gains on its attitude, which more would shake [1/s2, 1/s]
_MOMENT = np.array([30.0, 30.0, 12.0])  # at most [N m]
_LIMITS = np.array([4.0, 10.0, 10.0])  # of the integrals [m/s2, rad/s2]
_LOWEST, _TALLEST = 0.62, 0.76  # heights of the base that are obeyed [m]
_HURRY = 0.5  # acceleration at most [m/s2, rad/s2]
_TILTED = 0.12  # roll and pitch that are obeyed, either way [rad]
_FALLEN_HEIGHT = 0.4  # of the base [m]
_BLOWN_UP = 1e6  # a coordinate or speed as large is of a simulation that has failed: none at all
_LEARNING, _LEAN = 2e-3, 0.06  # of what a load shifts: part of the integral gain [s2], and at most [m]
_PRESS = 2e-3  # a swing aims this far into the ground [m]
_STIFFER = np.array([3.0, 3.0, 3.0, 2.5, 1.0, 1.0])  # swinging joints than their drives: hips, knee, ankle
_DAMPED = np.array([8.0, 8.0, 3.0, 3.0, 0.0, 0.0])  # and further damping of them [N m s/rad]
_POSTURE = {
    "hip_pitch": -0.312, "knee": 0.669, "ankle_pitch": -0.357, "shoulder_pitch": 0.2, "elbow": 0.6,
    "left_shoulder_roll": 0.18, "right_shoulder_roll": -0.18,
}  # fmt: skip
"""By parts of joints' names, others are zero [rad]."""

_ARMS = 0.6  # swing of the shoulders for a metre of step [rad/m]


class HumanoidPolicy:
    """Controller of B robots.

    Args:
        robot: nominal, on two legs.
        drive: its PD law.

    Attributes: as of `CommandedPolicy`.

    Raises:
        RobotError: it does not walk on two legs of six joints each.
    """

    walking_height, obeyed = 0.72, np.array([0.3, 0.15, 0.4, _TILTED, _TILTED])

    def __init__(self, robot: Robot, drive: Drive, config: WalkingConfig) -> None:
        self.config, self.period, self._drive = config, config.period, drive
        self.id = digest("two legs", replace(config, policy=""))
        self.posture = np.array([_position(name) for name in robot.joint_names])
        self._shoulders = [k for k, name in enumerate(robot.joint_names) if "shoulder_pitch" in name]
        self._body, self._limit = BipedBody(robot, self.posture), robot.limits.torque
        self._footsteps, self._legs = Footsteps(self._body), self._body.joints.ravel()
        self.memory: HumanoidMemory | None = None

    @property
    def standing_height(self) -> float:
        """See `CommandedPolicy`."""
        n = len(self.posture)
        state = np.zeros((1, 13 + 2 * n))
        state[0, 3], state[0, 7 : 7 + n] = 1.0, self.posture
        return -float(self._body.see(state).sole[0, :, 2].min())

    def set_points(self, state: Array, command: Command) -> Array:
        """(B, n) positions for the drives during the next period [rad]; states (B, nq + nv)."""
        state = np.where(np.abs(state) < _BLOWN_UP, state, np.nan)
        seen, n = self._body.see(state), len(self.posture)
        q, w = state[:, 7 : 7 + n], state[:, 13 + n :]
        memory = self.memory or HumanoidMemory.begin(state, seen)
        memory = self._advance(memory, state, seen, command)
        pendulum = Pendulum.of(memory, state[:, :2], seen, command.frequency)
        memory = self._footsteps.change(memory, seen, pendulum, command)
        share, off = self._footsteps.shares(memory, pendulum)
        pressure = np.einsum("bf,bfi->bi", share, pendulum.soles) + off
        force, moment, integral = self._wrench(memory, seen, state, pendulum, pressure)
        torque = self._stance_torque(seen, pendulum, share, off, force, moment)
        swinging = memory.walking & (memory.time > BOTH)
        placed = self._swing(memory, seen, state, pendulum, q, w)
        torque = np.clip(torque.reshape(len(q), -1), -self._limit[self._legs], self._limit[self._legs])
        found = np.tile(self.posture, (len(q), 1))
        found[:, self._shoulders] += _ARMS * (pendulum.soles[:, ::-1, 0] - pendulum.soles[..., 0])
        full = np.zeros_like(q)
        full[:, self._legs] = torque
        pressed = (self._drive.target(full, q, w) + 0.5 * self.period * w)[:, self._legs]
        airborne = np.repeat(swinging[:, None] & (np.arange(2) != memory.stance[:, None]), 6, axis=1)
        found[:, self._legs] = np.where(airborne, placed, pressed)
        self.memory = replace(memory, integral=integral)
        return np.where(memory.fallen[:, None], q, found)

    def _advance(self, memory: HumanoidMemory, state: Array, seen: Seen, command: Command) -> HumanoidMemory:
        """One period on."""
        period, standing = self.period, command.gait == 0
        obeyed = np.where(standing[:, None], 0.0, command.velocity)
        most = min(self.config.acceleration, _HURRY) * period
        velocity = memory.velocity + np.clip(obeyed - memory.velocity, -most, most)
        yaw = np.arctan2(seen.turn[:, 1, 0], seen.turn[:, 0, 0])
        lead = np.mod(memory.heading + period * velocity[:, 2] - yaw + np.pi, 2.0 * np.pi) - np.pi
        heading = yaw + np.clip(lead, -0.2, 0.2)
        ahead = np.einsum("bji,bj->bi", plane_rotations(heading), seen.velocity[:, :2])
        gain = period * _LEARNING * self.config.integral_gain
        learned = np.where(memory.walking[:, None], gain * (ahead - velocity[:, :2]), 0.0)
        fallen = (state[:, 2] < _FALLEN_HEIGHT) | (seen.turn[:, 2, 2] < FALLEN_TILT) | ~np.isfinite(state).all(axis=1)
        height, attitude = np.clip(command.height, _LOWEST, _TALLEST), np.clip(command.attitude, -_TILTED, _TILTED)
        return replace(
            memory,
            heading=heading,
            velocity=velocity,
            attitude=memory.attitude + np.clip(attitude - memory.attitude, -0.5 * period, 0.5 * period),
            height=memory.height + np.clip(height - memory.height, -0.1 * period, 0.1 * period),
            time=memory.time + period,
            lean=np.clip(memory.lean + learned, -_LEAN, _LEAN),
            fallen=memory.fallen | fallen,
        )

    def _wrench(
        self, memory: HumanoidMemory, seen: Seen, state: Array, pendulum: Pendulum, pressure: Array
    ) -> tuple[Array, Array, Array]:
        """Force (B, 3) and moment (B, 3) of the ground about the centre, in the world, and the new integrals.

        With the centre of pressure (B, 2) and the moment that turns the body upright, the force is given.
        """
        config, n, axes = self.config, len(self.posture), np.eye(3)
        wanted = exponential(memory.heading[:, None] * axes[2])
        tilted = product(exponential(memory.attitude[:, 1:] * axes[1]), exponential(memory.attitude[:, :1] * axes[0]))
        tilt = logarithm(product(inverse(state[:, 3:7]), product(wanted, tilted)))
        turning = memory.velocity[:, 2:] * axes[2] - state[:, 10 + n : 13 + n]
        error, rate = memory.height - state[:, 2], -seen.velocity[:, 2]
        lean = config.integral_gain * np.column_stack([error, tilt[:, :2]])
        integral = np.clip(memory.integral + self.period * lean, -_LIMITS, _LIMITS)
        rise = np.clip(config.position_gain * error + config.velocity_gain * rate + integral[:, 0], -5.0, 5.0)
        angular = _TILT * tilt + _RATE * turning
        angular[:, :2] += integral[:, 1:]
        moment = np.clip(np.einsum("bij,bj->bi", seen.turn, _INERTIA * angular), -_MOMENT, _MOMENT)
        up = self._body.mass * (GRAVITY + rise)
        arm = np.einsum("bij,bj->bi", pendulum.ahead, pressure - pendulum.centre)
        tall = np.maximum(seen.centre[:, 2], 0.1)
        x, y = -(moment[:, 1] + arm[:, 0] * up) / tall, (moment[:, 0] - arm[:, 1] * up) / tall
        force = np.column_stack([x, y, up])
        most = self.config.friction * up / np.maximum(np.linalg.norm(force[:, :2], axis=1), 1e-9)
        force[:, :2] *= np.minimum(1.0, most)[:, None]
        return force, moment, integral

    def _stance_torque(
        self, seen: Seen, pendulum: Pendulum, share: Array, off: Array, force: Array, moment: Array
    ) -> Array:
        """(B, 2, 6) with which legs that stand press on the ground, each at its centre of pressure."""
        points = seen.sole.copy()
        points[..., :2] += np.einsum("bij,bj->bi", pendulum.ahead, off)[:, None]
        twist = np.column_stack([np.zeros_like(force[:, :2]), moment[:, 2]])
        load = share[..., None] * np.concatenate([force, twist], axis=1)[:, None]
        return np.asarray(seen.weight - np.einsum("bfki,bfk->bfi", seen.jacobian(points), load))

    def _swing(
        self,
        memory: HumanoidMemory,
        seen: Seen,
        state: Array,
        pendulum: Pendulum,
        q: Array,
        w: Array,
    ) -> Array:
        """(B, 12) set-points of legs whose foot is in the air, half a period on."""
        row, n = np.arange(len(q)), len(self.posture)
        goal, through = self._footsteps.landing_point(memory, pendulum), pendulum.lasts - BOTH
        s = np.clip((memory.time - BOTH + 0.5 * self.period) / through, 0.0, 1.0)
        blend, slope = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / through
        start = memory.lift_off
        target = state[:, :2] + np.einsum("bij,bj->bi", pendulum.ahead, goal)
        way = np.column_stack([target, np.full(len(q), -_PRESS)]) - start[:, :3]
        place, speed = start[:, :3] + blend[:, None] * way, slope[:, None] * way
        place[:, 2] += self.config.lift * 16.0 * (s * (1.0 - s)) ** 2
        speed[:, 2] += self.config.lift * 32.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / through
        facing = memory.heading + 0.5 * memory.velocity[:, 2] * pendulum.lasts
        swung = np.mod(facing - start[:, 3] + np.pi, 2.0 * np.pi) - np.pi
        flat = matrix(exponential((start[:, 3] + blend * swung)[:, None] * np.eye(3)[2]))
        swing = 1 - memory.stance
        turn, sole = seen.flat[row, swing], seen.sole[row, swing]
        off = logarithm(from_matrix(flat @ np.swapaxes(turn, 1, 2)))
        rate = np.einsum("bij,bj->bi", seen.turn, state[:, 10 + n : 13 + n])
        base = state[:, 7 + n : 10 + n] + np.cross(rate, sole - state[:, :3])
        twist = np.column_stack([np.zeros((len(q), 2)), slope * swung]) - rate
        jacobian = seen.jacobian(seen.sole)[row, swing]
        square = np.swapaxes(jacobian, 1, 2) @ jacobian + 1e-4 * np.eye(6)
        asked = np.stack([np.concatenate([place - sole, off], 1), np.concatenate([speed - base, twist], 1)], axis=-1)
        moves = np.linalg.solve(square, np.swapaxes(jacobian, 1, 2) @ asked)
        joints = self._body.joints[swing]
        stiffness, damping = self._drive.stiffness[joints], self._drive.damping[joints]
        own = np.take_along_axis(w, joints, axis=1)
        effort = damping * moves[..., 1] + _DAMPED * (moves[..., 1] - own) + seen.weight[row, swing]
        found = np.take_along_axis(q, joints, axis=1) + _STIFFER * moves[..., 0] + effort / stiffness
        out = np.zeros((len(q), 2, 6))
        out[row, swing] = found
        return out.reshape(len(q), 12)


def _position(joint: str) -> float:
    return next((angle for part, angle in _POSTURE.items() if part in joint), 0.0)
