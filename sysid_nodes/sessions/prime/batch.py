# SPDX-License-Identifier: Apache-2.0
"""Full-information estimation from messages: the same readings as live, the whole log at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.sensors import build_sensors, channel_specs
from sysid_nodes.sessions.prime.fall import FALLEN, find_fall, first_stages, later_stages
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.trust import Trust
from sysid_nodes.sessions.prime.update import PrimeUpdate
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.samples import AlignedSteps, join
from sysid_nodes.solvers.trajectory_least_squares.timer import Timer
from sysid_nodes.systems.prime import Knowledge, build_model, estimate_motion
from sysid_nodes.systems.prime.initialisation import first_seen

_LEAST = 3  # stages
_LOOK = 0.1  # between two looks at the streams' health [s]
_QUIET = 0.5  # after the first reading, when streams are not yet judged, and that a log has at least before a fall [s]


class Gatherer:
    """Takes the place of a moving horizon: keeps all steps, solves nothing.

    Attributes:
        stretches: connected steps.
    """

    def __init__(self) -> None:
        self.stretches: list[list[AlignedSteps]] = [[]]

    @property
    def knowledge(self) -> Knowledge:
        """None."""
        return Knowledge(np.zeros(0), None)

    def push(self, steps: AlignedSteps) -> None:
        """Appends steps."""
        self.stretches[-1].append(steps)

    def step(self, _: int, __: Timer) -> PrimeEstimate | None:
        """None."""
        return None

    def restart(self) -> None:
        """Begins another stretch."""
        if self.stretches[-1]:
            self.stretches.append([])

    def recall(self, _: Knowledge | None) -> None:
        """Begins another stretch."""
        self.restart()

    def longest_stretch(self) -> tuple[AlignedSteps, int]:
        """The longest stretch as one, and how many steps the others have; an empty one if there is nothing."""
        counts = [sum(map(len, stretch)) for stretch in self.stretches]
        best = int(np.argmax(counts))
        return join_steps(self.stretches[best]), sum(counts) - counts[best]


def join_steps(parts: Sequence[AlignedSteps]) -> AlignedSteps:
    """Consecutive steps as one."""
    if not parts:
        return AlignedSteps(0, 0, np.zeros(0), {})
    offsets = np.cumsum([0, *map(len, parts)])
    samples = {
        name: join(
            [part.samples[name].shift(int(by)) for part, by in zip(parts, offsets, strict=False)],
            first.values.shape[1],
        )
        for name, first in parts[0].samples.items()
    }
    return AlignedSteps(parts[0].segment, parts[0].first, np.concatenate([part.times for part in parts]), samples)


@dataclass
class StreamRecord:
    """Faults of the streams at any time of a log."""

    found: dict[tuple[str, str], Finding]
    _begun: float = math.nan
    _looked: float = -math.inf

    @classmethod
    def empty(cls) -> StreamRecord:
        """Nothing yet."""
        return cls({})

    def look(self, session: PrimeSession) -> None:
        """Looks at the session's streams if a look is due."""
        now = session.time
        if not math.isfinite(now):
            return
        if math.isnan(self._begun):
            self._begun = now
        if abs(now - self._looked) < _LOOK or now - self._begun < _QUIET:
            return
        self._looked = now
        for finding in session.look(now).findings:
            if finding.kind != FALLEN:  # a log ends before that
                self.found.setdefault((str(finding.kind), finding.subject), finding)


def solve_batch(
    session: PrimeSession,
    gathered: Gatherer,
    record: StreamRecord,
    *,
    clock: Callable[[], float] | None = None,
    progress: Callable[[Iteration], None] | None = None,
) -> tuple[PrimeUpdate, int]:
    """Full information over the longest connected stretch of what a session was given; the session then reports it.

    It begins where anything reads the base's motion, and ends where the robot falls. Returns the update and how many
    steps lie outside that stretch.

    Args:
        session: made with `gathered`, and fed.
        gathered: its steps.
        record: faults of the streams.
        clock: monotonic time [s], for the record of the solve time.
        progress: called after every iteration.

    Raises:
        ExcitationError: there are fewer than three steps, or fewer than half a second's before a fall.
    """
    steps, left = gathered.longest_stretch()
    unseen = first_seen(steps.samples, len(steps)) % max(len(steps), 1)  # where nothing is heard, all of it
    steps, left = later_stages(steps, unseen), left + unseen
    if len(steps) < _LEAST:
        raise ExcitationError(f"no motion could be estimated: the streams have only {len(steps)} steps in common")
    config, findings = session.config, [*record.found.values()]
    if (fall := find_fall(steps, config.prime.contact.normal)) is not None:
        finding = fall.describe(float(steps.times[0]))
        if fall.stages * config.prime.step < _QUIET:
            raise ExcitationError(f"no motion could be estimated: {finding.message}")
        findings.append(finding)
        steps, left = first_stages(steps, fall.stages), left + len(steps) - fall.stages
    model = build_model(session.robot, config.prime)
    estimate = estimate_motion(model, steps.times, steps.samples, clock=clock, progress=progress)
    specs = channel_specs(build_sensors(session.robot, config.prime.sensors), config.prime.sensors)
    trust = Trust(tuple(specs), replace(config.trust, lasting=0.0), config.streams.health.off_after)
    trust.note_used(steps)
    judgement = trust.judge(estimate, findings, "", float(steps.times[-1]))
    session.conclude(estimate, judgement)
    inner = range(1, len(estimate.t) - 1)
    return PrimeUpdate(estimate, inner, judgement, 0.0, float(estimate.t[-1]), session.frames), left
