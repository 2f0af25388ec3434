# SPDX-License-Identifier: Apache-2.0
"""A driver in its own process: publishes the motion of kinova_motion as JointState, then waits for its end.

Usage: joint_state_driver.py COUNT RATE
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from sysid_nodes.robots import load_robot
from sysid_nodes.ros.conversions import to_stamp

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.kinova_motion import measure

DISCOVERY = 120.0
"""Longest wait for a listener [s]; reached only on failure."""


def main(count: int, rate: float) -> int:
    samples = measure(load_robot("kinova_gen3"), count, rate)
    messages = []
    for t, q, qd, tau in zip(samples.t, samples.q, samples.qd, samples.tau, strict=True):
        message = JointState(name=list(samples.names), position=q, velocity=qd, effort=tau)
        message.header.stamp = to_stamp(float(t))
        messages.append(message)
    rclpy.init()
    node = rclpy.create_node("joint_state_driver")
    publisher = node.create_publisher(JointState, "/joint_states", QoSProfile(depth=1000))
    deadline = time.monotonic() + DISCOVERY
    while not publisher.get_subscription_count():
        if time.monotonic() > deadline:
            return 3
        time.sleep(0.01)
    start = time.monotonic()
    for k, message in enumerate(messages):
        time.sleep(max(0.0, start + k / rate - time.monotonic()))
        publisher.publish(message)
    sys.stdout.write("sent\n")
    sys.stdout.flush()
    sys.stdin.read()  # a publisher that goes away takes what is not delivered with it
    node.destroy_node()
    rclpy.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
