# SPDX-License-Identifier: Apache-2.0
"""Identification of one body, from messages to a run that can be reported; live node and replay both run it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from sysid_nodes.data.config import to_flat
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import moving_link
from sysid_nodes.sessions.interval.news import Subject, is_news
from sysid_nodes.sessions.interval.run import IntervalRun, TorqueSeries
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.plausibility import ALL_JOINTS
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.stream_watch import Judgement, StreamWatch


class IntervalSession:
    """Feeds joint states to the pipeline, passes results on only when they are news, and judges the data.

    Every method is for one thread.

    Args:
        robot: carries the body to identify.
        stated: names of the options that somebody stated; None: all.
        memory: how far back the data are judged [s].

    Attributes:
        subject: the identified body.
        received: messages taken since the start or the last reset.
        rejected: messages and samples not used so far, by reason; a new object each time, for any thread to read.
        judgement: last findings about the data; likewise.

    Raises:
        InputError: configuration and robot do not fit one another.
    """

    def __init__(
        self,
        robot: Robot,
        config: IntervalIdentifierConfig,
        *,
        stated: Collection[str] | None = None,
        memory: float = np.inf,
    ) -> None:
        self._pipeline = IntervalPipeline(robot, config, stated=stated)
        body = self._pipeline.body
        self.subject = Subject(robot.name, body, config.target, moving_link(robot, body), config.method)
        self._watch = StreamWatch(robot, config, memory)
        self._start()

    def _start(self) -> None:
        self._told = self._pipeline.result
        self._spent = 0.0
        self.received = 0
        self.rejected: Mapping[str, int] = {}
        self.judgement = Judgement()

    @property
    def result(self) -> IdentificationResult:
        """The present state of knowledge."""
        return self._pipeline.result

    def process(self, message: RawJointState) -> IdentificationResult | None:
        """Takes a joint state; returns a result when there is news: a tighter bound, another status or finding."""
        pipeline = self._pipeline
        self.received += 1
        self._watch.take(message)
        result = pipeline.push(message.names, message.stamp, message.position, message.velocity, message.effort)
        self.rejected = pipeline.samples_rejected
        if result is None:
            return None
        self._spent += result.solve_time
        if not is_news(result, self._told):
            return None
        self._told = result
        if result.status.speaks_against_assumptions:
            self.judge()
        return result

    def interrupt(self) -> None:
        """Messages may have been lost about here."""
        self._pipeline.interrupt()
        self.rejected = self._pipeline.samples_rejected

    def judge(self) -> Judgement:
        """Checks whether the data are at fault; takes some milliseconds."""
        found, doubt = self._watch.judge(self.result.status), self._pipeline.doubt
        doubts = [*found.doubts, *self._clock_findings()]
        if doubt is not None and self.result.status is not Status.INCONSISTENT:
            doubts.append(doubt)
        self.judgement = replace(found, doubts=tuple(doubts))
        return self.judgement

    def _clock_findings(self) -> Iterator[Finding]:
        """A line for each way in which the stamps started over."""
        for reason, times in self._pipeline.stream.restarts.items():
            line = f"the {reason} within the data (times: {times}); robot and load are taken for the same before"
            yield Finding("clock", ALL_JOINTS, self.result.t, line)

    def reset(self) -> IdentificationResult:
        """Forgets all data and returns the prior."""
        self._pipeline.reset()
        self._watch.reset()
        self._start()
        return self.result

    def reconfigure(self, config: IntervalIdentifierConfig) -> None:
        """Takes over the live options of a configuration; they hold from the next window on.

        Raises:
            ConfigError: an option that is not live differs, or the options do not fit the robot.
        """
        self._pipeline.reconfigure(config)

    def snapshot(self, source: str) -> IntervalRun:
        """The run so far, as if the stream ended here, though it may go on.

        Args:
            source: where the data came from, in words.
        """
        pipeline = self._pipeline
        final = pipeline.finish()
        return IntervalRun(
            robot=self.subject.robot,
            method=self.subject.method,
            body=self.subject.body,
            frame=self.subject.frame,
            joint_names=pipeline.robot.joint_names,
            history=(*(step for step in pipeline.history if step is not pipeline.result), final),
            assumptions=tuple(pipeline.assumptions()),
            config=to_flat(pipeline.config),
            source=source,
            calibration=pipeline.config.calibration,
            torques=_torques(pipeline),
            solve_time=self._spent,
            findings=self.judge().lines,
        )


def _torques(pipeline: IntervalPipeline) -> TorqueSeries | None:
    prediction = pipeline.prediction()
    if not prediction.t.size:
        return None
    names = pipeline.robot.joint_names
    return TorqueSeries(names, prediction.t, prediction.measured, prediction.predicted, prediction.radius)
