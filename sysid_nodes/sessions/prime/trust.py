# SPDX-License-Identifier: Apache-2.0
"""Trust in a motion estimate: streams, residuals and the machine together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sysid_nodes.results.prime import EstimateStatus, PrimeEstimate
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.prime.config import TrustConfig
from sysid_nodes.sessions.prime.constants import ConstantsWatch, Excess
from sysid_nodes.sessions.prime.fall import FALL, FALLEN
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.signals.stream_health import StreamFault
from sysid_nodes.systems.prime.initialisation import BASE_STREAMS

CONSISTENCY, UNTOLD, OVERLOAD, SOLVER = "consistency", "untold", "overload", "solver"
"""Kinds of findings that are not about a stream's transport."""

_JOINTS = "joint_position"
_WRONG = (FALLEN, StreamFault.STUCK, StreamFault.CLOCK, StreamFault.OFFSET, CONSISTENCY, UNTOLD)
"""Faults of readings that were used, and of what they are used for."""

_CONTACT, _PRIOR = "contact", "prior"
_MODEL = {
    "dynamics": ": a force acts that no contact point gives, or the torques are wrong",
    _CONTACT: ": feet slide where friction should hold them, or the ground is not where it should be",
    "arrival": ": the window contradicts what was known before it",
    _PRIOR: ": constants are far from what is known of them, as after a slip, or of a robot that is not as described",
}
"""Groups of residuals that are not streams, and possible causes when they are large."""

_ROUNDING = 1e-6
"""Of differences of stamps [s]."""


@dataclass(frozen=True)
class PrimeJudgement:
    """Judgement of an estimate.

    Attributes:
        status: in one word.
        findings: why, the gravest first.
        inflation: factor on covariances, 1 unless residuals contradict the stated noise.
    """

    status: PrimeStatus = PrimeStatus.STARTING
    findings: tuple[Finding, ...] = ()
    inflation: float = 1.0

    @property
    def sentence(self) -> str:
        """Status and findings in one line."""
        return "; ".join([self.status.message, *(finding.message for finding in self.findings)])

    @property
    def fallen(self) -> bool:
        """Whether the robot lies."""
        return any(finding.kind == FALLEN for finding in self.findings)

    @property
    def spares_constants(self) -> bool:
        """Whether the constants of before would be no better.

        A pose that is late moves the place that is found, not the forces nor the inertia; what the model leaves out
        acts on.
        """
        return bool(self.findings) and all(
            finding.kind is StreamFault.OFFSET or finding.kind == UNTOLD for finding in self.findings
        )

    def faults(self) -> Mapping[str, str]:
        """The gravest fault of each stream that has one."""
        found: dict[str, str] = {}
        for finding in self.findings:
            found.setdefault(finding.subject, str(getattr(finding.kind, "value", finding.kind)))
        return found


