# SPDX-License-Identifier: Apache-2.0
"""Layout of a trained policy, what it observes and what its actions are: a YAML file beside the network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import read_yaml
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.gaits import GAITS

Array = npt.NDArray[np.float64]

_SIZES = {
    "angular_velocity": 3, "linear_velocity": 3, "gravity": 3, "command": 3, "attitude": 2, "height": 1,
    "gait": len(GAITS), "frequency": 1, "phase": 2, "positions": 0, "velocities": 0, "last_action": 0,
}  # fmt: skip
"""Of observations; 0 for one number a joint of the network."""

_KEYS = ("period", "action_scale", "joints", "observations")
_MAY = ("history", "history_by")

BY_OBSERVATION, BY_INSTANT = "observation", "instant"
"""All instants of one observation after the other, as Isaac Lab has them; or all observations of one instant."""


@dataclass(frozen=True)
class PolicyLayout:
    """Of a network that moves k joints.

    Attributes:
        period: between two actions [s].
        action_scale: by which actions are multiplied [rad].
        which: (k,) the robot's joints in the network's order; all others are held at zero.
        default: (k,) positions to which actions are added [rad].
        observations: by name, in their order, what each is multiplied by: one number, or one for each of its own.
        width: of all observations of an instant together.
        history: instants that the network sees, the newest last.
        history_by: in which order.
    """

    period: float
    action_scale: float
    which: npt.NDArray[np.int64]
    default: Array
    observations: Mapping[str, Array]
    width: int
    history: int = 1
    history_by: str = BY_OBSERVATION

    def arrange(self, frames: Array) -> Array:
        """(B, history width) what the network takes, of (B, history, width) observations, the newest last."""
        if self.history_by == BY_INSTANT:
            return frames.reshape(len(frames), -1)
        ends = np.cumsum([_SIZES[name] or len(self.default) for name in self.observations])
        parts = np.split(frames, ends[:-1], axis=2)
        return np.concatenate([part.reshape(len(frames), -1) for part in parts], axis=1)

    def posture(self, robot: Robot) -> Array:
        """(n,) joints of a robot that stands [rad]."""
        found = np.zeros(robot.n)
        found[self.which] = self.default
        return found


def read_layout(file: Path, robot: Robot) -> PolicyLayout:
    """Reads one.

    Raises:
        ConfigError: it is missing or damaged, lacks something, or is of another robot.
    """

    def refuse(words: str) -> ConfigError:
        return ConfigError(words, source=str(file))

    def number(value: Any, name: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            raise refuse(f"'{name}' must be a number, got {value!r}")
        return float(value)

    tree = read_yaml(file)
    if not isinstance(tree, Mapping) or not {*_KEYS} <= {*map(str, tree)} <= {*_KEYS, *_MAY}:
        raise refuse(f"a policy's layout has the keys {', '.join(_KEYS)}, perhaps {', '.join(_MAY)}, and no others")
    for name in ("joints", "observations"):
        if not isinstance(tree[name], Mapping) or not tree[name]:
            raise refuse(f"'{name}' must be a list of names with a number each")
    if strange := [name for name in tree["joints"] if name not in robot.joint_names]:
        raise refuse(f"robot '{robot.name}' has no joint '{strange[0]}'")
    if strange := [name for name in tree["observations"] if name not in _SIZES]:
        raise refuse(f"there is no observation '{strange[0]}', only {', '.join(_SIZES)}")
    period, scale = (number(tree[name], name) for name in ("period", "action_scale"))
    if period <= 0.0:
        raise refuse(f"'period' must be positive, got {period:g}")
    default = np.array([number(value, name) for name, value in tree["joints"].items()])
    observations, width = {}, 0
    for name, given in tree["observations"].items():
        size = _SIZES[name] or len(default)
        scales = [number(value, name) for value in (given if isinstance(given, list) else [given])]
        if len(scales) not in (1, size):
            raise refuse(f"'{name}' has {len(scales)} scales for {size} numbers")
        observations[name] = np.array(scales)
        width += size
    which = np.array([robot.joint_names.index(name) for name in tree["joints"]], dtype=np.int64)
    return PolicyLayout(period, scale, which, default, observations, width, *_history(tree, refuse))


def _history(tree: Mapping[str, Any], refuse: Callable[[str], ConfigError]) -> tuple[int, str]:
    """How many instants, in which order."""
    history, order = tree.get("history", 1), tree.get("history_by", BY_OBSERVATION)
    if isinstance(history, bool) or not isinstance(history, int) or history < 1:
        raise refuse(f"'history' must be a number of instants, 1 or more, got {history!r}")
    if order not in (BY_OBSERVATION, BY_INSTANT):
        raise refuse(f"'history_by' must be {BY_OBSERVATION} or {BY_INSTANT}, got {order!r}")
    return history, order
