# SPDX-License-Identifier: Apache-2.0
"""When and where a humanoid sets its feet, and how its weight is between them, for many robots at a time.

The robot is a mass on a linear inverted pendulum, whose capture point xi = c + v / omega runs away from the centre of
pressure p, xi' = omega (xi - p). The next foot is set where xi will be as it takes the weight, less the offset b of a
steady walk there (Khadiv et al., IEEE Trans. Robotics 36 (2020) 629): ahead v T / (e^(omega T) - 1), and inwards the
feet's distance / (1 + e^(omega T)). Ankles move p within the sole meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.rollouts.biped_body import GRAVITY, BipedBody, Seen
from sysid_nodes.rollouts.policy import Array, BoolArray, Command, Memory

IntArray = npt.NDArray[np.int64]

BOTH = 0.06
"""Both feet are on the ground between two steps [s]."""

_CAPTURE = 1.6  # p is so much further out than xi is off: more than nothing brings it back
_WIDTH = 0.21  # between the feet [m]
_NEAR, _FAR, _STRIDE = 0.15, 0.42, 0.40  # of the feet aside, and ahead or back [m]
_SLOWEST, _FASTEST = 1.0, 1.7  # strides a second that are obeyed
_CAUGHT = 0.03  # xi this near to where a step may begin, or ahead and back to where the robot may stop [m]
_CLOSE = 0.04  # feet that stand beside one another [m]
_SLOW = 0.05  # speed at which it may stop [m/s, rad/s]
_HASTE = 1.5  # in which a first step begins at the latest [s]
_EDGE = np.array([0.015, 0.0075])  # of the sole that stays free [m]


@dataclass(frozen=True)
class HumanoidMemory(Memory):
    """State of the controller of B robots between two calls.

    Attributes:
        heading: (B,) reference [rad].
        velocity, attitude, height: (B, 3), (B, 2), (B,) commands as far as they are obeyed.
        time: (B,) since the stance foot touched the ground; of a robot that stands, since it was to walk [s].
        stance: (B,) 0 where that is the left foot, 1 the right one.
        walking: (B,) robots that step.
        lift_off: (B, 4) where the swinging foot left the ground, and its heading [m, rad].
        integral: (B, 3) of height, roll and pitch.
        lean: (B, 2) by how much the centre of mass is elsewhere than thought, ahead and left [m].
    """

    heading: Array
    velocity: Array
    attitude: Array
    height: Array
    time: Array
    stance: IntArray
    walking: BoolArray
    lift_off: Array
    integral: Array
    lean: Array

    @classmethod
    def begin(cls, state: Array, seen: Seen) -> HumanoidMemory:
        """Of robots that stand."""
        count = len(state)
        none = np.zeros(count, dtype=bool)
        return cls(
            heading=np.arctan2(seen.turn[:, 1, 0], seen.turn[:, 0, 0]),
            velocity=np.zeros((count, 3)),
            attitude=np.zeros((count, 2)),
            height=state[:, 2].copy(),
            time=np.zeros(count),
            stance=np.zeros(count, dtype=np.int64),
            walking=none,
            lift_off=np.zeros((count, 4)),
            integral=np.zeros((count, 3)),
            lean=np.zeros((count, 2)),
            fallen=none,
        )


@dataclass(frozen=True)
class Pendulum:
    """B robots from their bases, in the axes of their headings.

    Attributes:
        ahead: (B, 2, 2) rotations of these axes.
        centre, capture: (B, 2) of mass, and xi.
        soles: (B, 2, 2).
        omega: (B,) [1/s].
        lasts: (B,) a step [s].
        grows: (B,) factor by which xi runs away within one.
    """

    ahead: Array
    centre: Array
    capture: Array
    soles: Array
    omega: Array
    lasts: Array
    grows: Array

    @classmethod
    def of(cls, memory: HumanoidMemory, base: Array, seen: Seen, frequency: Array) -> Pendulum:
        """Of robots with bases (B, 2) in the world, their strides' frequencies (B,) [Hz] as far as they are obeyed."""
        omega = np.sqrt(GRAVITY / np.maximum(seen.centre[:, 2], 0.1))
        ahead = plane_rotations(memory.heading)
        centre = np.einsum("bji,bj->bi", ahead, seen.centre[:, :2] - base) + memory.lean
        speed = np.einsum("bji,bj->bi", ahead, seen.velocity[:, :2])
        soles = np.einsum("bji,bfj->bfi", ahead, seen.sole[..., :2] - base[:, None])
        lasts = 0.5 / np.clip(frequency, _SLOWEST, _FASTEST)
        return cls(ahead, centre, centre + speed / omega[:, None], soles, omega, lasts, np.exp(omega * lasts))

    def steady(self, velocity: Array, foot: IntArray) -> Array:
        """(B, 2) b: of xi from a foot (B,) as it takes the weight in a walk with velocities (B, 2)."""
        offset = velocity * (self.lasts / (self.grows - 1.0))[:, None]
        offset[:, 1] += np.where(foot == 0, -1.0, 1.0) * _WIDTH / (1.0 + self.grows)
        return offset


