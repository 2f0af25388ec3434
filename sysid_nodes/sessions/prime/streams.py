# SPDX-License-Identifier: Apache-2.0
"""The streams of a PRIME session: their health, and which of their readings to use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.signals.alignment import Aligner
from sysid_nodes.signals.channel import ChannelSpec
from sysid_nodes.signals.channel_config import ChannelConfig
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.lag_watch import GYROSCOPE, POSE, LagWatch
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.signals.stream_health import StreamFault

_ALLOWED = 3.0
"""Standard deviations of delays that are estimated within which a lag is none to speak of."""


def _worth(channels: Mapping[str, ChannelConfig], offset: float) -> float:
    """Smallest lag between an inertial sensor and poses that is a finding [s]: estimates allow for their own priors."""
    sigmas = (getattr(channels[name], "delay_sigma", 0.0) for name in (GYROSCOPE, POSE) if name in channels)
    return max(offset, _ALLOWED * math.hypot(*sigmas)) if offset > 0.0 else 0.0


class PrimeStreams:
    """Every stream on the estimator's grid.

    Args:
        specs: streams by name.

    Attributes:
        aligner: takes the readings.
        findings: about the streams, as of the last look.
    """

    def __init__(self, specs: Mapping[str, ChannelSpec], config: PrimeSessionConfig) -> None:
        dt, health = config.prime.step, config.streams.health
        self.aligner = Aligner(specs, config.streams.grid(dt), health)
        self.findings: tuple[Finding, ...] = ()
        channels = {name: spec.config for name, spec in specs.items()}
        self._lag = LagWatch(channels, dt, _worth(channels, health.offset))

    def look(self, now: float | None = None) -> None:
        """Renews the findings.

        Args:
            now: time in the stamps' clock [s]; None for the streams' common clock.
        """
        at = self.aligner.now if now is None else now
        self.findings = (*self.aligner.findings(now), *self._lag.findings(at))

    def watch(self, steps: AlignedSteps) -> None:
        """Passes the next closed steps to the checks that compare streams."""
        self._lag.take(steps)

    def restart(self) -> None:
        """Steps that are not connected with those before follow."""
        self._lag.restart()

    def drop_stuck_streams(self, steps: AlignedSteps) -> AlignedSteps:
        """The steps without the readings of streams that are stuck."""
        stuck = {finding.subject for finding in self.findings if finding.kind is StreamFault.STUCK}
        if not stuck:
            return steps
        none = {name: samples.between(0, 0) for name, samples in steps.samples.items() if name in stuck}
        return replace(steps, samples={**steps.samples, **none})
