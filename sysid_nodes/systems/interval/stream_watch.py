# SPDX-License-Identifier: Apache-2.0
"""Explains in one line why data are unusable, where the data are at fault and not the assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data import JointSamples
from sysid_nodes.results import Status
from sysid_nodes.robots import Robot
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.plausibility import (
    ALL_JOINTS,
    constant_signals,
    torque_against_gravity,
    velocity_against_position,
)
from sysid_nodes.signals.stream import Sample

# Samples kept, and of these how many gravity is computed for: a few milliseconds.
_MOST, _JUDGED = 4000, 500

# Names of foreign joints remembered; the limit keeps made-up names from filling the memory.
_MOST_NAMES = 200

# Joints that hold less than this share of the largest gravity torque are not judged: there a payload may be most of it.
_HEAVY = 0.25

_CONSISTENT = (Status.PROVEN, Status.NOT_EXCITED)


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
    """Keeps an evenly thinned part of a stream and judges it when asked: missing joints, dead signals, signs and units.

    Args:
        robot: the robot expected behind the stream, with a fixed base.
        body: index of the joint that carries the unknown body.
        guess: (10,) the body's parameters, roughly.
        memory: samples older than this against the newest may be forgotten [s].
    """

    def __init__(self, robot: Robot, body: int, guess: npt.NDArray[np.float64], memory: float = np.inf) -> None:
        self._robot = robot
        self._memory = memory
        self._model = robot.model.copy()
        if guess[0] > 0.0:
            self._model.inertias[body + 1] = pinocchio.Inertia(guess[0], guess[1:4] / guess[0], np.zeros((3, 3)))
        self._data = self._model.createData()
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self._kept: list[Sample] = []
        self._stride, self._seen = 1, 0
        self._foreign: set[str] = set()

    def accept(self, sample: Sample) -> None:
        """Takes a sample that the stream accepted."""
        if self._kept and sample.t <= self._kept[-1].t:
            self._kept.clear()  # the clock was set back; what follows is judged alone
        if self._seen % self._stride == 0:
            self._kept.append(sample)
            if len(self._kept) > _MOST:
                self._thin(sample.t)
        self._seen += 1

    def reject(self, names: Sequence[str]) -> None:
        """Takes the joint names of a message that the stream rejected."""
        if len(self._foreign) < _MOST_NAMES:
            self._foreign.update(names)

    def judge(self, status: Status) -> Judgement:
        """Judges the stream, given the identifier's status."""
        if not self._seen:
            return Judgement(self._missing_joints())
        if len(self._kept) < 2:
            return Judgement()
        samples = self._samples()
        if np.ptp(samples.q, axis=0).max() == 0.0 and np.ptp(samples.qd, axis=0).max() == 0.0:
            return self._judge_rest(status)
        dead = self._dead_signals(samples)
        doubts = [*velocity_against_position(samples), *self._doubts(samples)]
        certain = [item for item in doubts if item.subject == ALL_JOINTS or status not in _CONSISTENT]
        return Judgement((*dead, *certain), tuple(item for item in doubts if item not in certain))

    def _judge_rest(self, status: Status) -> Judgement:
        line = "no joint moves; a payload cannot be told from a robot at rest"
        found = (Finding("signal", ALL_JOINTS, self._kept[0].t, line),)
        if np.isinf(self._memory):
            return Judgement(faults=found)
        # Lately: that is a robot's right, and worth a word only while the body is not known.
        return Judgement() if status is Status.PROVEN else Judgement(doubts=found)

    def _thin(self, newest: float) -> None:
        self._kept = [sample for sample in self._kept if sample.t >= newest - self._memory]
        if len(self._kept) > _MOST // 2:
            self._kept = self._kept[::2]
            self._stride *= 2

    def _missing_joints(self) -> tuple[Finding, ...]:
        missing = [name for name in self._robot.joint_names if name not in self._foreign]
        if not self._foreign or not missing:
            return ()
        has = ", ".join(sorted(self._foreign))
        line = f"has no joint {', '.join(missing)} of robot '{self._robot.name}'; it has {has}"
        return (Finding("joints", ALL_JOINTS, np.nan, line),)

    def _samples(self) -> JointSamples:
        t, q, qd, tau = (np.array(column) for column in zip(*self._kept, strict=True))
        return JointSamples(self._robot.joint_names, t, q, qd, tau)

    def _dead_signals(self, samples: JointSamples) -> list[Finding]:
        """Constant signals, except the torque of a joint at rest, which may be constant."""
        rests = {name for k, name in enumerate(samples.names) if np.ptp(samples.q[:, k]) == 0.0}
        found = constant_signals(samples)
        return [item for item in found if not (item.subject in rests and item.message.startswith("effort"))]

    def _doubts(self, samples: JointSamples) -> list[Finding]:
        """Sign and unit of the torque, judged by gravity."""
        step = -(-len(samples) // _JUDGED)
        some = JointSamples(
            samples.names, *(column[::step] for column in (samples.t, samples.q, samples.qd, samples.tau))
        )
        gravity = np.array([pinocchio.computeGeneralizedGravity(self._model, self._data, q) for q in some.q])
        largest = float(np.sqrt(np.mean(gravity**2, axis=0)).max())
        return torque_against_gravity(some, gravity, significant=max(1.0, _HEAVY * largest))