@dataclass
class Trust:
    """Judges estimates, with the memory that this takes.

    Args:
        streams: names of all that should be heard.
        config: limits of trust.
        off_after: silence after which a stream is gone [s].
        memory: of the constants, see `HorizonConfig` [s].
    """

    streams: Sequence[str]
    config: TrustConfig
    off_after: float
    memory: float = 0.0
    _used: dict[str, float] = field(default_factory=dict)
    _doubted: dict[str, tuple[float, Finding]] = field(default_factory=dict)
    _misfit: dict[str, float] = field(default_factory=dict)
    _first: float = math.nan

    def __post_init__(self) -> None:
        self._constants = ConstantsWatch(self.config, self.memory)

    def forget_constants(self) -> None:
        """The estimator was sent back to what it knew of the constants once."""
        self._constants.restart()

    def note_used(self, steps: AlignedSteps) -> None:
        """Takes note of the streams that have readings in steps which are used."""
        if math.isnan(self._first):
            self._first = float(steps.times[0])
        for name, samples in steps.samples.items():
            if len(samples):
                self._used[name] = float(steps.times[samples.steps[-1]])

    def silent_streams(self, now: float) -> frozenset[str]:
        """Streams without a usable reading for a while before a time [s]."""
        return frozenset(name for name in self.streams if not now - self._used.get(name, self._first) <= self.off_after)

    def judge(
        self, estimate: PrimeEstimate | None, streams: Iterable[Finding], overload: str, now: float
    ) -> PrimeJudgement:
        """Judges an estimate at a time.

        Args:
            estimate: the newest, or None.
            streams: findings about the streams.
            overload: work skipped because the machine is slow, in words; empty for none.
            now: time of the newest step [s].
        """
        excesses = {} if estimate is None else self._excesses(estimate)
        misfits = [] if estimate is None else self._misfits(estimate, excesses, now)
        findings = [*misfits, *streams]
        if estimate is not None and estimate.untold is not None:
            effect = estimate.untold
            findings.append(Finding(UNTOLD, effect.name, now, effect.sentence))
        findings.sort(key=_gravity)
        if overload:
            findings.append(Finding(OVERLOAD, "machine", now, overload))
        inflation = 1.0 if estimate is None else self._inflation(estimate, excesses, misfits)
        status = self._status(estimate, findings, now)
        if not status.trusted:
            self._constants.restart()
        elif estimate is not None and not excesses:
            self._constants.remember(estimate)
        if estimate is not None and estimate.status > EstimateStatus.UNFINISHED:
            findings.insert(0, Finding(SOLVER, "estimator", now, estimate.status.message))
        return PrimeJudgement(status, tuple(findings), inflation)

    def _status(self, estimate: PrimeEstimate | None, findings: Sequence[Finding], now: float) -> PrimeStatus:
        gone = self.silent_streams(now)
        if estimate is None:
            return PrimeStatus.STARTING
        if estimate.status in (EstimateStatus.FAILED, EstimateStatus.UNDETERMINED):
            return PrimeStatus.LOST
        if _JOINTS in gone or gone.issuperset(BASE_STREAMS) or now - float(estimate.t[-1]) > self.config.silence:
            return PrimeStatus.LOST
        if estimate.status is EstimateStatus.DOUBTFUL or any(finding.kind in _WRONG for finding in findings):
            return PrimeStatus.DOUBTFUL
        return PrimeStatus.DEGRADED if findings or gone else PrimeStatus.GOOD

    def _excesses(self, estimate: PrimeEstimate) -> dict[str, Excess]:
        """Residuals that are larger than their noise explains, and constants that are where they cannot be."""
        found = dict(self._constants.excesses(estimate))
        for name in (*self.streams, *_MODEL):
            if (rms := _rms(estimate, name)) > self._limit(name):
                line = f"residuals of '{name}' are {rms:.3g} times what its stated noise explains{_MODEL.get(name, '')}"
                found[name] = Excess(rms, line)
        return found

    def _misfits(self, estimate: PrimeEstimate, excesses: Mapping[str, Excess], now: float) -> list[Finding]:
        """Excesses that have lasted, the worst first; held for a while."""
        at, config = float(estimate.t[-1]), self.config
        self._misfit = {name: self._misfit.get(name, at) for name in excesses}
        for name, excess in excesses.items():
            if at - self._misfit[name] >= (0.0 if name == _CONTACT else config.lasting) - _ROUNDING:
                self._doubted[name] = (now, Finding(CONSISTENCY, name, now, excess.line))
        held = {name: entry for name, entry in self._doubted.items() if 0.0 <= now - entry[0] <= config.held}
        self._doubted = held
        ratio = {name: excesses[name].ratio if name in excesses else _rms(estimate, name) for name in held}
        return [held[name][1] for name in sorted(held, key=lambda name: -ratio[name])]

    def _limit(self, name: str) -> float:
        limits = {_CONTACT: self.config.contact, _PRIOR: self.config.constants}
        return limits.get(name, self.config.misfit)

    def _inflation(self, estimate: PrimeEstimate, excesses: Mapping[str, Excess], misfits: Sequence[Finding]) -> float:
        """For what is in doubt, and at once, while the doubt has yet to last."""
        held = (_rms(estimate, finding.subject) for finding in misfits)
        return max([1.0, *(excess.ratio**2 for excess in excesses.values()), *(rms**2 for rms in held)])


def _rms(estimate: PrimeEstimate, name: str) -> float:
    return estimate.fit[name].rms if name in estimate.fit else 0.0


def _gravity(finding: Finding) -> int:
    order = (
        FALLEN,
        FALL,
        StreamFault.OFF,
        StreamFault.STUCK,
        StreamFault.GARBAGE,
        StreamFault.CLOCK,
        StreamFault.OFFSET,
        CONSISTENCY,
        UNTOLD,
    )
    return order.index(finding.kind) if finding.kind in order else len(order)
