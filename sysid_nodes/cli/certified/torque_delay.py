# SPDX-License-Identifier: Apache-2.0
"""Delay of torques behind the joint states that they answer, from a recording of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sysid_nodes.cli.progress import track
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.logs.reader import read_joint_states
from sysid_nodes.logs.torque_reader import read_torques
from sysid_nodes.robots import Robot
from sysid_nodes.signals.stream import JointStream
from sysid_nodes.systems.certified.control.torque_delay import TorqueDelay, measure_delay


def measure_torques(robot: Robot, bag: Path, torques: str, states: str) -> TorqueDelay:
    """Ages of the joint states behind the torques in force.

    Raises:
        LogError: the recording cannot be read, or tells no age.
    """
    order, commands = JointOrder(robot.joint_names), {}
    for k, raw in enumerate(track(read_torques(bag, torques), f"read {torques}")):
        columns = order.columns(raw.names)
        if columns is None:
            raise LogError(f"command {k} of '{torques}' has {order.fault(raw.names)}", source=str(bag))
        commands[raw.stamp] = raw.torque[columns]
    stream, samples = JointStream(robot.joint_names, robot.wraps), []
    for m in track(read_joint_states(bag, states), f"read {states}"):
        sample = stream.push(m.names, m.stamp, m.position, m.velocity, m.effort)
        if sample is not None:
            samples.append((sample.t, sample.tau))
    if not samples:
        raise LogError(f"holds no usable joint state with efforts on '{states}'", source=str(bag))
    stamps = np.array(sorted(commands))
    t, effort = (np.array([sample[k] for sample in samples]) for k in range(2))
    try:
        return measure_delay(t, effort, stamps, np.array([commands[stamp] for stamp in stamps]))
    except SamplesError as error:
        raise LogError(str(error), source=str(bag)) from None


def delay_lines(found: TorqueDelay) -> list[str]:
    """The measurement, for people, and what to configure."""
    typical, longest, jitter = (1e3 * x for x in (found.typical, found.longest, found.jitter))
    return [
        f"torques in force answer joint states that are {typical:.2f} ms old, {longest:.2f} ms at most; "
        f"between stretches that differs by {jitter:.2f} ms ({found.clear} of {found.stretches} tell)",
        f"Measured, not proven, and no finer than the {1e3 * found.period:.2f} ms between joint states.",
        "",
        "control:",
        f"  delay: {found.longest:.4f}",
    ]
