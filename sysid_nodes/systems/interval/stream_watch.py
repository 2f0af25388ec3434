# SPDX-License-Identifier: Apache-2.0
"""Explains in one line why data are unusable, where the data are at fault and not the assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from sysid_nodes.data import JointSamples
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.results import Status
from sysid_nodes.robots import Robot, load_robot, robot_names
from sysid_nodes.signals.driver import DriverSignals
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.plausibility import ALL_JOINTS, constant_signals
from sysid_nodes.systems.interval.check.arm_check import SIGNAL_KINDS, check_arm
from sysid_nodes.systems.interval.check.signal_record import SignalRecord, Signals
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

# Names of foreign joints remembered; the limit keeps made-up names from filling the memory.
_MOST_NAMES = 200

_NAMED = 4
"""Joints that a line names at most."""


@dataclass(frozen=True)
class Judgement:
    """Faults and doubts of a stream.

    Attributes:
        faults: nothing can be concluded from data like this.
        doubts: suspicious, though the data fit the assumptions all the same.
    """

    faults: tuple[Finding, ...] = ()
    doubts: tuple[Finding, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All of it in words, the worst first."""
        return tuple(finding.message for finding in self.faults + self.doubts)


class StreamWatch:
    """Keeps an evenly thinned part of a stream and judges it when asked: missing joints, dead signals, and `check_arm`.

    Args:
        robot: the robot expected behind the stream, with a fixed base.
        config: how it is to be identified.
        memory: joint states older than this against the newest may be forgotten [s].
    """

    def __init__(self, robot: Robot, config: IntervalIdentifierConfig, memory: float = np.inf) -> None:
        self._robot, self._config, self._memory = robot, config, memory
        self._record = SignalRecord(robot.joint_names, DriverSignals(config.signals, robot.n), memory)
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self._record.reset()
        self._foreign: set[str] = set()

    def take(self, message: RawJointState) -> None:
        """Takes a joint state, whether it is used or not."""
        if not self._record.take(message) and len(self._foreign) < _MOST_NAMES:
            self._foreign.update(message.names)

    def judge(self, status: Status) -> Judgement:
        """Judges the stream, given the identifier's status."""
        if not self._record.seen:
            return Judgement(missing_joints(self._robot, self._foreign))
        signals = self._record.signals()
        if len(signals) < 2:
            return Judgement()
        if np.ptp(signals.q, axis=0).max() == 0.0 and np.ptp(signals.qd, axis=0).max() == 0.0:
            return self._judge_rest(status, float(signals.t[0]))
        faults = dead_signals(self._robot, signals)
        found = check_arm(self._robot, self._config, signals, thorough=False).findings
        faults += [finding for finding in found if finding.kind in SIGNAL_KINDS]
        return Judgement(tuple(faults), tuple(finding for finding in found if finding.kind not in SIGNAL_KINDS))

    def _judge_rest(self, status: Status, start: float) -> Judgement:
        line = "no joint moves; a payload cannot be told from a robot at rest"
        found = (Finding("signal", ALL_JOINTS, start, line),)
        if np.isinf(self._memory):
            return Judgement(faults=found)
        # Lately: that is a robot's right, and worth a word only while the body is not known.
        return Judgement() if status is Status.PROVEN else Judgement(doubts=found)


def missing_joints(robot: Robot, there: Iterable[str]) -> tuple[Finding, ...]:
    """The finding that a stream lacks joints of the robot, given the names that it has."""
    there = set(there)
    missing = [name for name in robot.joint_names if name not in there]
    if not there or not missing:
        return ()
    line = f"has no joint {_some(missing)} of robot '{robot.name}'; it has {_some(sorted(there))}"
    if others := _arms_with(frozenset(there)):
        line += f", as robot '{others[0]}' has"
    return (Finding("joints", ALL_JOINTS, np.nan, line),)


@cache
def _arms_with(there: frozenset[str]) -> tuple[str, ...]:
    """Names of the registered arms that have these joints, and perhaps others."""
    return tuple(name for name in robot_names(floating_base=False) if there >= set(load_robot(name).joint_names))


def _some(names: Sequence[str]) -> str:
    """So many of them that a line stays a line."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def dead_signals(robot: Robot, signals: Signals) -> list[Finding]:
    """Constant signals, except the torque of a joint at rest, which may be constant."""
    samples = JointSamples(robot.joint_names, signals.t, signals.q, signals.qd, signals.tau)
    rests = {name for k, name in enumerate(samples.names) if np.ptp(samples.q[:, k]) == 0.0}
    found = constant_signals(samples)
    return [item for item in found if not (item.subject in rests and item.message.startswith("effort"))]