class Footsteps:
    """Of robots with these soles."""

    def __init__(self, body: BipedBody) -> None:
        self._reach = body.reach - _EDGE

    def change(self, memory: HumanoidMemory, seen: Seen, pendulum: Pendulum, command: Command) -> HumanoidMemory:
        """Steps that end and begin."""
        row, soles = np.arange(len(memory.time)), pendulum.soles
        off = pendulum.capture[:, 0] - soles[..., 0].mean(axis=1)
        still = (command.gait == 0) & (np.abs(memory.velocity) < _SLOW).all(axis=1)
        ended = memory.walking & (memory.time >= pendulum.lasts)
        halts = ended & still & (np.abs(soles[:, 0, 0] - soles[:, 1, 0]) < _CLOSE) & (np.abs(off) < _CAUGHT)
        ready = np.linalg.norm(pendulum.capture - self._first(memory, pendulum), axis=1) < _CAUGHT
        begins = ~memory.walking & ~still & (ready | (memory.time > _HASTE))
        stance = np.where(ended, 1 - memory.stance, memory.stance)
        time = np.where(begins, BOTH, np.where(ended | (still & ~memory.walking), 0.0, memory.time))
        walking = (memory.walking & ~halts) | begins
        turn = seen.flat[row, 1 - stance]
        now = np.column_stack([seen.sole[row, 1 - stance], np.arctan2(turn[:, 1, 0], turn[:, 0, 0])])
        grounded = (walking & (time <= BOTH))[:, None]
        lift_off = np.where(grounded, now, memory.lift_off)
        return replace(memory, stance=stance, time=time, walking=walking, lift_off=lift_off)

    def shares(self, memory: HumanoidMemory, pendulum: Pendulum) -> tuple[Array, Array]:
        """(B, 2) shares of the weight on the feet, and (B, 2) where within them it is, from their middles."""
        row, stance, walks = np.arange(len(memory.time)), memory.stance, memory.walking
        own, other = pendulum.soles[row, stance], pendulum.soles[row, 1 - stance]
        # Standing: towards the middle, or before a first step towards where it may begin.
        middle = pendulum.soles.mean(axis=1)
        wanted = np.where((memory.time > 0.0)[:, None], self._first(memory, pendulum), middle)
        pressed = pendulum.capture + _CAPTURE * (pendulum.capture - wanted)
        along = own - other
        share = np.einsum("bi,bi->b", pressed - other, along) / np.einsum("bi,bi->b", along, along)
        # Walking: by what xi is off its way in a steady walk.
        elapsed = np.clip(memory.time - 0.5 * BOTH, 0.0, pendulum.lasts)
        way = pendulum.steady(memory.velocity[:, :2], stance) * np.exp(pendulum.omega * elapsed)[:, None]
        ankle = own + _CAPTURE * (pendulum.capture - own - way)
        onto = np.clip(memory.time / BOTH, 0.0, 1.0)
        share = np.where(walks, onto, np.clip(share, 0.02, 0.98))
        aims = np.where(walks[:, None], onto[:, None] * ankle + (1.0 - onto)[:, None] * other, pressed)
        off = aims - share[:, None] * own - (1.0 - share)[:, None] * other
        both = np.where(stance[:, None] == np.arange(2), share[:, None], 1.0 - share[:, None])
        return both, np.clip(off, -self._reach, self._reach)

    def landing_point(self, memory: HumanoidMemory, pendulum: Pendulum) -> Array:
        """(B, 2) where the swinging foot is to land, from the base, along the heading."""
        own, swing = pendulum.soles[np.arange(len(memory.time)), memory.stance], 1 - memory.stance
        left = np.maximum(pendulum.lasts + 0.5 * BOTH - memory.time, 0.0)
        step = (pendulum.capture - own) * np.exp(pendulum.omega * left)[:, None]
        step -= pendulum.steady(memory.velocity[:, :2], swing)
        side = np.where(swing == 0, 1.0, -1.0)
        step[:, 0] = np.clip(step[:, 0], -_STRIDE, _STRIDE)
        step[:, 1] = side * np.clip(side * step[:, 1], _NEAR, _FAR)
        return np.asarray(own + step)

    def _first(self, memory: HumanoidMemory, pendulum: Pendulum) -> Array:
        """(B, 2) xi from which a step may begin that is like those after it."""
        own = pendulum.soles[np.arange(len(memory.time)), memory.stance]
        return own + pendulum.steady(np.zeros((len(own), 2)), memory.stance)


def plane_rotations(yaw: Array) -> Array:
    """(B, 2, 2) rotations about the vertical."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], axis=-2)
