"""Says in one line why a whole log is unusable, where that is the log's fault and not the assumptions'."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data import JointSamples
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.logs import RawJointState
from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.robots import Robot
from sysid_nodes.signals.plausibility import Finding, constant_signals, torque_against_gravity
from sysid_nodes.signals.stream import JointStream

_MOST = 4000  # messages kept

# Joints that hold less than this share of the largest gravity torque are not judged: there a payload may be most of it.
_HEAVY = 0.25

_CONSISTENT = (Status.PROVEN, Status.NOT_EXCITED)


class LogCheck:
    """Keeps an evenly thinned part of a log while it is read, and judges it at the end.

    Args:
        robot: the robot that the log should be of, with a fixed base.
        body: index of the joint that carries the unknown body.
        guess: (10,) the body's parameters, roughly.
    """

    def __init__(self, robot: Robot, body: int, guess: npt.NDArray[np.float64]) -> None:
        self._robot = robot
        self._model = robot.model.copy()
        if guess[0] > 0.0:
            self._model.inertias[body + 1] = pinocchio.Inertia(guess[0], guess[1:4] / guess[0], np.zeros((3, 3)))
        self._kept: list[RawJointState] = []
        self._stride = 1
        self._seen = 0

    def watch(self, messages: Iterable[RawJointState]) -> Iterator[RawJointState]:
        """Passes the messages on."""
        for message in messages:
            if self._seen % self._stride == 0:
                self._kept.append(message)
                if len(self._kept) > _MOST:
                    self._kept = self._kept[::2]
                    self._stride *= 2
            self._seen += 1
            yield message

    def judge(self, result: IdentificationResult, source: str) -> list[str]:
        """Refuses a log that nothing can be learnt from.

        Returns:
            Doubts about the sign or unit of single joints, where the data fit the assumptions all the same.

        Raises:
            LogError: joints are missing, a signal never changes, or torque has the wrong sign or unit.
            ExcitationError: no window was complete, or the robot never moves.
        """
        rejected = sorted(result.samples_rejected.items(), key=lambda item: -item[1])
        reasons = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in rejected)
        samples = self._samples()
        doubts: list[Finding] = []
        if len(samples) > 1:
            if np.ptp(samples.q, axis=0).max() == 0.0 and np.ptp(samples.qd, axis=0).max() == 0.0:
                raise ExcitationError("no joint moves; a payload cannot be told from a robot at rest", source=source)
            for finding in self._stuck(samples):
                raise LogError(finding.message, source=source)
            doubts = self._doubts(samples)
            for finding in doubts:
                if finding.joint not in samples.names or result.status not in _CONSISTENT:
                    raise LogError(finding.message, source=source)
        if result.status is Status.WAITING:
            self._name_missing(source)
            why = f" (rejected: {reasons})" if reasons else ""
            raise ExcitationError(f"no window of data could be used out of {self._seen} messages{why}", source=source)
        return [finding.message for finding in doubts]

    def _name_missing(self, source: str) -> None:
        seen = {name for message in self._kept for name in message.names}
        if missing := [name for name in self._robot.joint_names if name not in seen]:
            has = ", ".join(sorted(seen)) or "none"
            raise LogError(
                f"has no joint {', '.join(missing)} of robot '{self._robot.name}'; it has {has}", source=source
            )

    def _samples(self) -> JointSamples:
        stream = JointStream(self._robot.joint_names, self._robot.wraps)
        pushed = (stream.push(m.names, m.stamp, m.position, m.velocity, m.effort) for m in self._kept)
        accepted = [sample for sample in pushed if sample is not None]
        # After a reset of the clock stamps may repeat; what follows it is judged alone.
        start = max((k for k in range(1, len(accepted)) if accepted[k].t <= accepted[k - 1].t), default=0)
        accepted = accepted[start:]
        n = self._robot.n
        q, qd, tau = (np.array([sample[k] for sample in accepted]).reshape(-1, n) for k in (1, 2, 3))
        return JointSamples(self._robot.joint_names, np.array([sample.t for sample in accepted]), q, qd, tau)

    def _stuck(self, samples: JointSamples) -> Iterator[Finding]:
        """Constant signals, but for the torque of a joint that does not move either: such a joint may rest."""
        rests = {name for k, name in enumerate(samples.names) if np.ptp(samples.q[:, k]) == 0.0}
        for finding in constant_signals(samples):
            if not (finding.joint in rests and finding.message.startswith("effort")):
                yield finding

    def _doubts(self, samples: JointSamples) -> list[Finding]:
        """What gravity says about the torque's sign and unit."""
        data = self._model.createData()
        gravity = np.array([pinocchio.computeGeneralizedGravity(self._model, data, q) for q in samples.q])
        largest = float(np.sqrt(np.mean(gravity**2, axis=0)).max())
        return torque_against_gravity(samples, gravity, significant=max(1.0, _HEAVY * largest))
