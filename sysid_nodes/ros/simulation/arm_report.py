# SPDX-License-Identifier: Apache-2.0
"""Diagnostics of a simulated arm: the truth that no controller may see, for people and demos."""

from __future__ import annotations

import time

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.robots import Robot
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, diagnostic_status
from sysid_nodes.sessions.diagnostic_keys import (
    AT_REST,
    CLEARANCE,
    CLOSEST_JOINT,
    CLOSEST_OBSTACLE,
    REAL_TIME_FACTOR,
    STATE,
)
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm
from sysid_nodes.simulation.arm.true_clearance import TrueClearance

_SLOW = 0.95
"""Of real time; slower is worth a warning."""


class ArmReport:
    """Sums a run up.

    Args:
        robot: with its limits.
        clearance: true distances.

    Attributes:
        late: commands that were not taken because they answered too old a joint state.
    """

    def __init__(self, name: str, robot: Robot, clearance: TrueClearance) -> None:
        self._name, self._robot = name, robot
        self.clearance, self.late = clearance, 0
        self._torque, self._speed = np.zeros(robot.n), np.zeros(robot.n)
        self._saturated = 0
        self._ticks = 0
        self._longest_wait = self._waited = 0.0
        self._last: tuple[float, float] = (time.perf_counter(), 0.0)

    def tick(self, arm: SimulatedArm) -> None:
        """Takes the arm's state after a tick."""
        np.maximum(self._torque, np.abs(arm.torque), out=self._torque)
        np.maximum(self._speed, np.abs(arm.qd), out=self._speed)
        self._saturated += bool(arm.saturated.any())
        self._ticks += 1
        self.clearance.measure(arm.now, arm.q)

    def note_wait(self, duration: float) -> None:
        """Takes the time that an answer took [s]."""
        self._longest_wait = max(self._longest_wait, duration)
        self._waited += duration

    def status(self, arm: SimulatedArm) -> DiagnosticStatus:
        """The robot since the last report and since the start; distances and torques are of all the time."""
        now = time.perf_counter()
        elapsed, passed = now - self._last[0], arm.now - self._last[1]
        factor = passed / elapsed if elapsed > 0.0 else 0.0
        self._last = (now, arm.now)
        stop = arm.stop
        state = "stopped" if stop is not None else "commanded" if arm.commanded else "holding"
        closest = self.clearance
        values = {
            STATE: state,
            "protective stop": stop.reason if stop is not None else "",
            AT_REST: str(bool((np.abs(arm.qd) < 1e-3).all())),
            "stop travel [rad]": f"{stop.travel.max():.6f}" if stop is not None else "0",
            "time [s]": f"{arm.now:.3f}",
            REAL_TIME_FACTOR: f"{factor:.3f}",
            "longest answer [s]": f"{self._longest_wait:.6f}",
            "mean answer [s]": f"{self._waited / max(self._ticks, 1):.6f}",
            "commands too late": str(self.late),
            "saturated ticks": str(self._saturated),
            "largest torque [N m]": _numbers(self._torque),
            "torque limit [N m]": _numbers(self._robot.limits.torque),
            "largest speed [rad/s]": _numbers(self._speed),
            CLEARANCE: f"{closest.obstacle.distance:.6f}",
            CLOSEST_JOINT: closest.obstacle.joint,
            CLOSEST_OBSTACLE: closest.obstacle.second,
            "clearance to itself [m]": f"{closest.itself.distance:.6f}",
            "closest to itself": f"{closest.itself.first}, {closest.itself.second}",
        }
        self._longest_wait, self._waited, self._ticks = 0.0, 0.0, 0
        touched = min(closest.obstacle.distance, closest.itself.distance) <= 0.0
        level, message = OK, state
        if touched:
            level, message = ERROR, f"{state}; it has touched something"
        elif stop is not None:
            level, message = ERROR, f"protective stop: {stop.reason}"
        elif factor < _SLOW:
            level, message = WARN, f"{state}, slower than real time"
        return diagnostic_status(f"{self._name}: robot", level, message, values, hardware="simulation")


def _numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.4g}" for value in values)
