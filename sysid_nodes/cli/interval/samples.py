# SPDX-License-Identifier: Apache-2.0
"""Samples of a whole recording, refused where an identification from them would mean nothing."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

from sysid_nodes.cli.progress import track
from sysid_nodes.data import JointSamples
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.logs import read_joint_states
from sysid_nodes.results import Status
from sysid_nodes.robots import Robot
from sysid_nodes.systems.interval.arm_stream import joint_stream
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.stream_watch import StreamWatch


def read_samples(robot: Robot, config: IntervalIdentifierConfig, bag: Path, topic: str) -> JointSamples:
    """The accepted samples of a recording.

    Raises:
        LogError: the recording cannot be read, its clock was set back, or it holds nothing that could be used: dead
            signals, torque of the wrong sign or unit.
        ExcitationError: it has less than two usable samples.
    """
    stream = joint_stream(robot, config)
    watch = StreamWatch(robot, config)
    samples = []
    for m in track(read_joint_states(bag, topic), f"read {bag.name}"):
        watch.take(m)
        if (sample := stream.push(m.names, m.stamp, m.position, m.velocity, m.effort)) is not None:
            samples.append(sample)
    found = watch.judge(Status.PROVEN)
    if len(samples) < 2:
        reasons = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(stream.rejected.items()))
        why = "; ".join(
            [
                f"holds {len(samples) or 'no'} usable sample (rejected: {reasons})",
                *(fault.message for fault in found.faults),
            ]
        )
        raise ExcitationError(why, source=str(bag))
    if any(later.t <= sample.t for sample, later in pairwise(samples)):
        raise LogError("the clock was set back within the recording; cut it there", source=str(bag))
    if found.faults:
        raise LogError(found.faults[0].refusal, source=str(bag))
    for doubt in found.doubts:
        sys.stderr.write(f"sysid: warning: {bag}: {doubt.message}\n")
    t, q, qd, tau = (np.array([sample[k] for sample in samples]) for k in range(4))
    return JointSamples(robot.joint_names, t, q, qd, tau)
