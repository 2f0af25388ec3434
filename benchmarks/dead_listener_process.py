# SPDX-License-Identifier: Apache-2.0
"""Driver and listener of benchmarks.dead_listener, each a process.

drive DEPTH SECONDS PERIOD PATIENCE     a line when both listeners are there, then [[when, how long], ...] [s]
listen RELIABILITY                      until it is killed
"""

from __future__ import annotations

import json
import sys
import time

import rclpy
from sensor_msgs.msg import JointState

from sysid_nodes.ros import qos

_TOPIC, _JOINTS = "joint_states", 7


def drive(depth: int, seconds: float, period: float, patience: float) -> None:
    """Publishes joint states and says how long each took."""
    publisher = rclpy.create_node("driver").create_publisher(JointState, _TOPIC, qos.stream("reliable", depth))
    deadline = time.monotonic() + patience
    while publisher.get_subscription_count() < 2:
        if time.monotonic() > deadline:
            return
        time.sleep(0.05)
    time.sleep(0.5)  # they have to know of the driver as well
    zeros = [0.0] * _JOINTS
    message = JointState(name=[f"joint_{k}" for k in range(_JOINTS)], position=zeros, velocity=zeros, effort=zeros)
    print("begins", flush=True)
    took, begun = list[tuple[float, float]](), time.perf_counter()
    due = begun
    while (now := time.perf_counter()) - begun < seconds:
        publisher.publish(message)
        took.append((now - begun, time.perf_counter() - now))
        due = max(due + period, now - 50.0 * period)  # not all that was missed is made up for
        time.sleep(max(0.0, due - time.perf_counter()))
    print(json.dumps(took))


def listen(reliability: str) -> None:
    """Takes what comes."""
    node = rclpy.create_node("listener")
    node.create_subscription(JointState, _TOPIC, lambda _: None, qos.stream(reliability, 1000))
    rclpy.spin(node)


if __name__ == "__main__":
    rclpy.init()
    role, *words = sys.argv[1:]
    drive(int(words[0]), *map(float, words[1:])) if role == "drive" else listen(words[0])
