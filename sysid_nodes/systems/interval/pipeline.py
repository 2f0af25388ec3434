# SPDX-License-Identifier: Apache-2.0
"""The interval identifier from messages to results; live node, replay, demo and benchmarks all run this.

    joint states -> stream -> windows -> momentum rows -> method -> result
                    by name,  0.1 s      with honest      bounds of the
                    unwrapped            error radii      ten parameters

Knows neither ROS nor files, and wall time only by the clock handed in.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.config import options, to_flat
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.results.identification import Contradiction, Estimate, IdentificationResult, Status
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.windows import INCOMPLETE, Windower, cut
from sysid_nodes.systems.interval.arm_stream import joint_stream
from sysid_nodes.systems.interval.assumptions import describe
from sysid_nodes.systems.interval.calibration_file import BAYESIAN, Calibration, load_calibration
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.doubts import Doubts
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.estimator import (
    LOAD_FRICTION,
    StatisticalEstimator,
    before_any_data,
    since_calibration,
)
from sysid_nodes.systems.interval.excitation import ExcitationMeter
from sysid_nodes.systems.interval.methods import build_method
from sysid_nodes.systems.interval.missing_samples import MISSING, MissingSamples
from sysid_nodes.systems.interval.momentum_rows import MomentumRows, select
from sysid_nodes.systems.interval.noise import Noise, unread_joints
from sysid_nodes.systems.interval.prediction import TorqueArchive, TorquePrediction
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.relaxation import calibrated_assumptions, unstated_assumptions
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.sample_count import SampleCount
from sysid_nodes.systems.interval.unknowns import Unknowns, identify_payload, prismatic_travel, stated_unknowns
from sysid_nodes.systems.interval.window_spans import WindowSpans

Array = npt.NDArray[np.float64]

_HISTORY = 4000
"""Results kept at most."""


class IntervalPipeline:
    """Identifies one body of one robot.

    Args:
        robot: the robot, with a fixed base.
        config: everything else.
        stated: names of the options that somebody stated, None: all; only these are blamed as stated.
        clock: source of wall time for solve times [s].

    Attributes:
        result: the latest result; before any window the prior with status WAITING.
        history: results that moved a bound or the status, thinned out to a bounded number.
        stream: counts of the messages accepted and rejected.

    Raises:
        ConfigError, RobotError, CalibrationError: configuration and robot do not fit together.
    """

    def __init__(
        self,
        robot: Robot,
        config: IntervalIdentifierConfig,
        *,
        stated: Collection[str] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.robot, self.config, self._clock = robot, config, clock
        self._stated = stated
        self._clash: tuple[Contradiction | None, Contradiction | None] = (None, None)
        self.chain = Chain.from_robot(robot)
        self.body_index = robot.body_index(config.body)
        self.body = config.body or robot.body
        self._reach = Reach(self.chain, prismatic_travel(robot))
        self.calibration: Calibration | None = load_calibration(config.calibration) if config.calibration else None
        self.unknowns = _unknowns(robot, self.body_index, config, self.calibration)
        self._configure(config)
        self.reset()

    def _configure(self, config: IntervalIdentifierConfig) -> None:
        noise = config.noise if self.calibration is None else self.calibration.noise(config.noise)
        self.noise = Noise.from_config(noise, self.robot.n, self.robot.encoder_step)
        found = self.calibration
        power = per_joint(config.known_robot.viscous_power, self.robot.n, "known_robot.viscous_power")
        self._builder = RowBuilder(
            self.chain,
            self._reach,
            self.noise,
            self.unknowns,
            power if found is None else found.viscous_power,
            None if found is None else found.transmitted,
            None if found is None else found.coupling,
        )

    def reset(self) -> None:
        """Forgets all data and starts over from the prior."""
        config = self.config
        self.stream = joint_stream(self.robot, config)
        self._windower = Windower(self.robot.joint_names, config.window.duration, config.window.max_gap)
        self._cut_rejected: Counter[str] = Counter()
        self._count = SampleCount()
        self._missing = MissingSamples()
        with_spans = self.noise.itemised and config.method == "set_membership"
        self._spans = WindowSpans(config.set_membership.spans if with_spans else 1)
        self._method = build_method(self.unknowns, config, self.calibration)
        self._meter = ExcitationMeter(config.prior.bounds)
        self._estimator = StatisticalEstimator(
            self.unknowns,
            self._belief(),
            stated=self.calibration is None,
            unread=unread_joints(self.robot, self.noise.torque_absolute),
        )
        self._archive = TorqueArchive(self.unknowns)
        self._doubts = Doubts(self.robot, self.chain, self.calibration)
        self._earlier_noise: list[tuple[float, Noise]] = []
        self.result = self._prior_result()
        self.history: list[IdentificationResult] = []

    def push(
        self,
        names: Sequence[str],
        stamp: float,
        position: Sequence[float] | Array,
        velocity: Sequence[float] | Array,
        effort: Sequence[float] | Array,
    ) -> IdentificationResult | None:
        """Takes one joint state message; returns a result when it completes a window."""
        sample = self.stream.push(names, stamp, position, velocity, effort)
        if sample is None:
            return None
        window = self._windower.push(sample.t, sample.q, sample.qd, sample.tau)
        if window is None:
            return None
        return self._process(window, np.array([[0, len(window) - 1]], dtype=np.intp))

    def interrupt(self) -> None:
        """Samples may have been lost about here: discards the window in progress, if its errors do not stand for it."""
        if np.isfinite(self.noise.longest_step):
            self.stream.interrupt()
            self._windower.interrupt(MISSING)

    def identify(self, samples: JointSamples) -> IdentificationResult:
        """Takes a whole block of samples in one step: the same windows as `push`, solved together.

        Raises:
            SamplesError: the samples' joints are not the robot's, in its order.
        """
        if samples.names != self.robot.joint_names:
            raise SamplesError(f"samples are of joints {', '.join(samples.names)}, in another order than the robot's")
        edges, rejected = cut(samples, self.config.window.duration, self.config.window.max_gap)
        self._cut_rejected.update(rejected)
        if not edges.size:
            self.result = replace(self.result, samples_rejected=self.samples_rejected)
            return self.result
        return self._process(samples, edges, thorough=True)

    def _process(
        self, samples: JointSamples, edges: npt.NDArray[np.intp], *, thorough: bool = False
    ) -> IdentificationResult:
        """From windows samples[first..last], (W, 2), to a result."""
        start, tightened, fitted = self._clock(), False, False
        ids, edges = self._count.accept(samples, edges, self._violations(samples, edges))
        if edges.size:
            joined, all_edges, before = self._spans.join(samples, edges)
            self._spans.keep(joined, all_edges)
            draft = self._builder.draft(joined, all_edges)
            about = self.result.nominal
            if self._method.contradiction is None:
                fitted = self._estimator.add(select(draft.rows, slice(before, None)), draft.windows.posture[before:])
                if thorough:  # a long step: its own estimate is better than the one before it
                    about = self._method.nominal(self._estimator)
            about = np.where(np.isfinite(about), about, self.config.prior.bounds.centre)
            rows, owner = self._builder.rows_over(draft, about, self._spans.lengths, before)
            single = select(rows, slice(0, len(edges)))
            if self._method.contradiction is None:
                self._measure_excitation(single)
            order = np.argsort(rows.t[:, 1], kind="stable")
            tightened = self._method.step(select(rows, order), ids[owner[order]], thorough)
            self._archive.add(single)
        if edges.size:
            self._doubts.weigh(samples, self._method, self._estimator if fitted else None)
        self._publish(float(samples.t[-1]), tightened, start)
        return self.result

    @property
    def doubt(self) -> Finding | None:
        """Why bounds that contradict nothing may miss the truth; None while nothing speaks for it."""
        return self._doubts.found

    def _violations(self, samples: JointSamples, edges: npt.NDArray[np.intp]) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Windows (W,) that contradict an assumption, by assumption."""
        return {
            **self._missing.violations(samples, edges, self.noise),
            **self._builder.violations(samples, edges),
        }

    def _measure_excitation(self, rows: MomentumRows) -> None:
        radius = rows.total_radius(self.config.prior.bounds).ravel()
        flat = rows.coefficients.reshape(radius.size, -1)
        self._meter.add(flat[:, self.unknowns.body_slice], radius)

    def finish(self) -> IdentificationResult:
        """The result if the stream ended here: the window in progress counted as incomplete, each assumption's cost.

        The stream may go on all the same.
        """
        rejected = dict(self.samples_rejected)
        if self._windower.pending:
            rejected[INCOMPLETE] = rejected.get(INCOMPLETE, 0) + self._windower.pending
        if self.result.status is Status.INCONSISTENT:
            return replace(self.result, samples_rejected=rejected)
        estimator = self._estimator.final()
        return replace(
            self.result,
            nominal=self._method.nominal(estimator),
            estimate=self._statistics(estimator, self._claimed(self.result.status)),
            costs={} if self.result.status is Status.UNWEIGHED else self._method.costs(),
            samples_rejected=rejected,
        )

    def _belief(self) -> Belief:
        """Statistical knowledge of the robot before any data of the body."""
        if self.calibration is not None:
            return since_calibration(self.calibration.belief, self.calibration.residual_rms)
        # Single readings are right to within that, friction included.
        stated = self.noise.torque_relative / np.sqrt(3.0)
        return before_any_data(self.unknowns, np.where(self.noise.itemised, stated, LOAD_FRICTION))

    def _statistics(self, estimator: StatisticalEstimator, bounds: Bounds) -> Estimate | None:
        return estimator.estimate(bounds) if self._method.certified and self._count.used else None

    def _claimed(self, status: Status) -> Bounds:
        """The method's bounds; the prior while too little was weighed for them to be relied on."""
        return self.config.prior.bounds if status is Status.UNWEIGHED else self._method.bounds

    def reconfigure(self, config: IntervalIdentifierConfig) -> None:
        """Changes live options; new noise bounds hold for the windows to come, and `assumptions` names the old.

        Raises:
            ConfigError: an option that is not live differs.
        """
        live = {item.name for item in options(IntervalIdentifierConfig) if item.live}
        old, new = to_flat(self.config), to_flat(config)
        if fixed := sorted(name for name in old if old[name] != new[name] and name not in live):
            raise ConfigError(f"'{fixed[0]}' cannot change while the identifier runs")
        before = self.noise
        self._spans.forget()
        self._configure(config)
        self.config = config
        if self._count.used:
            self._earlier_noise.append((self.result.t, before))
        self._method.reconfigure(config)

    @property
    def samples_rejected(self) -> Mapping[str, int]:
        """Messages and samples that were not used, by reason."""
        total: Counter[str] = Counter()
        for rejected in (self.stream.rejected, self._windower.rejected, self._cut_rejected, self._count.rejected):
            total.update(rejected)
        return dict(total)

    def assumptions(self) -> list[str]:
        """The assumptions that the bounds rest on, one sentence each."""
        shared = describe(self.config, self.noise, self.calibration, self._earlier_noise)
        return [*shared, *self._method.assumptions]

    def prediction(self) -> TorquePrediction:
        """Measured and predicted mean torque of the windows kept for the report.

        After a contradiction with the last estimate before it, which shows where the data left it.
        """
        estimates = (step.nominal for step in reversed(self.history) if step.status is not Status.INCONSISTENT)
        consistent = self._method.contradiction is None
        nominal = self.result.nominal if consistent else next(estimates, self.result.nominal)
        return self._archive.predict(self._estimator.final().parameters, nominal)

    def _publish(self, t: float, tightened: bool, start: float) -> None:
        """Makes the method's bounds the result, and part of the history if they are news."""
        excitation = self._meter.measure()
        status = self._status(blind=bool(excitation.blind))
        tightened = tightened and status is not Status.UNWEIGHED
        if status is Status.INCONSISTENT:
            nominal = lower = upper = np.full(10, np.nan)
            estimate = None
        else:
            bounds = self._claimed(status)
            lower, upper = bounds.lower, bounds.upper
            nominal = self._method.nominal(self._estimator)
            estimate = self._statistics(self._estimator, bounds)
        is_news = tightened or status is not self.result.status
        self.result = IdentificationResult(
            status=status,
            t=t,
            nominal=nominal,
            lower=lower,
            upper=upper,
            excitation=excitation,
            window=self._count.windows - 1,
            samples_used=self._count.used,
            samples_rejected=self.samples_rejected,
            solve_time=self._clock() - start,
            tightened=tightened,
            contradiction=self._contradiction(),
            estimate=estimate,
        )
        if is_news:
            self._remember(self.result)

    def _contradiction(self) -> Contradiction | None:
        """The method's, with what nobody stated, or a calibration did, marked; the same object while it is the same."""
        found = self._method.contradiction
        if found is not self._clash[0]:
            marked = found
            if found is not None:
                names = found.factors
                stated = to_flat(self.config) if self._stated is None else self._stated
                unstated = unstated_assumptions(self.config, stated, names)
                marked = replace(found, unstated=unstated, calibrated=calibrated_assumptions(self.config, names))
            self._clash = (found, marked)
        return self._clash[1]

    def _prior_result(self) -> IdentificationResult:
        prior = self.config.prior.bounds
        return IdentificationResult(
            status=Status.WAITING,
            t=float("nan"),
            nominal=prior.centre,
            lower=prior.lower,
            upper=prior.upper,
            excitation=self._meter.measure(),
            window=-1,
            samples_used=0,
            samples_rejected={},
            solve_time=0.0,
            tightened=False,
        )

    def _status(self, *, blind: bool) -> Status:
        if self._method.contradiction is not None:
            return Status.INCONSISTENT
        if not self._count.used:
            return Status.WAITING
        probable = self.calibration is not None and self.calibration.method == BAYESIAN
        if probable or not self._method.certified:
            return Status.ESTIMATED
        if self.doubt is not None:
            return Status.DOUBTFUL
        if self.calibration is not None and self._count.accepted < self.config.weigh_first:
            return Status.UNWEIGHED
        return Status.NOT_EXCITED if blind else Status.PROVEN

    def _remember(self, result: IdentificationResult) -> None:
        self.history.append(result)
        if len(self.history) > _HISTORY:
            # Every second of the older half: plots keep their shape, memory stays bounded.
            half = len(self.history) // 2
            self.history = self.history[:half:2] + self.history[half:]


def _unknowns(robot: Robot, body: int, config: IntervalIdentifierConfig, calibration: Calibration | None) -> Unknowns:
    if calibration is not None:
        calibration.check(robot, config.window.duration, config.noise.model)
        if config.target != "payload":
            raise ConfigError("a calibrated robot includes its own last link; set target to payload")
        return identify_payload(robot.n, body, calibration.centre, calibration.radius, config.prior.bounds)
    return stated_unknowns(robot, config)
