# SPDX-License-Identifier: Apache-2.0
"""Reads force sensors of feet in a recording, in whatever unit they have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.logs.reader import JOINT_STATE, read_messages, read_topics
from sysid_nodes.logs.storage import absolute
from sysid_nodes.signals.stream import seconds

Array = npt.NDArray[np.float64]

WRENCH, PLAIN = "geometry_msgs/msg/WrenchStamped", ("std_msgs/msg/Float64", "std_msgs/msg/Float32")
LOW_STATE = "/msg/LowState"
UNITREE_ORDER = ("FR", "FL", "RR", "RL")
"""Feet in a LowState's foot_force."""

_LOOKED_AT = 200  # joint states, for the recorder's delay


class FootForce(NamedTuple):
    """Readings of one foot.

    Attributes:
        topic: where they are from.
        t: (K,) stamps [s].
        reading: (K,) larger under load, in any unit.
    """

    topic: str
    t: Array
    reading: Array


def read_foot_forces(path: str | Path, given: Sequence[str], feet: Sequence[str], joints: str) -> dict[str, FootForce]:
    """Readings by the names of feet.

    Messages without a header count from the time of their recording, less what joint states took to be recorded.

    Args:
        given: FOOT=TOPIC of a geometry_msgs/WrenchStamped (length of its force) or std_msgs/Float64 or Float32, or the
            TOPIC alone of a LowState of four feet.
        feet: names of the robot's feet.
        joints: topic of the joint states.

    Raises:
        ConfigError: a foot is not the robot's or is given twice, or a topic is of another type.
        LogError: the recording cannot be read, or does not have the topic.
    """
    kinds = {topic.name: topic.type for topic in read_topics(path)}
    found: dict[str, FootForce] = {}
    for text in given:
        foot, _, topic = text.rpartition("=")
        topic = absolute(topic)
        kind = kinds.get(topic, WRENCH)
        for name, force in _read(path, topic, kind, joints).items():
            if bool(foot) == bool(name):
                wanted = "FOOT=TOPIC" if not foot else "the topic alone"
                raise ConfigError(f"foot forces of {kind} are given as {wanted}, got '{text}'")
            own = _foot(foot or name, feet)
            if own in found:
                raise ConfigError(f"the force of foot '{own}' is given twice")
            found[own] = force
    return found


def _read(path: str | Path, topic: str, kind: str, joints: str) -> dict[str, FootForce]:
    """By foot; of a topic of one foot under an empty name."""
    if kind != WRENCH and kind not in PLAIN and not kind.endswith(LOW_STATE):
        known = ", ".join((WRENCH, *PLAIN, f"unitree_go{LOW_STATE}"))
        raise ConfigError(f"topic '{topic}' is of type {kind}: no foot force; those are {known}")
    messages = list(read_messages(path, topic, kind))
    if kind == WRENCH:
        stamps = [seconds(m.header.stamp.sec, m.header.stamp.nanosec) for _, m in messages]
        force = np.array([[m.wrench.force.x, m.wrench.force.y, m.wrench.force.z] for _, m in messages])
        return {"": FootForce(topic, np.array(stamps), np.linalg.norm(force, axis=1))}
    t = 1e-9 * np.array([time for time, _ in messages], dtype=np.float64) - _recording_delay(path, joints)
    if kind in PLAIN:
        return {"": FootForce(topic, t, np.array([m.data for _, m in messages], dtype=np.float64))}
    readings = np.array([_low_state_forces(m) for _, m in messages], dtype=np.float64)
    return {name: FootForce(topic, t, readings[:, k]) for k, name in enumerate(UNITREE_ORDER)}


def _low_state_forces(message: Any) -> Any:
    force = getattr(message, "foot_force", ())
    if len(force) != len(UNITREE_ORDER):
        raise ConfigError(f"LowState has {len(force)} foot forces, not {len(UNITREE_ORDER)}")
    return force


def _recording_delay(path: str | Path, joints: str) -> float:
    """Median time from a joint state's stamp to its recording [s]."""
    looked = islice(read_messages(path, joints, JOINT_STATE), _LOOKED_AT)
    return float(np.median([1e-9 * t - seconds(m.header.stamp.sec, m.header.stamp.nanosec) for t, m in looked]))


def _foot(name: str, feet: Sequence[str]) -> str:
    """The one foot whose name begins so."""
    found = [foot for foot in feet if foot == name] or [foot for foot in feet if foot.startswith(name)]
    if len(found) != 1:
        raise ConfigError(f"'{name}' is {'several feet' if found else 'no foot'} of the robot: {', '.join(feet)}")
    return found[0]
