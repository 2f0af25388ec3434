# SPDX-License-Identifier: Apache-2.0
"""Certified trajectories as messages. Nothing is judged here: that a digest matches is for the controller to find."""

from __future__ import annotations

from typing import Any

import numpy as np
from online_sysid.msg import CertifiedTrajectory

from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.ros.certified.controller_conversions import nanoseconds, numbers, to_time

_TEXTS = ("id", "previous_id", "phase", "config_id", "scene_id", "body", "target", "proof", "binding")
_NUMBERS = ("previous_time", "duration", "start_rate", "obstacle_margin", "self_margin")
_WHOLE = ("bounds_window", "verdict", "last")
_ARRAYS = (
    "q0", "qd0", "qdd0", "k", "robust_limit", "torque_margin", "position_margin", "velocity_margin", "edges",
    "error_energy", "error_norm", "error_rate", "error_acceleration", "error_change", "error_position",
    "error_reference",
)  # fmt: skip
_TENS = ("lower", "upper", "nominal")


def to_trajectory(record: TrajectoryRecord) -> CertifiedTrajectory:
    """A record as a message, every number to the last bit."""
    message = CertifiedTrajectory(joint_names=list(record.joint_names))
    message.header.stamp = to_time(record.start_ns)
    message.header.frame_id = record.frame_id
    for name in (*_TEXTS, *_NUMBERS, *_WHOLE, *_TENS):
        setattr(message, name, getattr(record, name))
    for name in _ARRAYS:
        setattr(message, name, numbers(getattr(record, name)))
    return message


def to_record(message: CertifiedTrajectory) -> TrajectoryRecord:
    """A message as a record, its id as it came."""
    same: dict[str, Any] = {name: getattr(message, name) for name in (*_TEXTS, *_NUMBERS, *_WHOLE)}
    arrays: dict[str, Any] = {name: np.array(getattr(message, name), dtype=float) for name in (*_ARRAYS, *_TENS)}
    return TrajectoryRecord(
        start_ns=nanoseconds(message.header.stamp),
        frame_id=message.header.frame_id,
        joint_names=tuple(message.joint_names),
        **same,
        **arrays,
    )
