# SPDX-License-Identifier: Apache-2.0
"""Commands of the simulated G1: a dance of body sways, squats, twists, steps and rocking feet.

A programme is a list of moves one after the other; each begins and ends standing on both feet. References are smooth
functions of time (quintic blends), so that their differences over a control period give velocity and acceleration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.legged.kinematics import bump, heading_rotation, smooth_step

LEFT, RIGHT = 0, 1
_KINDS = ("stand", "sway", "squat", "twist", "step", "heel", "toe")
_SHIFT = 0.4  # part of the move in which the weight is shifted, and shifted back
# Part of the move after which the foot is lifted: as the body slows down over the other one, it is unloaded anyway.
_STEP_LIFT, _ROCK_LIFT = 0.27, 0.33
_STEP_SHIFT, _ROCK_SHIFT = 0.93, 0.55  # how far the weight goes to the other foot
_UNLOAD_TIME = 0.08  # over which a foot gives up or takes on its share of load [s]


@dataclass(frozen=True)
class Move:
    """One figure of the dance.

    Attributes:
        kind: ``stand``; ``sway``: the body goes left and right and rolls; ``squat``; ``twist``: pelvis and waist turn;
            ``step``: shift the weight, lift a foot and put it down ``stride`` further; ``heel``, ``toe``: shift the
            weight, raise a foot's heel or toes.
        duration: [s].
        foot: 0 left, 1 right: the one that moves.
        amplitude: sway [m], depth of the squat [m], angle of the twist [rad], lift of the step [m], angle of the
            rocking foot [rad].
        cycles: number of sways, squats or twists.
        stride: (2,) displacement of a step, forward and to the left [m].
    """

    kind: str
    duration: float
    foot: int = LEFT
    amplitude: float = 0.0
    cycles: float = 1.0
    stride: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise InputError(f"a G1 move is one of {', '.join(_KINDS)}, not '{self.kind}'")
        if not self.duration > 0.0:
            raise InputError(f"a move needs a positive duration, got {self.duration:g} s")


@dataclass(frozen=True)
class Figure:
    """Desired places of everything at a time, relative to the stance.

    Attributes:
        feet: (2, 3) displacement of the feet since the start, x, y and lift [m].
        rocking: (2,) pitch of the feet, positive about the toes (heel up), negative about the heel [rad].
        loads: (2, 2) share of load that heel and toes of each foot may take, 0 to 1.
        weight: 0: centre of mass over the left foot, 1: over the right one.
        body: (3,) offset of the centre of mass, x, y, z [m].
        pelvis: (3,) roll, pitch, yaw [rad].
        waist: yaw of the torso against the pelvis [rad].
    """

    feet: Array
    rocking: Array
    loads: Array
    weight: float
    body: Array
    pelvis: Array
    waist: float


DANCE = (
    Move("stand", 0.3),
    Move("sway", 2.4, amplitude=0.025, cycles=2.0),
    Move("step", 2.8, foot=LEFT, amplitude=0.06),
    Move("squat", 1.4, amplitude=0.08, cycles=2.0),
    Move("heel", 1.9, foot=RIGHT, amplitude=0.30),
    Move("step", 2.8, foot=RIGHT, amplitude=0.05, stride=(0.05, -0.02)),
    Move("twist", 1.4, amplitude=0.35, cycles=2.0),
    Move("toe", 1.9, foot=LEFT, amplitude=0.25),
    Move("stand", 0.1),
)
"""Fifteen seconds."""


class Programme:
    """Figures at any time.

    Args:
        moves: one after the other; after the last one the robot stands.
    """

    def __init__(self, moves: Sequence[Move]) -> None:
        self._moves = tuple(moves)
        starts = np.concatenate([[0.0], np.cumsum([move.duration for move in self._moves])])
        self._starts, self.duration = starts[:-1], float(starts[-1])
        placed = [np.zeros((2, 3))]
        for move in self._moves:
            feet = placed[-1].copy()
            if move.kind == "step":
                feet[move.foot, :2] += move.stride
            placed.append(feet)
        self._placed = placed

    def at(self, time: float) -> Figure:
        """The figure at a time since the start [s]."""
        if time >= self.duration:
            return _figure(self._placed[-1])
        index = max(int(np.searchsorted(self._starts, time, side="right")) - 1, 0)
        return _perform(self._moves[index], time - float(self._starts[index]), self._placed[index])


def _figure(feet: Array) -> Figure:
    return Figure(feet, np.zeros(2), np.ones((2, 2)), 0.5, np.zeros(3), np.zeros(3), 0.0)


def _perform(move: Move, elapsed: float, placed: Array) -> Figure:
    rest = _figure(placed.copy())
    if move.kind == "stand":
        return rest
    if move.kind in ("step", "heel", "toe"):
        return _stand_on_one_foot(move, elapsed, rest)
    phase = 2.0 * np.pi * move.cycles * elapsed / move.duration
    ramp = min(0.8, 0.5 * move.duration)
    envelope = smooth_step(min(elapsed, move.duration - elapsed) / ramp)[0]
    wave = move.amplitude * envelope * np.sin(phase)
    body, pelvis, waist = rest.body, rest.pelvis, 0.0
    if move.kind == "sway":
        body[:] = 0.3 * move.amplitude * envelope * np.sin(2.0 * phase), wave, 0.0
        pelvis[:] = -2.0 * wave, 0.0, wave
    elif move.kind == "squat":
        body[2] = -0.5 * move.amplitude * envelope * (1.0 - np.cos(phase))
        pelvis[1] = -1.5 * body[2]
    else:
        pelvis[2], waist = 0.4 * wave, wave
    return Figure(rest.feet, rest.rocking, rest.loads, rest.weight, body, pelvis, waist)


def _stand_on_one_foot(move: Move, elapsed: float, rest: Figure) -> Figure:
    """Shift the weight to the other foot, move this one, shift back."""
    progress = elapsed / move.duration
    towards = smooth_step(progress / _SHIFT)[0] - smooth_step((progress - 1.0 + _SHIFT) / _SHIFT)[0]
    other = 1.0 if move.foot == LEFT else 0.0
    full = _STEP_SHIFT if move.kind == "step" else _ROCK_SHIFT
    weight = 0.5 + full * towards * (other - 0.5)
    begin = _STEP_LIFT if move.kind == "step" else _ROCK_LIFT
    lift_time = (1.0 - 2.0 * begin) * move.duration
    s = (elapsed - begin * move.duration) / lift_time
    feet, rocking, loads = rest.feet, rest.rocking, rest.loads
    raised = bump(s)[0]
    outside = max(-s, s - 1.0) * lift_time
    share = smooth_step(outside / _UNLOAD_TIME)[0]
    if move.kind == "step":
        feet[move.foot, :2] += smooth_step(s)[0] * np.array(move.stride)
        feet[move.foot, 2] = move.amplitude * raised
        loads[move.foot] = share
    else:
        rocking[move.foot] = move.amplitude * raised * (1.0 if move.kind == "heel" else -1.0)
        loads[move.foot, 0 if move.kind == "heel" else 1] = share
    return Figure(feet, rocking, loads, weight, rest.body, rest.pelvis, 0.0)


def foot_pose(
    start: Array, yaw: float, displacement: Array, pitch: float, toe: Array, heel: Array
) -> tuple[Array, Array]:
    """Position and rotation of a foot's joint frame.

    Args:
        start: (3,) position on the ground at the start [m].
        yaw: heading of the robot at the start [rad].
        displacement: (3,) since, in that heading [m].
        pitch: about the toes if positive, else about the heel [rad].
        toe, heel: (3,) the lines about which the foot rocks, in the foot's frame [m].
    """
    turn = heading_rotation(yaw)
    c, s = np.cos(pitch), np.sin(pitch)
    tilt = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    pivot = toe if pitch >= 0.0 else heel
    position = start + turn @ (displacement + pivot - tilt @ pivot)
    return position, turn @ tilt


def arms(time: float, envelope: float) -> dict[str, float]:
    """Joint positions of the dancing arms [rad], both sides swinging against one another."""
    swing = np.sin(2.0 * np.pi * 0.8 * time)
    wave = np.sin(2.0 * np.pi * 0.55 * time)
    pose = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        pose[f"{side}_shoulder_pitch_joint"] = envelope * (0.2 + 0.5 * sign * swing)
        pose[f"{side}_shoulder_roll_joint"] = sign * (0.18 + envelope * (0.25 + 0.25 * wave))
        pose[f"{side}_shoulder_yaw_joint"] = 0.2 * envelope * swing
        pose[f"{side}_elbow_joint"] = 0.6 + 0.4 * envelope * sign * wave
        pose[f"{side}_wrist_roll_joint"] = 0.3 * envelope * swing
    return pose
