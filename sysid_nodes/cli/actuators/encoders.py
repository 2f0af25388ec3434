# SPDX-License-Identifier: Apache-2.0
"""Encoders and commands of a recording, of whichever messages they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.logs.command_reader import LOW_COMMANDS
from sysid_nodes.logs.reader import TopicLog, read_joint_states, read_topics
from sysid_nodes.logs.storage import absolute
from sysid_nodes.messages.unitree.low_state_reader import DamagedError, LowStateReader
from sysid_nodes.robots import Robot

LOW_STATES = ("unitree_go/msg/LowState", "unitree_hg/msg/LowState")


def read_encoders(bag: Path, topic: str, robot: Robot) -> TopicLog[RawJointState] | TopicLog[RawJointState | None]:
    """Joint states of a recording; of Unitree's LowState where the topic is one, None for those that are damaged.

    Raises:
        LogError: the recording lacks the topic or is damaged.
    """
    kind = _type(bag, topic)
    if kind not in LOW_STATES:
        return read_joint_states(bag, topic)
    reader = LowStateReader(robot)

    def read(log_time: int, message: Any) -> RawJointState | None:
        try:
            return reader(message, 1e-9 * log_time).joint_state()
        except DamagedError:
            return None

    return TopicLog(bag, topic, kind, read)


def tell_gains(bag: Path, topic: str) -> bool:
    """Whether the commands on a topic state the drives' gains."""
    return _type(bag, topic) in LOW_COMMANDS


def _type(bag: Path, topic: str) -> str:
    return next((found.type for found in read_topics(bag) if found.name == absolute(topic)), "")
