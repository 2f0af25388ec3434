# SPDX-License-Identifier: Apache-2.0
"""State of the robust controller, for its status and for /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, diagnostic_status
from sysid_nodes.sessions.diagnostic_keys import LARGEST_SHARE
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode

_USUAL = (StopReason.NONE, StopReason.PLAN_ENDED)


class ControllerReport:
    """Counts between two reports.

    Args:
        topic: of the joint states.
        age_watched: whether ages count from when joint states were true.
    """

    def __init__(self, name: str, topic: str, *, age_watched: bool) -> None:
        self._name, self._topic = name, topic
        self._ages = "watched" if age_watched else "not watched: that commands act within control.delay is assumed"
        self._last_command = 0.0
        self._period = self._age = self._longest = 0.0
        self._steps = self._commands = 0
        self._usage = self._worst = 0.0

    def note_command(self, begun: float, sent: float, age: float | None) -> None:
        """A command was sent, on the machine's clock: when its joint state arrived and when it went [s]."""
        if self._last_command:
            self._period = max(self._period, sent - self._last_command)
        self._last_command = sent
        latency = sent - begun if age is None else age + sent - begun
        self._age, self._longest = max(self._age, latency), max(self._longest, sent - begun)
        self._commands += 1

    def note_step(self, output: ControllerOutput) -> None:
        """An answer was given, with or without a command."""
        self._steps += 1
        if output.tracking is not None:
            self._usage = max(self._usage, output.tracking.usage)
            self._worst = max(self._worst, self._usage)

    def take_period(self) -> tuple[float, float]:
        """Longest time between two commands and largest age since the last call [s]."""
        found, self._period, self._age = (self._period, self._age), 0.0, 0.0
        return found

    def status(self, output: ControllerOutput, *, active: bool, bounds_silent: bool) -> DiagnosticStatus:
        """The controller since the last report."""
        values = {
            "mode": output.mode.name,
            "reason": output.reason.name,
            "trajectory": output.trajectory_id,
            "trajectory time [s]": f"{output.trajectory_time:.3f}",
            "refused": output.refused_id,
            "refused reason": output.refused_reason.name,
            "joint states": str(self._steps),
            "commands": str(self._commands),
            "ages of joint states": self._ages,
            "longest computation [s]": f"{self._longest:.6f}",
            "share of the proven errors": f"{self._usage:.4f}",
            LARGEST_SHARE: f"{self._worst:.4f}",
            "bounds": StopReason.BOUNDS_SILENT.name if bounds_silent else "",
        }
        level, message = self._judge(output, bounds_silent) if active else (OK, "inactive")
        self._steps = self._commands = 0
        self._longest = self._usage = 0.0
        return diagnostic_status(f"{self._name}: control", level, message, values, hardware=self._topic)

    def _judge(self, output: ControllerOutput, bounds_silent: bool) -> tuple[bytes, str]:
        if output.mode is Mode.STOPPED:
            return ERROR, f"stopped: {output.reason.message}"
        if output.reason not in _USUAL:
            return WARN, f"{output.mode.name}: {output.text}"
        if not self._steps:
            return WARN, f"no joint states on {self._topic}"
        if bounds_silent:
            return WARN, StopReason.BOUNDS_SILENT.message
        return OK, output.mode.name
