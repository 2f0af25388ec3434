# SPDX-License-Identifier: Apache-2.0
"""A planning on a thread of its own: its steps, what it has to say about them, and its state for diagnostics."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping

from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.certified.replanner import Replanner
from sysid_nodes.sessions.certified.state import Planned, Seen
from sysid_nodes.sessions.diagnostic_keys import LAST_OUTCOME, PHASE, TIMED_OUT, UNCERTIFIED
from sysid_nodes.sessions.live_session import Level, SessionReport
from sysid_nodes.sessions.worker import Worker


class LivePlanning:
    """Methods are for the executor's thread and do not wait for a step that is under way.

    Args:
        planning: makes the steps.
        replanner: says when one is due.
        publish: called on the worker's thread with every plan.
        journal: called on the worker's thread with one line for each event.
        is_wanted: whether anybody still listens; the end of a node is no event.
    """

    def __init__(
        self,
        planning: Planning,
        replanner: Replanner,
        *,
        publish: Callable[[Planned], None],
        journal: Callable[[Level, str], None],
        is_wanted: Callable[[], bool],
    ) -> None:
        self._planning, self._replanner = planning, replanner
        self._publish, self._journal, self._is_wanted = publish, journal, is_wanted
        self._busy, self._broken = False, ""
        self._phase, self._failed, self._dropped = Phase.EXCITE, False, 0
        self._worker: Worker[tuple[Seen, Array | None]] = Worker(self._step, capacity=1)

    def due(self) -> Seen | None:
        """The controller's last status where a step is due and none is under way; else None."""
        return None if self._busy else self._replanner.due()

    def begin(self, seen: Seen, posture: Array | None) -> None:
        """Begins a step, see Planning.step."""
        self._busy = True
        self._worker.put((seen, posture))

    def stop(self) -> None:
        """Ends the thread, after the step that is under way."""
        self._worker.stop()

    def report(
        self, *, active: bool, deaf: str, refused: StopReason, robot: str, further: Mapping[str, str]
    ) -> SessionReport:
        """State of the planning; the phase by its name, for programs.

        Args:
            active: the node listens.
            deaf: who has not been heard of yet; empty where all have.
            refused: why nothing is sent to a position controller any more.
        """
        level, sentence = self._judge(deaf, refused) if active else (Level.OK, "inactive")
        return SessionReport(level, sentence, {**self._values(), **further}, robot)

    def _values(self) -> dict[str, str]:
        planning, last, bounds = self._planning, self._planning.last, self._planning.known.bounds
        return {
            PHASE: planning.agenda.phase.name,
            "trajectories": str(planning.made),
            UNCERTIFIED: str(planning.failed),
            TIMED_OUT: str(planning.timed_out),
            LAST_OUTCOME: planning.message,
            "finished too late": str(planning.dropped),
            "planning is taken to need [s]": f"{planning.timing.needs:.3f}",
            "robot's seconds in one of the machine's": f"{self._replanner.pace.rate:.3f}",
            "planning time [s]": f"{last.result.elapsed:.3f}" if last is not None else "",
            "certificates": str(last.result.certificates) if last is not None else "",
            "time of certificates [s]": f"{last.result.certifying:.3f}" if last is not None else "",
            "goals left": str(len(planning.agenda.goals)),
            "mass [kg]": f"{bounds.lower[0]:.3f} to {bounds.upper[0]:.3f}",
        }

    def _judge(self, deaf: str, refused: StopReason) -> tuple[Level, str]:
        """Level and one sentence: the worst thing first."""
        planning = self._planning
        if deaf:
            return Level.WARN, deaf
        if refused:
            return Level.ERROR, f"no more plans: {refused.message}"
        if not planning.known.consistent or planning.known.scene is None:
            return Level.ERROR, "bounds or obstacles are unusable: no more plans"
        if planning.failed:
            return (Level.ERROR, self._broken) if self._broken else (Level.WARN, planning.message)
        return Level.OK, planning.agenda.phase.value

    # -- on the worker's thread

    def _step(self, item: tuple[Seen, Array | None]) -> None:
        """Nothing may end the thread: the robot would come to rest without plans, and nobody would know why."""
        self._broken = ""
        try:
            planned = self._replanner.step(*item)
            if planned is not None and self._is_wanted():
                self._publish(planned)
        except Exception as error:
            self._broken = f"a step broke off: {type(error).__name__}: {error}"
            if self._is_wanted():
                self._journal(Level.ERROR, f"{self._broken}\n{traceback.format_exc()}")
            self._replanner.fail(self._broken)
        if self._is_wanted():
            self._tell()
        self._busy = False

    def _tell(self) -> None:
        """One line for each event."""
        planning = self._planning
        failed = planning.failed > 0
        if failed and not self._failed:
            self._journal(Level.WARN, f"no plan: {planning.message}")
        self._failed = failed
        if planning.dropped > self._dropped:
            self._dropped = planning.dropped
            self._journal(Level.WARN, f"{planning.message}; planning again")
        if planning.agenda.phase is not self._phase:
            self._phase = planning.agenda.phase
            self._journal(Level.OK, planning.agenda.phase.value)
