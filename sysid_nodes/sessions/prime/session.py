# SPDX-License-Identifier: Apache-2.0
"""PRIME from messages to published updates; live node and replay both run it."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import to_flat
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.readings import Readings
from sysid_nodes.models.floating_base import require_feet
from sysid_nodes.results.prime import EstimateStatus, PrimeEstimate
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import Robot, load_robot, with_contacts, with_motor
from sysid_nodes.sensors import build_sensors, channel_specs
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.fall import FallWatch, with_constants_of
from sysid_nodes.sessions.prime.horizon import Horizon
from sysid_nodes.sessions.prime.memory import PrimeMemory
from sysid_nodes.sessions.prime.streams import PrimeStreams
from sysid_nodes.sessions.prime.stretches import Stretch, extend_stretches, status_of_whole
from sysid_nodes.sessions.prime.trust import CONSISTENCY, PrimeJudgement, Trust
from sysid_nodes.sessions.prime.update import Frames, ParameterStep, PrimeUpdate
from sysid_nodes.signals.pacing import Pacer
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer

Array = npt.NDArray[np.float64]

_LOOK = 0.1
"""Time between two looks at the streams' health [s]; a look takes milliseconds."""

_HISTORY = 0.5
"""Time between two entries of the history of parameters [s]."""

_BEFORE = 0.8
"""Time between two estimates that are kept for a fall [s]: longer than one takes from its beginning until it shows."""

_MOST_HISTORY = 2000
"""Entries; every other one goes when there are more, and their distance doubles: memory stays flat."""


def prime_robot(config: PrimeSessionConfig) -> Robot:
    """The robot that a configuration names, with its contact points.

    Raises:
        RobotError: it is unknown, has a fixed base or no contact points, or its description is unusable.
        ConfigError: there are not as many constants of motors as joints.
    """
    loaded = load_robot(config.robot, urdf=config.urdf, floating_base=config.floating_base)
    robot = with_motor(loaded, config.motor)
    specs = config.contacts.specs()
    robot = with_contacts(robot, specs) if specs else robot
    require_feet(robot)
    return robot


