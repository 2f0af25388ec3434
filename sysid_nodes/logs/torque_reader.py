# SPDX-License-Identifier: Apache-2.0
"""Reads torque commands of a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.reader import TopicLog

Array = npt.NDArray[np.float64]

TORQUE_COMMAND = "online_sysid/msg/TorqueCommand"


class RawTorques(NamedTuple):
    """One command as recorded, in any joint order.

    Attributes:
        stamp: of the joint state that it answers [s].
        names: k joint names.
        torque: (k,) [N m].
    """

    stamp: float
    names: tuple[str, ...]
    torque: Array


def read_torques(path: str | Path, topic: str) -> TopicLog[RawTorques]:
    """The torque commands of a recording, in the order they were recorded.

    Raises:
        LogError: see `TopicLog`. While iterating: a command has not one torque a joint.
    """
    return TopicLog(path, topic, TORQUE_COMMAND, _convert)


def _convert(_log_time: int, message: Any) -> RawTorques:
    names = tuple(message.joint_names)
    if len(message.torque) != len(names):
        raise LogError(f"a torque command has {len(message.torque)} torques for {len(names)} joints")
    stamp = message.header.stamp
    return RawTorques(stamp.sec + 1e-9 * stamp.nanosec, names, np.array(message.torque, dtype=np.float64))
