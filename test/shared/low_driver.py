# SPDX-License-Identifier: Apache-2.0
"""A process that plays a simulated leg's run as Unitree's robot does: LowCmd and LowState, without stamps.

    python -m shared.low_driver

Both count from when they come, so it goes on in real time; it begins when both topics are heard.
"""

from __future__ import annotations

import time

import rclpy
from shared.actuator_session import run
from unitree_go.msg import LowCmd, LowState

from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos

_GAINS = (20.0, 1.0)


PATIENCE = 300.0
"""Longest wait for listeners [s]."""


def main() -> None:
    motors = [load_robot("go2").motor_order.index(name) for name in run().robot.joint_names]
    rclpy.init()
    node = rclpy.create_node("low_driver")
    profile = qos.stream("reliable", 5000)
    commands, states = (
        node.create_publisher(kind, topic, profile) for kind, topic in ((LowCmd, "lowcmd"), (LowState, "lowstate"))
    )
    limit = time.monotonic() + PATIENCE
    while not (commands.get_subscription_count() and states.get_subscription_count()):
        if time.monotonic() > limit:
            raise TimeoutError(f"nobody listens to lowcmd and lowstate, after {PATIENCE:g} s")
        rclpy.spin_once(node, timeout_sec=0.1)
    began = time.monotonic()
    for t, is_command, q in run().samples():
        time.sleep(max(began + t - time.monotonic(), 0.0))
        if is_command:
            command = LowCmd()
            for motor, angle in zip(motors, q, strict=True):
                told = command.motor_cmd[motor]
                told.q, (told.kp, told.kd) = float(angle), _GAINS
            commands.publish(command)
        else:
            state = LowState(tick=round(1e3 * t))
            for motor, angle in zip(motors, q, strict=True):
                state.motor_state[motor].q = float(angle)
            states.publish(state)
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    main()
