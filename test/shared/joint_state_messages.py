# SPDX-License-Identifier: Apache-2.0
"""Samples as a driver publishes them."""

from __future__ import annotations

from sensor_msgs.msg import JointState

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.ros.conversions import to_stamp


def messages(samples: JointSamples) -> list[JointState]:
    made = []
    for t, q, qd, tau in zip(samples.t, samples.q, samples.qd, samples.tau, strict=True):
        message = JointState(name=list(samples.names), position=q, velocity=qd, effort=tau)
        message.header.stamp = to_stamp(float(t))
        made.append(message)
    return made
