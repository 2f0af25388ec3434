# SPDX-License-Identifier: Apache-2.0
"""State of a live estimation by PRIME, for diagnostics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.diagnostic_keys import (
    FINDING,
    HOP,
    LAG,
    LOAD,
    LONGEST_LAG,
    OVERLOAD,
    SKIPPED,
    SOLVE_TIME,
    SOLVES,
    WAITING,
    WINDOW,
    not_used,
    received_on,
)
from sysid_nodes.sessions.live_session import Level, SessionReport
from sysid_nodes.sessions.prime.trust import PrimeJudgement
from sysid_nodes.signals.pacing import Pace

_LEVELS = {
    PrimeStatus.STARTING: Level.WARN,
    PrimeStatus.GOOD: Level.OK,
    PrimeStatus.DEGRADED: Level.WARN,
    PrimeStatus.DOUBTFUL: Level.ERROR,
    PrimeStatus.LOST: Level.ERROR,
}


@dataclass(frozen=True)
class PrimeHealth:
    """The node between two diagnostics.

    Attributes:
        active: the node listens.
        received: messages of each stream since activation.
        rates: messages a second of each stream since the last diagnostics, by the wall clock [Hz].
        waiting: messages that wait for the estimator.
        overflowed: messages lost because too many waited.
        unusable: messages not used, by reason.
        rejected: readings of each stream not used, by reason.
        lag: of the newest estimate behind the newest reading [s].
        longest_lag: since the last diagnostics [s].
        solve_time: of the last solve [s].
        longest_solve: since the last diagnostics [s].
        load: share of the time that solves take.
        pace: what is done.
        solves: since the start.
        skipped: steps not used because the machine was too slow.
        processor: share of one processor that the process used since the last diagnostics.
        judgement: what the estimate is worth.
        masses: identified bodies in words.
        fault: the last internal failure in one line, or empty.
    """

    active: bool
    received: Mapping[str, int]
    rates: Mapping[str, float]
    waiting: int
    overflowed: int
    unusable: Mapping[str, int]
    rejected: Mapping[str, Mapping[str, int]]
    lag: float
    longest_lag: float
    solve_time: float
    longest_solve: float
    load: float
    pace: Pace
    solves: int
    skipped: int
    processor: float
    judgement: PrimeJudgement
    masses: Mapping[str, str]
    fault: str


def prime_report(health: PrimeHealth) -> SessionReport:
    """Level, sentence and values, numbers with their units in the keys."""
    judgement = health.judgement
    level, message = _LEVELS[judgement.status], judgement.sentence
    if not health.active:
        level, message = Level.OK, "inactive"
    if health.fault:
        level, message = Level.ERROR, f"internal failure: {health.fault}"
    values = {
        "status": judgement.status.name,
        FINDING: "; ".join(finding.message for finding in judgement.findings),
        **{f"fault of {stream}": fault for stream, fault in sorted(judgement.faults().items())},
        LAG: f"{health.lag:.4f}",
        LONGEST_LAG: f"{health.longest_lag:.4f}",
        SOLVE_TIME: f"{health.solve_time:.4f}",
        "longest solve time [s]": f"{health.longest_solve:.4f}",
        LOAD: f"{health.load:.3f}",
        WINDOW: str(health.pace.window),
        HOP: str(health.pace.hop),
        SOLVES: str(health.solves),
        SKIPPED: str(health.skipped),
        "processor share [1]": f"{health.processor:.3f}",
        WAITING: str(health.waiting),
        OVERLOAD: str(health.overflowed),
        **{received_on(name): str(count) for name, count in sorted(health.received.items())},
        **{f"rate of {name} [Hz]": f"{rate:.1f}" for name, rate in sorted(health.rates.items())},
        **{not_used(reason): str(count) for reason, count in sorted(health.unusable.items())},
        **{
            not_used(reason, stream): str(count)
            for stream, reasons in sorted(health.rejected.items())
            for reason, count in sorted(reasons.items())
        },
        **{f"mass of {link} [kg]": text for link, text in sorted(health.masses.items())},
    }
    return SessionReport(level, message, values, "")
