# SPDX-License-Identifier: Apache-2.0
"""Between ROS messages and the suite's own data. Nothing is judged here; that is the pipeline's business."""

from __future__ import annotations

import importlib
from typing import Any

from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.logs.writer import stamp_fields
from sysid_nodes.signals.stream import seconds


def message_type(name: str) -> Any:
    """Class of a message type, `package/msg/Name`.

    Raises:
        ConfigError: its package is not installed.
    """
    package, _, kind = name.split("/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), kind)
    except ImportError:
        raise ConfigError(f"messages of type {name} need the package {package}, which is not installed") from None


def type_name(kind: type[Any]) -> str:
    """Full name of a message class, `package/msg/Name`."""
    return f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"


def to_seconds(stamp: Time) -> float:
    """Stamp as seconds."""
    return seconds(stamp.sec, stamp.nanosec)


def to_stamp(seconds: float) -> Time:
    """Finite seconds, not negative, as a stamp."""
    return Time(**stamp_fields(seconds))


def as_fields(message: Any) -> Any:
    """A message as nested plain values."""
    if hasattr(message, "get_fields_and_field_types"):
        return {name: as_fields(getattr(message, name)) for name in message.get_fields_and_field_types()}
    if hasattr(message, "tolist"):
        return message.tolist()
    return [as_fields(item) for item in message] if isinstance(message, (list, tuple)) else message


def to_joint_state(message: JointState) -> RawJointState:
    """The fields of a JointState, names and arrays untouched."""
    return RawJointState(
        to_seconds(message.header.stamp), message.name, message.position, message.velocity, message.effort
    )
