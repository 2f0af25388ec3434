"""One identification of one body: the pipeline, what it found so far, and how the stream behaves. No ROS in here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sysid_nodes.data.config import to_flat
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.identifiers.pipeline import IntervalPipeline
from sysid_nodes.reports.bounds_message import Subject, is_news, moving_link
from sysid_nodes.reports.run import IdentificationRun
from sysid_nodes.results import IdentificationResult
from sysid_nodes.robots.robot import Robot


class Measurement(NamedTuple):
    """A joint state as it arrived: stamp [s]; position, velocity and effort in the order of names."""

    names: Sequence[str]
    stamp: float
    position: Sequence[float]
    velocity: Sequence[float]
    effort: Sequence[float]


class Pace:
    """Steps between sensor stamps since the last look.

    Attributes:
        steps: stamps that lie after their predecessor.
        span: time those steps cover [s].
        longest: longest of them [s].
    """

    def __init__(self, last: float | None = None) -> None:
        self.last = last
        self.steps = 0
        self.span = 0.0
        self.longest = 0.0

    def add(self, stamp: float) -> None:
        if self.last is not None and stamp > self.last:
            self.steps += 1
            self.span += stamp - self.last
            self.longest = max(self.longest, stamp - self.last)
        self.last = stamp

    @property
    def rate(self) -> float:
        """Mean rate by the sensor's clock [Hz]; 0 without a step."""
        return self.steps / self.span if self.span > 0.0 else 0.0


class Session:
    """Feeds measurements to the pipeline and tells news from repetition.

    Every method is for one thread, but for take_pace, which only swaps references.

    Attributes:
        subject: what is identified.
        rejected: messages and samples not used so far, by reason; a new object each time, for any thread to read.

    Raises:
        InputError: configuration and robot do not fit one another.
    """

    def __init__(self, robot: Robot, config: IntervalIdentifierConfig) -> None:
        self._pipeline = IntervalPipeline(robot, config)
        body = self._pipeline.body
        self.subject = Subject(robot.name, body, config.target, moving_link(robot, body), config.method)
        self._told = self._pipeline.result
        self._pace = Pace()
        self.rejected: Mapping[str, int] = {}

    @property
    def result(self) -> IdentificationResult:
        """The present state of knowledge."""
        return self._pipeline.result

    def process(self, measurement: Measurement) -> IdentificationResult | None:
        """Takes a measurement; returns a result when there is news: a tighter bound, another status or finding."""
        self._pace.add(measurement.stamp)
        result = self._pipeline.push(*measurement)
        self.rejected = self._pipeline.samples_rejected
        if result is None or not is_news(result, self._told):
            return None
        self._told = result
        return result

    def reset(self) -> IdentificationResult:
        """Forgets all data and returns the prior."""
        self._pipeline.reset()
        self.rejected = {}
        self._told = self._pipeline.result
        return self._told

    def reconfigure(self, config: IntervalIdentifierConfig) -> None:
        """Takes over the live options of a configuration; they hold from the next window on.

        Raises:
            ConfigError: an option that is not live differs, or the options do not fit the robot.
        """
        self._pipeline.reconfigure(config)

    def take_pace(self) -> Pace:
        """The pace since the last call."""
        pace, self._pace = self._pace, Pace(self._pace.last)
        return pace

    def run(self, source: str) -> IdentificationRun:
        """All that was found, for a result file; source says where the data came from."""
        pipeline = self._pipeline
        steps = [step for step in pipeline.history if step is not pipeline.result]
        return IdentificationRun(
            robot=self.subject.robot,
            method=self.subject.method,
            body=self.subject.body,
            frame=self.subject.frame,
            history=(*steps, pipeline.result),
            assumptions=tuple(pipeline.assumptions()),
            config=to_flat(pipeline.config),
            source=source,
            calibration=pipeline.config.calibration,
        )
