# SPDX-License-Identifier: Apache-2.0
"""A scripted controller of a quadruped that obeys commands, for many robots at a time: set-points for their drives.

It takes what policies of walking robots take (speed, turn rate, attitude, height, gait and its frequency) and gives
what they give, joint positions for a PD law at a fixed period, so that a trained policy could stand in its place. It
knows the nominal robot and not what it carries. Body errors ask for a wrench; the feet on the ground share what it
differs from their gait's own loads by least squares; feet in the air go to Raibert's footholds. The state is MuJoCo's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option
from sysid_nodes.data.digest import digest
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.drive import Drive
from sysid_nodes.rollouts.gaits import Stride, stride
from sysid_nodes.rollouts.legs import Legs
from sysid_nodes.rollouts.policy import ALL_OBEYED, FALLEN_TILT, BoolArray, Command, Memory
from sysid_nodes.rollouts.rotations import exponential, inverse, logarithm, matrix, product

Array = npt.NDArray[np.float64]

FALLEN_HEIGHT = 0.12
"""Of the base, below which a robot has fallen [m]."""


@dataclass(frozen=True)
class WalkingConfig:
    """Gains and steps of the scripted controller."""

    period: float = option(0.008, "between two set-points, a multiple of the simulation's step", unit="s", minimum=2e-3)
    position_gain: float = option(80.0, "body position", unit="1/s2", minimum=0.0)
    velocity_gain: float = option(14.0, "body velocity", unit="1/s", minimum=0.0)
    rotation_gain: float = option(160.0, "body orientation", unit="1/s2", minimum=0.0)
    rate_gain: float = option(18.0, "body angular velocity", unit="1/s", minimum=0.0)
    integral_gain: float = option(100.0, "height and tilt, which a load shifts", unit="1/s3", minimum=0.0)
    friction: float = option(0.5, "assumed friction coefficient", unit="1", minimum=0.05)
    lift: float = option(0.06, "height of a swing", unit="m", minimum=0.0)
    policy: str = option("", "ONNX file of a trained policy that obeys instead, its layout beside it; empty: none")
    acceleration: float = option(1.5, "of commanded speeds at most", unit="m/s2, rad/s2", minimum=0.1)


@dataclass(frozen=True)
class WalkingMemory(Memory):
    """State of the controller of B robots between two calls.

    Attributes:
        anchor: (B, 3) reference x, y [m] and heading [rad].
        velocity, attitude, height: (B, 3), (B, 2), (B,) commands as far as they are obeyed.
        phase: (B,) of the stride.
        integral: (B, 3) of height, roll and pitch.
        lift_off: (B, 4, 3) where feet left the ground [m].
        flying: (B, 4) feet in the air.
    """

    anchor: Array
    velocity: Array
    attitude: Array
    height: Array
    phase: Array
    integral: Array
    lift_off: Array
    flying: BoolArray


_INERTIA = np.array([0.19, 0.45, 0.50])  # of the whole standing robot about its centre of mass [kg m2]
_GRAVITY = 9.81
_LEAD = 0.06  # the reference goes no further ahead of the body [m]
_TILTING = 1.5  # rate at which a commanded attitude is taken up [rad/s]
_RAISING = 0.15  # and a height [m/s]
_LIMITS = np.array([7.0, 80.0, 80.0])  # of the integrals: m/s2, rad/s2
_SHARE = np.array([1.0, 1.0, 2.0, 20.0, 20.0, 10.0]) ** 2  # weights of force and moment
_EVEN = 1e-3  # against forces beside the gait's own
_SPEED_CORRECTION = 0.10  # Raibert's [s]
_EARLY = 0.6  # part of a swing after which touching the ground ends it
_TOUCH, _PRESS = 3e-3, 2e-3  # a foot this near the ground touches it; a swing aims this far into it [m]
_DAMPED = 2e-3  # against stretched legs [m]


class WalkingPolicy:
    """Controller of B robots.

    Args:
        robot: nominal, of four legs.
        drive: its PD law.

    Attributes: as of `CommandedPolicy`.

    Raises:
        RobotError: it does not walk on four legs.
    """

    posture, walking_height, obeyed = np.tile([0.0, 0.8, -1.6], 4), 0.29, ALL_OBEYED

    def __init__(self, robot: Robot, drive: Drive, config: WalkingConfig) -> None:
        self.config, self.period = config, config.period
        self.id = digest("four legs", replace(config, policy=""))
        self._legs, self._drive = Legs(robot), drive
        self._mass = float(sum(body.mass for body in robot.model.inertias.tolist()))
        self._limit = robot.limits.torque
        hips = self._legs.feet(self.posture[None])[0][0, :, :2]
        # Symmetric, as gaits and their moments are.
        self._stance = np.abs(hips).mean(axis=0) * np.sign(hips)
        self._half = np.abs(self._stance).mean(axis=0)
        self.memory: WalkingMemory | None = None

    @property
    def standing_height(self) -> float:
        """See `CommandedPolicy`."""
        feet, _ = self._legs.feet(self.posture[None])
        return self._legs.radius - float(feet[0, :, 2].min())

    def set_points(self, state: Array, command: Command) -> Array:
        """(B, 12) positions for the drives during the next period [rad]; states (B, nq + nv)."""
        position, turn = state[:, :3], matrix(state[:, 3:7])
        q, velocity, rate, w = state[:, 7:19], state[:, 19:22], state[:, 22:25], state[:, 25:]
        relative, jacobian = self._legs.feet(q)
        feet = position[:, None] + np.einsum("bij,bfj->bfi", turn, relative)
        yaw = np.arctan2(turn[:, 1, 0], turn[:, 0, 0])
        if self.memory is None:
            self.memory = _begin(position, yaw, feet)
        memory = self._advance(self.memory, position, yaw, turn, command)
        gait = stride(command.gait, memory.phase)
        touching = feet[..., 2] - self._legs.radius < _TOUCH
        stance = gait.stance | ((gait.progress > _EARLY) & touching)
        lift_off = np.where((~stance & ~memory.flying)[..., None], feet, memory.lift_off)
        # -- what the body needs
        heading = _heading_rotations(yaw)
        wanted_velocity = np.einsum("bij,bj->bi", heading, memory.velocity * [1.0, 1.0, 0.0])
        force, moment, integral = self._wrench(memory, gait, command, state, turn, wanted_velocity)
        # -- what the feet give
        loads = self._share(feet - position[:, None], gait, stance, force, moment)
        torque = -np.einsum("bfki,bkl,bfl->bfi", jacobian, np.swapaxes(turn, 1, 2), loads)
        # -- where the others go
        goal, speed = self._swing_target(lift_off, position, velocity, heading, gait, command, wanted_velocity)
        around = goal - feet
        around = np.einsum("bji,bfj->bfi", turn, around)
        along = np.einsum("bji,bfj->bfi", turn, speed - velocity[:, None]) - np.cross(rate[:, None], relative)
        square = np.swapaxes(jacobian, 2, 3) @ jacobian + _DAMPED**2 * np.eye(3)
        moves = np.linalg.solve(square, np.swapaxes(jacobian, 2, 3) @ np.stack([around, along], axis=-1))
        stiffness, damping = self._drive.stiffness, self._drive.damping
        torque = np.clip(torque.reshape(-1, 12), -self._limit, self._limit)
        # Half a period on, at the present speed: a set-point is held while the joint moves on.
        pressed = self._drive.target(torque, q, w) + 0.5 * self.config.period * w
        placed = q + moves[..., 0].reshape(-1, 12) + damping / stiffness * moves[..., 1].reshape(-1, 12)
        found = np.where(np.repeat(stance, 3, axis=1), pressed, placed)
        self.memory = replace(memory, integral=integral, lift_off=lift_off, flying=~stance)
        return np.where(memory.fallen[:, None], q, found)

    def _advance(
        self, memory: WalkingMemory, position: Array, yaw: Array, turn: Array, command: Command
    ) -> WalkingMemory:
        """One period on."""
        period, standing = self.config.period, command.gait == 0
        obeyed = np.where(standing[:, None], 0.0, command.velocity)
        velocity = memory.velocity + _at_most(obeyed - memory.velocity, self.config.acceleration * period)
        along = np.einsum("bij,bj->bi", _heading_rotations(yaw), velocity * [1.0, 1.0, 0.0])[:, :2]
        ahead = memory.anchor[:, :2] + period * along - position[:, :2]
        ahead *= np.minimum(1.0, _LEAD / np.maximum(np.linalg.norm(ahead, axis=1), 1e-9))[:, None]
        anchor = np.column_stack([position[:, :2] + ahead, memory.anchor[:, 2] + period * velocity[:, 2]])
        # A stride begins with its phase, whichever gait it was before.
        phase = np.where(standing, 0.0, memory.phase + period * command.frequency)
        low, tilted = position[:, 2] < FALLEN_HEIGHT, turn[:, 2, 2] < FALLEN_TILT
        return replace(
            memory,
            anchor=anchor,
            velocity=velocity,
            attitude=memory.attitude + _at_most(command.attitude - memory.attitude, _TILTING * period),
            height=memory.height + _at_most(command.height - memory.height, _RAISING * period),
            phase=phase,
            fallen=memory.fallen | low | tilted | ~np.isfinite(position).all(axis=1),
        )

    def _wrench(
        self, memory: WalkingMemory, gait: Stride, command: Command, state: Array, turn: Array, wanted_velocity: Array
    ) -> tuple[Array, Array, Array]:
        """Force (B, 3) and moment (B, 3) that the body needs, in the world, and the new integrals."""
        config, period = self.config, self.config.period
        slow = 1.0 / command.frequency[:, None]
        scale = np.concatenate([slow**2, slow, slow**0], axis=1)
        rise = gait.rise * scale
        angles = self._mass * _GRAVITY * self._half[::-1] / _INERTIA[:2]  # about x by the feet aside, about y ahead
        sway = gait.sway * scale[:, None] * angles[:, None]
        reference = np.column_stack([memory.anchor[:, :2], memory.height + rise[:, 0]])
        error = reference - state[:, :3]
        speed = wanted_velocity + np.column_stack([np.zeros((len(rise), 2)), rise[:, 1]]) - state[:, 19:22]
        roll, pitch = memory.attitude[:, 0] + sway[:, 0, 0], memory.attitude[:, 1] + sway[:, 1, 0]
        axes = np.eye(3)
        wanted = exponential(memory.anchor[:, 2:] * axes[2])
        wanted = product(wanted, product(exponential(pitch[:, None] * axes[1]), exponential(roll[:, None] * axes[0])))
        tilt = logarithm(product(inverse(state[:, 3:7]), wanted))  # in the body's axes
        turning = np.column_stack([sway[:, 0, 1], sway[:, 1, 1], memory.velocity[:, 2]]) - state[:, 22:25]
        lean = np.column_stack([error[:, 2], tilt[:, :2]])
        integral = np.clip(memory.integral + config.integral_gain * period * lean, -_LIMITS, _LIMITS)
        linear = config.position_gain * error + config.velocity_gain * speed
        linear[:, 2] += _GRAVITY + rise[:, 2] + integral[:, 0]
        angular = config.rotation_gain * tilt + config.rate_gain * turning
        angular[:, :2] += sway[..., 2] + integral[:, 1:]
        return self._mass * linear, np.einsum("bij,bj->bi", turn, _INERTIA * angular), integral

    def _share(self, arms: Array, gait: Stride, stance: BoolArray, force: Array, moment: Array) -> Array:
        """(B, 4, 3) forces of the ground on the feet, in the world."""
        count = len(arms)
        own = np.zeros((count, 4, 3))
        own[..., 2] = self._mass * _GRAVITY * gait.load
        grasp = np.zeros((count, 6, 4, 3))
        grasp[:, :3] = np.eye(3)[:, None]
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            grasp[:, 3 + i, :, k], grasp[:, 3 + i, :, j] = arms[..., j], -arms[..., k]
        # The more of the weight a foot carries, the more of the correction.
        trust = np.where(stance, np.clip(4.0 * gait.load, 0.05, 1.0), 0.0) ** 2 / _EVEN
        spread = grasp * trust[:, None, :, None]
        square = np.einsum("bifk,bjfk->bij", spread, grasp) + np.diag(1.0 / _SHARE)
        wrench = np.concatenate([force, moment], axis=1)
        missing = wrench - np.einsum("bifk,bfk->bi", grasp, own)
        change = np.linalg.solve(square, missing[..., None])[..., 0]
        loads = own + np.einsum("bifk,bi->bfk", spread, change)
        loads[..., 2] = np.maximum(loads[..., 2], 0.0)
        sideways = np.linalg.norm(loads[..., :2], axis=-1)
        most = self.config.friction * loads[..., 2]
        loads[..., :2] *= np.minimum(1.0, most / np.maximum(sideways, 1e-9))[..., None]
        return np.asarray(loads * stance[..., None])

    def _swing_target(
        self,
        lift_off: Array,
        position: Array,
        velocity: Array,
        heading: Array,
        gait: Stride,
        command: Command,
        wanted: Array,
    ) -> tuple[Array, Array]:
        """Places (B, 4, 3) and velocities of feet in the air half a period on, in the world."""
        stride_time = 1.0 / command.frequency
        lasts = (gait.swing * stride_time)[:, None]
        s = np.clip(gait.progress + 0.5 * self.config.period / np.maximum(lasts, 1e-9), 0.0, 1.0)
        track = self._stance * np.stack([np.ones_like(gait.width), gait.width], axis=-1)[:, None]
        hips = position[:, None] + np.einsum("bij,bfj->bfi", heading[..., :2], track)
        ahead = (1.0 - s) * lasts + 0.5 * (gait.ground * stride_time)[:, None]
        moving = np.where((gait.progress > 0.0)[..., None], velocity[:, None], 0.0)
        target = hips + ahead[..., None] * moving + (_SPEED_CORRECTION * (velocity - wanted))[:, None]
        target[..., 2] = self._legs.radius - _PRESS
        blend, slope = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s)
        place = lift_off + blend[..., None] * (target - lift_off)
        speed = (slope / np.maximum(lasts, 1e-9))[..., None] * (target - lift_off)
        bump = 16.0 * (s * (1.0 - s)) ** 2
        place[..., 2] += self.config.lift * bump
        speed[..., 2] += self.config.lift * 32.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / np.maximum(lasts, 1e-9)
        return place, speed


def _begin(position: Array, yaw: Array, feet: Array) -> WalkingMemory:
    count = len(position)
    middle = feet[..., :2].mean(axis=1)
    none = np.zeros(count, dtype=bool)
    return WalkingMemory(
        anchor=np.column_stack([middle, yaw]),
        velocity=np.zeros((count, 3)),
        attitude=np.zeros((count, 2)),
        height=position[:, 2].copy(),
        phase=np.zeros(count),
        integral=np.zeros((count, 3)),
        lift_off=feet,
        flying=np.zeros((count, 4), dtype=bool),
        fallen=none,
    )


def _heading_rotations(yaw: Array) -> Array:
    """(B, 3, 3) rotations about the vertical."""
    found = np.zeros((len(yaw), 3, 3))
    found[:, 0, 0] = found[:, 1, 1] = np.cos(yaw)
    found[:, 1, 0] = np.sin(yaw)
    found[:, 0, 1] = -found[:, 1, 0]
    found[:, 2, 2] = 1.0
    return found


def _at_most(change: Array, most: float) -> Array:
    return np.clip(change, -most, most)
