# SPDX-License-Identifier: Apache-2.0
"""The stream of an arm's joint states as its configuration says they read: for node, replay and calibration alike."""

from __future__ import annotations

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.driver import DriverSignals
from sysid_nodes.signals.stream import JointStream
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


def joint_stream(robot: Robot, config: IntervalIdentifierConfig) -> JointStream:
    """An empty stream.

    Raises:
        ConfigError: what is said of the signals does not fit the robot, or a delay goes with errors that are bounded
            one by one, at the stamps.
    """
    signals = DriverSignals(config.signals, robot.n)
    if signals.delay.any() and config.noise.model == "itemised":
        raise ConfigError("'signals.torque_delay' goes with noise.model window: what lies between stamps has no bound")
    return JointStream(robot.joint_names, robot.wraps, signals=signals, max_gap=config.window.max_gap, only_news=True)