class PrimeSession:
    """Feeds readings to the estimator, at the pace that the machine allows, and judges its estimates.

    An estimate that is later than `pacing.max_lag` once solved is not published: the motion is lost meanwhile.

    Every method is for one thread. The same readings in the same order give the same estimates as long as the machine
    keeps up; when it does not, the judgement says so.

    Args:
        robot: with contact points.
        make: builds the estimator.
        clock: monotonic wall time [s].

    Attributes:
        judgement: of the newest estimate.
        pacer: decides what a slow machine does.
        received: messages taken.
        solves: solves made.
        skipped: steps not used because the machine was too slow.
        unusable: messages not used, by reason.
        history: inertial parameters over time, thinned so that it stays short.
        stretches: what the estimates were worth over time.
        waited: how long ago the next reading arrived, set by the caller [s]; counts as lag.
        newest: time that the sensors have reached, as far as known [s].
    """

    def __init__(
        self,
        robot: Robot,
        config: PrimeSessionConfig,
        make: Callable[[], Horizon],
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.robot, self.config = robot, config
        self._make, self._clock = make, clock
        self._order = JointOrder(robot.joint_names)
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        config = self.config
        sensors = build_sensors(self.robot, config.prime.sensors)
        specs = channel_specs(sensors, config.prime.sensors)
        dt = config.prime.step
        self._streams = PrimeStreams(specs, config)
        self._aligner = self._streams.aligner
        self._horizon = self._make()
        self._trust = Trust(tuple(specs), config.trust, config.streams.health.off_after, config.horizon.memory)
        self._fall = FallWatch(config.prime.contact.normal, config.trust.held)
        self.pacer = Pacer(config.pacing, config.horizon.window, dt)
        self._segment, self._due, self._looked = 0, 0, -math.inf
        self._step = self._published = -math.inf
        self._usual = False
        self._memory = PrimeMemory()
        self._estimate: PrimeEstimate | None = None
        self._believed: deque[PrimeEstimate] = deque(maxlen=2)  # of late, the older from before a fall shows
        self.judgement = PrimeJudgement()
        self.received = self.solves = self.skipped = 0
        self.unusable: Counter[str] = Counter()
        self.history: list[ParameterStep] = []
        self._history_step = _HISTORY
        self.stretches: list[Stretch] = []
        self.waited, self.newest, self._heard = 0.0, -math.inf, -math.inf
        self._pose_frame = ""

    @property
    def frames(self) -> Frames:
        """Frames of the estimate: as configured, or else as the poses say."""
        return Frames(self.config.world_frame or self._pose_frame or Frames.world, self.config.frame_prefix)

    @property
    def whole_status(self) -> PrimeStatus:
        """Status of all of it, not only of its end."""
        return status_of_whole(self.stretches, self.judgement.status)

    @property
    def estimate(self) -> PrimeEstimate | None:
        """The newest."""
        return self._estimate

    @property
    def time(self) -> float:
        """The streams' common clock [s]."""
        return self._aligner.now

    @property
    def rejected(self) -> dict[str, dict[str, int]]:
        """Readings of each stream that were not taken, by reason."""
        return self._aligner.rejected

    def take(self, readings: Readings) -> PrimeUpdate | None:
        """Takes the readings of a message; an update if a solve was due."""
        names, columns = readings.joints, None
        if names is not None:
            columns = self._order.columns(names)
            if columns is None:
                self.received += 1
                self.unusable[
                    "a joint is missing" if self._order.first_missing(names) else "a joint is there twice"
                ] += 1
                return None
        if readings.frame and readings.frame != self._pose_frame:
            if self._pose_frame:
                self.received += 1
                self.unusable["its pose is in another frame than those before"] += 1
                return None
            self._pose_frame = readings.frame
        for stream, value in readings.values.items():
            if names is None:
                self._aligner.push(stream, readings.stamp, value)
            elif len(value) == len(names):
                self._aligner.push(stream, readings.stamp, np.asarray(value, dtype=np.float64)[columns])
            elif len(value):
                self.unusable["as many values as names are needed"] += 1
        return self._advance(readings.stamp)

    def look(self, now: float) -> PrimeJudgement:
        """Judges streams and estimate at a time at which no reading arrived.

        Args:
            now: present time in the stamps' clock [s].
        """
        self._streams.look(max(now, self.time))
        self.judgement = self._judge(max(now, self.time))
        return self.judgement

    def settings(self) -> dict[str, object]:
        """All options by name."""
        return to_flat(self.config)

    def conclude(self, estimate: PrimeEstimate, judgement: PrimeJudgement) -> None:
        """Takes an estimate of everything, made elsewhere from the steps of this session, as the newest."""
        self._estimate, self.judgement, self.solves = estimate, judgement, 1
        self.stretches = []
        for end in (0, -1):
            extend_stretches(self.stretches, judgement, float(estimate.t[end]))
        self._remember(estimate)

    def _advance(self, stamp: float) -> PrimeUpdate | None:
        """Hands closed steps on; an update if a solve was due."""
        self.received += 1
        if abs(stamp - self.time) <= self.config.streams.max_pause:  # a stamp of another clock says nothing about lag
            # Not the latest of both together: a reading that waited long tells little of a clock that is slow.
            self._heard = max(self._heard, stamp)
            self.newest = self._heard + self.waited
        update = None
        for steps in self._aligner.take():
            update = self._take(steps) or update
        return update

    def _take(self, steps: AlignedSteps) -> PrimeUpdate | None:
        end = float(steps.times[-1])
        if steps.segment != self._segment:
            self._segment = steps.segment
            self._streams.restart()
            self._fall.restart()
            self._restart()
            self.newest = self._heard = end  # the clock may have gone back
            self._published = -math.inf
        self._step = end
        self._streams.watch(steps)
        if abs(self.time - self._looked) >= _LOOK:
            self._looked = self.time
            self._streams.look()
        behind = self.newest - end
        # After a skip the motion begins anew: how long the last solve took says nothing of that one.
        if self.pacer.watch(behind, ahead=self._usual):
            self.skipped += len(steps)
            self._restart()
            self.judgement = self._judge(end)
            return None
        used = self._streams.drop_stuck_streams(steps)
        self._trust.note_used(used)
        self._fall.take(used)
        self._horizon.push(used)
        self._due += len(used)
        hop, config = self.pacer.pace.hop, self.config
        # Steps that wait already go into the same solve: one that is out of date before it begins helps nobody.
        wait = behind - config.streams.wait > (hop + 1) * config.prime.step and self._due < config.pacing.most_hop
        return None if self._due < hop or wait else self._solve()

    def _restart(self) -> None:
        self._horizon.restart()
        self._due, self._usual = 0, False

    def _solve(self) -> PrimeUpdate | None:
        steps, self._due = self._due, 0
        spare = Timer(self._clock, self.pacer.spare(self.newest - self._step))
        estimate = self._horizon.step(self.pacer.pace.window, spare)
        spent = spare.elapsed()
        if estimate is None:
            return None
        self.solves += 1
        if self._fall.fall is not None and self._believed:
            estimate = with_constants_of(estimate, self._believed[0])
        self._estimate = estimate
        lag = max(self.newest + spent - float(estimate.t[-1]), 0.0)
        self.pacer.note_solve(self.newest, spent, lag, usual=self._usual, steps=steps, cut=spare.stopped)
        self._usual = True
        self.judgement = judgement = self._judge(self._step)
        if late := self.pacer.late:  # of the motion alone: what it tells of the constants is kept
            self.judgement = replace(judgement, status=PrimeStatus.LOST)
        if judgement.status.trusted:
            self._believe(estimate)
        extend_stretches(self.stretches, judgement, float(estimate.t[-1]))
        trusted = judgement.status.trusted or judgement.spares_constants
        failed = estimate.status is EstimateStatus.FAILED
        if self._memory.note(float(estimate.t[-1]), self._horizon, trusted=trusted, failed=failed):
            self._due, self._usual = 0, False
            self._trust.forget_constants()
        self._remember(estimate)
        last = max(len(estimate.t) - 1 - self.config.published, 1)
        dt = self.config.prime.step
        first = min(max(int(np.searchsorted(estimate.t, self._published + 0.5 * dt)), 1), last)
        self._published = float(estimate.t[last])
        if late:
            return None
        return PrimeUpdate(estimate, range(first, last + 1), self.judgement, lag, self.newest, self.frames)

    def _believe(self, estimate: PrimeEstimate) -> None:
        """Keeps an estimate now and then: one of before a fall shows is not touched by it yet."""
        t = float(estimate.t[-1])
        if not self._believed or abs(t - float(self._believed[-1].t[-1])) >= _BEFORE:
            self._believed.append(estimate)

    def _judge(self, now: float) -> PrimeJudgement:
        fallen = self._fall.finding(now)
        findings = self._streams.findings if fallen is None else (fallen, *self._streams.findings)
        judgement = self._trust.judge(self._estimate, findings, self.pacer.finding, now)
        if any(finding.kind == CONSISTENCY for finding in judgement.findings):
            self._fall.restart()
        return judgement

    def _remember(self, estimate: PrimeEstimate) -> None:
        t = float(estimate.t[-1])
        if self.history and abs(t - self.history[-1].t) < self._history_step:
            return
        values = np.array([body.parameters for body in estimate.bodies]).reshape(-1, 10)
        variance = np.array([np.diag(body.covariance) for body in estimate.bodies]).reshape(-1, 10)
        self.history.append(ParameterStep(t, values, np.sqrt(self.judgement.inflation * variance)))
        if len(self.history) > _MOST_HISTORY:
            self.history, self._history_step = self.history[::2], 2.0 * self._history_step
