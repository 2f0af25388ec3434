# SPDX-License-Identifier: Apache-2.0
"""A trained policy out of an ONNX file, for many robots at a time.

The file gives actions for observations, a row for each robot; a YAML file of the same name beside it says what they
are (`PolicyLayout`). Set-points are the joints' default positions plus the scaled actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio

from sysid_nodes.data.digest import digest
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.gaits import GAITS
from sysid_nodes.rollouts.policy import ALL_OBEYED, FALLEN_TILT, Array, BoolArray, Command, Memory
from sysid_nodes.rollouts.policy_layout import PolicyLayout, read_layout
from sysid_nodes.rollouts.rotations import matrix

_LOW = 0.4  # part of the height at which it stands, below which a robot has fallen


@dataclass(frozen=True)
class NetworkMemory(Memory):
    """Of B robots.

    Attributes:
        action: (B, k) the network's last.
        phase: (B,) of the stride, for networks that want it.
        frames: (B, history, o) what was observed last, the newest last; before there is anything, the first.
    """

    action: Array
    phase: Array
    frames: Array


class NetworkPolicy:
    """Controller of B robots.

    Args:
        robot: nominal.
        file: of the network; its layout is beside it.

    Attributes: as of `CommandedPolicy`.

    Raises:
        ConfigError: onnxruntime is not installed, a file is missing or damaged, or network, layout and robot do not fit
            one another.
    """

    obeyed = ALL_OBEYED

    def __init__(self, robot: Robot, file: Path) -> None:
        if not file.is_file():
            raise ConfigError("no such file of a policy", source=str(file))
        layout = file.with_suffix(".yaml")
        self._layout: PolicyLayout = read_layout(layout, robot)
        self.id = digest("network", file.read_bytes(), layout.read_bytes())
        self._network = _open(file, self._layout)
        self.period, self.posture = self._layout.period, self._layout.posture(robot)
        self.standing_height = self.walking_height = _standing_height(robot, self.posture)
        self.memory: NetworkMemory | None = None

    def set_points(self, state: Array, command: Command) -> Array:
        """See `CommandedPolicy`."""
        layout, count, n = self._layout, len(state), len(self.posture)
        turn, q, v = matrix(state[:, 3:7]), state[:, 7 : 7 + n], state[:, 7 + n :]
        memory = self.memory or NetworkMemory(
            fallen=np.zeros(count, dtype=bool),
            action=np.zeros((count, len(layout.which))),
            phase=np.zeros(count),
            frames=np.zeros((count, 0, layout.width)),
        )
        angle = 2.0 * np.pi * memory.phase[:, None]
        seen = {
            "angular_velocity": v[:, 3:6],
            "linear_velocity": np.einsum("bji,bj->bi", turn, v[:, :3]),
            "gravity": -turn[:, 2],
            "command": command.velocity,
            "attitude": command.attitude,
            "height": command.height[:, None],
            "gait": np.eye(len(GAITS))[command.gait],
            "frequency": command.frequency[:, None],
            "phase": np.concatenate([np.sin(angle), np.cos(angle)], axis=1),
            "positions": q[:, layout.which] - layout.default,
            "velocities": v[:, 6:][:, layout.which],
            "last_action": memory.action,
        }
        observed = np.concatenate([seen[name] * scale for name, scale in layout.observations.items()], axis=1)
        before = memory.frames if memory.frames.shape[1] else np.repeat(observed[:, None], layout.history, axis=1)
        frames = np.concatenate([before[:, 1:], observed[:, None]], axis=1)
        action = self._network(layout.arrange(frames))
        targets = np.tile(self.posture, (count, 1))
        targets[:, layout.which] += layout.action_scale * action
        low, tilted = state[:, 2] < _LOW * self.standing_height, turn[:, 2, 2] < FALLEN_TILT
        fallen: BoolArray = memory.fallen | low | tilted | ~np.isfinite(observed).all(axis=1)
        phase = np.where(command.gait == GAITS.index("stand"), 0.0, memory.phase + self.period * command.frequency)
        self.memory = NetworkMemory(fallen=fallen, action=action, phase=phase, frames=frames)
        return np.where(fallen[:, None], q, targets)


def _open(file: Path, layout: PolicyLayout) -> Callable[[Array], Array]:
    """Actions (B, k) of observations (B, o)."""
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError("'walking.policy' needs onnxruntime; pip install 'sysid-nodes[policy]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # simulations have the other cores
    try:
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no base class of their own
        raise ConfigError(f"is no network that onnxruntime reads: {_line(error)}", source=str(file)) from None
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 2:
        raise ConfigError("must take one table, a row of observations for each robot", source=str(file))
    (rows, width), name = inputs[0].shape, inputs[0].name
    single = isinstance(rows, int)  # exported for one robot

    def actions(observed: Array) -> Array:
        sent = observed.astype(np.float32)
        parts = np.split(sent, len(sent)) if single else [sent]
        return np.concatenate([session.run(None, {name: part})[0] for part in parts]).astype(np.float64)

    if width != (all_of_it := layout.width * layout.history):
        raise ConfigError(f"takes {width} observations, its layout has {all_of_it}", source=str(file))
    given = actions(np.zeros((1, all_of_it))).shape
    if given != (1, len(layout.which)):
        raise ConfigError(f"gives actions of shape {given} for {len(layout.which)} joints", source=str(file))
    return actions


def _line(error: Any) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _standing_height(robot: Robot, posture: Array) -> float:
    data, q = robot.model.createData(), pinocchio.neutral(robot.model)
    q[7:] = posture
    pinocchio.forwardKinematics(robot.model, data, q)
    heights = [p.radius - data.oMi[robot.model.getJointId(p.joint)].act(p.position)[2] for p in robot.contacts]
    return float(max(heights))
