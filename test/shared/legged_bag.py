# SPDX-License-Identifier: Apache-2.0
"""Recordings of a simulated legged robot, with the truth in files beside them as the simulator's node writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.reader import JOINT_STATE
from sysid_nodes.logs.writer import StorageName
from sysid_nodes.messages.geometry import header, quaternion, vector
from sysid_nodes.simulation.legged import (
    ImuReading,
    JointReading,
    LeggedRobotSim,
    PoseReading,
    Reading,
    VelocityReading,
)

TOPICS = {
    "/joint_states": JOINT_STATE,
    "/imu/data": "sensor_msgs/msg/Imu",
    "/mocap/pose": "geometry_msgs/msg/PoseStamped",
    "/velocity": "nav_msgs/msg/Odometry",
    "/twist": "geometry_msgs/msg/TwistStamped",
}


def write_bag(
    path: Path, readings: Iterable[Reading], *, storage: StorageName = "mcap", without: tuple[str, ...] = ()
) -> Path:
    """Records readings at their times of arrival; a velocity as an Odometry and as a TwistStamped."""
    now = 0
    with BagWriter(path, storage=storage) as bag:
        for topic, kind in TOPICS.items():
            if topic not in without:
                bag.add_topic(topic, kind)
        for reading in readings:
            now = max(now + 1, round(1e9 * reading.arrival))
            for topic, fields in messages(reading):
                if topic not in without:
                    bag.write(topic, now, fields)
    return path


def messages(reading: Reading) -> list[tuple[str, dict[str, object]]]:
    """Topics and fields of the messages that a reading's driver would publish."""
    if isinstance(reading, VelocityReading):
        head, twist = header(reading.stamp, "base"), {"linear": vector(reading.linear)}
        odometry = {"header": header(reading.stamp, "world"), "child_frame_id": "base", "twist": {"twist": twist}}
        return [("/velocity", odometry), ("/twist", {"header": head, "twist": twist})]
    return [message(reading)]


def message(reading: JointReading | ImuReading | PoseReading) -> tuple[str, dict[str, object]]:
    """Topic and fields of the message that a reading's driver would publish."""
    if isinstance(reading, JointReading):
        arrays = {name: getattr(reading, name).tolist() for name in ("position", "velocity", "effort")}
        return "/joint_states", {"header": header(reading.stamp), "name": list(reading.names), **arrays}
    if isinstance(reading, ImuReading):
        return "/imu/data", {
            "header": header(reading.stamp, "imu"),
            "orientation": quaternion(reading.orientation),
            "angular_velocity": vector(reading.gyro),
            "linear_acceleration": vector(reading.accelerometer),
        }
    pose = {"position": vector(reading.position), "orientation": quaternion(reading.orientation)}
    return "/mocap/pose", {"header": header(reading.stamp, "world"), "pose": pose}


def write_truth(folder: Path, sim: LeggedRobotSim, start: float) -> Path:
    """Writes truth.json and truth.npz; times are stamps."""
    folder.mkdir(parents=True, exist_ok=True)
    values = asdict(sim.truth).items()
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values}
    (folder / "truth.json").write_text(json.dumps(plain), encoding="utf-8")
    series = asdict(sim.series())
    series["time"] = series["time"] + start
    np.savez_compressed(folder / "truth.npz", **series)
    return folder
