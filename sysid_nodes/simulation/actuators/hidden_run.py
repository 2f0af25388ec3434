# SPDX-License-Identifier: Apache-2.0
"""A whole run on the stand: what is hidden, what is commanded and what the encoders read."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot, limb, load_robot
from sysid_nodes.simulation.actuators.chirp import chirp
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand

Array = npt.NDArray[np.float64]

PAUSE = 2.0
"""Between two motions, the robot switched off [s]."""

_FRICTION, _GAIN, _DELAY = 2.0, 0.7, 0.008  # factors, and what is added [s]


@dataclass(frozen=True)
class HiddenRun:
    """One motion, or two with a change between them.

    Attributes:
        robot: on the stand.
        drives: before and, where something changes, after it.
        logs: of the motions, each from zero.
        torques: (S, n) of the motions, that the bodies take at the encoders' samples [N m].
        changed: joint whose drive is changed; empty for none.
        kind: of the change.
    """

    robot: Robot
    drives: tuple[Drives, ...]
    logs: tuple[ActuatorLog, ...]
    torques: tuple[Array, ...]
    changed: str
    kind: str

    def truth(self) -> dict[str, Any]:
        """The hidden part as plain values: true parameters by motion, and the change."""
        return {
            "joints": list(self.robot.joint_names),
            "drives": [
                {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(d).items()}
                for d in self.drives
            ],
            "changed": self.changed,
            "kind": self.kind,
            "torque": {
                "t": [
                    round(float(t) + shift, 4)
                    for shift, log in zip(self._shifts, self.logs, strict=True)
                    for t in log.t
                ],
                "values": np.round(np.concatenate(self.torques), 4).tolist(),
            },
        }

    @property
    def _shifts(self) -> list[float]:
        """Times at which the motions begin [s]."""
        lengths = [max(float(log.t[-1]), float(log.command_t[-1])) + PAUSE for log in self.logs]
        return [sum(lengths[:k]) for k in range(len(lengths))]

    def samples(self) -> Iterator[tuple[float, bool, Array]]:
        """Times [s] from zero on, whether it is a command, and positions (n,) [rad], as they come over the wire."""
        for shift, log in zip(self._shifts, self.logs, strict=True):
            commands = ((float(t) + shift, 0, q) for t, q in zip(log.command_t, log.command, strict=True))
            states = ((float(t) + shift, 1, q) for t, q in zip(log.t, log.q, strict=True))
            for t, order, q in heapq.merge(commands, states, key=lambda item: item[:2]):
                yield t, order == 0, q


def hidden_run(config: SimulatedDrivesConfig) -> HiddenRun:
    """Draws the drives and simulates; takes a second or two.

    Raises:
        RobotError: there are no such joints.
        ConfigError: the posture does not fit them.
    """
    rng = np.random.default_rng(config.seed)
    robot = limb(load_robot(config.robot), config.joints)
    if len(config.posture) != robot.n:
        raise ConfigError(f"'posture' must have {robot.n} values, got {len(config.posture)}")
    first = Drives.draw(robot.n, rng).with_unknowns(rng)
    drives, durations, changed = [first], [config.chirp.duration], ""
    if config.change != "none":
        at = int(rng.integers(robot.n))
        changed = robot.joint_names[at]
        drives.append(_change(first, config.change, at))
        durations.append(config.change_duration)
    logs, torques = [], []
    for each, duration in zip(drives, durations, strict=True):
        t, command = chirp(replace(config.chirp, duration=duration), np.array(config.posture))
        motion = move_on_stand(robot, each, t, command)
        logs.append(motion.read(noise=config.noise, rng=rng))
        torques.append(motion.body_torque())
    return HiddenRun(robot, tuple(drives), tuple(logs), tuple(torques), changed, config.change if changed else "")


def _change(drives: Drives, kind: str, at: int) -> Drives:
    """The drives with one of them changed."""

    def but(value: Array, new: float) -> Array:
        return np.asarray(np.where(np.arange(len(value)) == at, new, value))

    if kind == "friction":
        return replace(drives, coulomb=but(drives.coulomb, _FRICTION * drives.coulomb[at]))
    if kind == "delay":
        return replace(drives, delay=but(drives.delay, drives.delay[at] + _DELAY))
    return replace(
        drives,
        stiffness=but(drives.stiffness, _GAIN * drives.stiffness[at]),
        damping=but(drives.damping, _GAIN * drives.damping[at]),
    )
