# SPDX-License-Identifier: Apache-2.0
"""A posterior that follows the motion, live and the same on a recording: window after window, memory bounded.

Stamps alone decide where windows end and which readings are theirs, so that it does not matter when they arrive, as
long as the power meter is not later than joint states by more than the patience that was stated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes import __version__
from sysid_nodes.data import RawJointState
from sysid_nodes.data.digest import digest
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.results.bayesian import BayesianResult, BayesianStatus
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.sessions.bayesian.session import BayesianSession
from sysid_nodes.systems.bayesian import Grid, Knowledge, identify_further
from sysid_nodes.systems.bayesian.contacts import refuse_contacts
from sysid_nodes.systems.bayesian.mechanism import Mechanism, build_mechanism

_AGREE = 2
"""Windows in a row that have to agree for each that contradicted, before anything is claimed again: of readings that
are turned round some windows contradict and others do not."""


@dataclass(frozen=True)
class BayesianUpdate:
    """State of knowledge.

    Attributes:
        start, t: stamps of the newest window's first stage and of its end [s]; 0 before there is one.
        window: its number, from 0 on; -1 before there is one.
        used: windows that the posterior rests on.
        result: the posterior; None before there is one.
        fault: why the newest window was not used; empty where it was.
        config_id: digest of robot, configuration and software version.
    """

    start: float
    t: float
    window: int
    used: int
    result: BayesianResult | None
    fault: str
    robot: str
    config_id: str


class OnlineBayesian:
    """Readings in, posteriors out. Every method is for one thread.

    Args:
        robot: nominal, with a fixed base.

    Attributes:
        update: the newest.
        rejected: windows that were not used, by reason.

    Raises:
        ConfigError, RobotError: see BayesianSession.
    """

    def __init__(self, robot: Robot, config: BayesianSessionConfig) -> None:
        refuse_contacts(config.bayesian)
        self.robot, self.config = robot, config
        self._count = max(round(config.bayesian.online.window / config.bayesian.step), 1)
        self._of_windows = config.bayesian.of_windows
        self.reset()

    def reset(self) -> BayesianUpdate:
        """Forgets everything."""
        self._session = BayesianSession(self.robot, self.config)
        self._config_id = self._identify_config(build_mechanism(self.robot, self.config.bayesian, power=False))
        self._known: Knowledge | None = None
        self._against = self._agreed = 0
        self.rejected: Counter[str] = Counter()
        self.update = BayesianUpdate(0.0, 0.0, -1, 0, None, "", self.robot.name, self._config_id)
        self._start_over()
        return self.update

    def interrupt(self) -> None:
        """Messages may have been lost: no window reaches from before to after."""
        if self._session.newest_stamps[0] > -np.inf:
            self.rejected["messages lost"] += 1
        self._start_over()

    def take(self, state: RawJointState) -> BayesianUpdate | None:
        """A joint state; an update if it ends what a window waits for.

        Raises:
            LogError: a joint with a motor is missing, or has no position.
        """
        newest, _ = self._session.newest_stamps
        self._session.take(state)
        if state.stamp > newest + self.config.bayesian.online.gap > -np.inf:
            self.rejected["a gap in the joint states"] += 1
            self._session.begin_anew()
            self._start = state.stamp
        elif state.stamp < newest:
            self.rejected["stamps went back"] += 1
            self._start_over()
            self._session.take(state)
        if not np.isfinite(self._start):
            self._start = state.stamp
        return self._look()

    def take_power(self, stamp: float, voltage: float, current: float) -> None:
        """A reading of the power meter [V, A]."""
        self._session.take_power(stamp, voltage, current)
        online = self.config.bayesian.online
        self._session.forget(stamp - 2.0 * (online.window + online.patience), power_alone=True)  # if no states come

    def _start_over(self) -> None:
        self._session.forget(np.inf)  # files are not read again: they may have changed
        self._start = np.inf

    def _identify_config(self, own: Mechanism) -> str:
        config, robot = self.config, self.robot
        read = (own.closures.closures, "" if own.term is None else own.term.text)  # files that are only named
        said = (config.torque_factor, config.power, config.bayesian, read)
        return digest(__version__, robot.urdf, robot.joint_names, *said)

    def _doubt(self, result: BayesianResult) -> BayesianResult:
        """The newest window's result, nothing claimed while windows before it speak against what it agrees with."""
        if result.status is BayesianStatus.CONTRADICTED:
            self._against, self._agreed = self._against + 1, 0
        if not result.status.trusted or not self._against:
            return result
        self._agreed += 1
        if self._agreed >= _AGREE * self._against:
            self._against = 0
            return result
        said = (
            f"{self._against} contradicted what is known, {self._agreed} of {_AGREE * self._against} since then agree"
        )
        return replace(
            result, status=BayesianStatus.CONTRADICTED, findings=(f"of the windows, {said}", *result.findings)
        )

    def _look(self) -> BayesianUpdate | None:
        grid = Grid(self._start, self.config.bayesian.step, self._count)
        end = grid.start + (grid.count - 0.5) * grid.step
        joints, power = self._session.newest_stamps
        late = bool(self.config.power) and power < end and joints < end + self.config.bayesian.online.patience
        if joints < end or late:
            return None
        used, fault, kind, result = self.update.used, "", "", self.update.result
        try:
            result, known = identify_further(self._known, self._session.log(grid), self.robot, self._of_windows)
            if known is not None:
                self._known, used = known, used + 1
                self._config_id = self._identify_config(known.mechanism)
            else:
                fault = kind = result.status.message
            result = self._doubt(result)
        except (LogError, ExcitationError) as error:
            fault, kind = str(error), error.kind
        if fault:
            self.rejected[kind] += 1
        self._start = grid.start + grid.count * grid.step
        self._session.forget(end)
        number = self.update.window + 1
        self.update = BayesianUpdate(grid.start, end, number, used, result, fault, self.robot.name, self._config_id)
        return self.update
