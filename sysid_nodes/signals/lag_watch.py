# SPDX-License-Identifier: Apache-2.0
"""Watches for a constant lag between an inertial sensor and a stream of poses: both see how the same body moves.

A stream whose stamps are late by a constant is plausible in every reading, and at a steady walk it only looks like
another place. How the body sways and bounces gives it away (lag_evidence.py). What every two seconds say adds up, older
evidence counting less; where the body hardly moves nothing can be said, and nothing is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.signals.channel_config import ChannelConfig, Window
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.lag_evidence import best_lag, evidence_of_places, evidence_of_turns
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.signals.stream_health import StreamFault

Array = npt.NDArray[np.float64]

SPAN = 2.0
"""Length of the data in one look [s]; a look takes some ten milliseconds."""

_KEPT = 0.9
"""Share of the evidence that is kept from look to look."""

_TURNS, _PLACES = 0.5, 0.35
"""Correlations at the best lag below which a body has not moved enough: white noise alone reaches 0.35 and 0.25."""

_EXACT = 3.5e-3
"""Standard deviation of a lag above which there is no verdict [s]."""

_SAME = 1e-9
"""Poses that differ by less are one reading sent again."""

_NONE = 5e-3
"""A lag that is not sharp counts as zero if it is smaller [s]; otherwise there is no verdict."""

_SHARP = 40.0
"""By how much a lag has to fit better than none, in squares of the readings' noise."""

GYROSCOPE, ACCELEROMETER, ORIENTATION, POSE = "gyroscope", "accelerometer", "imu_orientation", "mocap_pose"
_WIDTHS = {GYROSCOPE: 3, ACCELEROMETER: 3, ORIENTATION: 4, POSE: 7}


class LagWatch:
    """Compares an inertial sensor with poses, as their readings come on an estimator's grid.

    Without the sensor's own orientation, or the accelerometer, turns alone are compared.

    Args:
        channels: of the streams, by name; a gyroscope and a pose are needed for any verdict.
        dt: step of the grid [s].
        worth: smallest lag that is a finding [s]; 0: no lag is.

    Attributes:
        lag: the verdict: how much later the poses are stamped [s]; NaN before there is one. It stands until the body's
            motion tells otherwise.
    """

    def __init__(self, channels: Mapping[str, ChannelConfig], dt: float, worth: float) -> None:
        self._channels, self._dt, self._worth = channels, dt, worth
        # Half steps by which readings belong to later times than the evidence takes them for.
        self._early = {name: _window_shift(channels, name) for name in (GYROSCOPE, ACCELEROMETER)}
        self._most = round(SPAN / dt)
        self._evidence: Array = np.zeros(1)
        self.lag = math.nan
        self.restart()

    def restart(self) -> None:
        """Forgets the readings, for steps that are not connected follow, and not the evidence."""
        self._rows: dict[str, list[Array]] = {name: [] for name in _WIDTHS}
        self._count = 0

    def take(self, steps: AlignedSteps) -> None:
        """Takes the next steps."""
        for name, width in _WIDTHS.items():
            rows = np.full((len(steps), width), np.nan)
            if name in steps.samples:
                rows[steps.samples[name].steps] = steps.samples[name].values
            self._rows[name].append(rows)
        self._count += len(steps)
        if self._count >= self._most:
            self._look({name: np.concatenate(rows) for name, rows in self._rows.items()})
            self.restart()

    def findings(self, time: float) -> list[Finding]:
        """The verdict, if it is worth a finding: the stream whose stamps are later is the one to blame."""
        if not 0.0 < self._worth <= abs(self.lag):
            return []
        early, late = (GYROSCOPE, POSE) if self.lag > 0.0 else (POSE, GYROSCOPE)
        delay = self._channels[late].delay + abs(self.lag)
        also = "" if late == POSE else " (and that of the same sensor's other streams)"
        line = (
            f"stream '{late}' is stamped {1e3 * abs(self.lag):.0f} ms later than '{early}' for the same motion of the"
            f" body: its option 'delay'{also} should be {delay:.3f} s"
        )
        return [Finding(StreamFault.OFFSET, late, time, line)]

    def _look(self, rows: Mapping[str, Array]) -> None:
        """Adds what the rows say to the evidence."""
        pose, dt = rows[POSE].copy(), self._dt
        pose[1:][np.abs(np.diff(rows[POSE], axis=0)).max(axis=1) < _SAME] = np.nan  # stuck: no reading of a motion
        turns = evidence_of_turns(rows[GYROSCOPE], pose[:, 3:], dt, self._early[GYROSCOPE])
        places = evidence_of_places(rows[ACCELEROMETER], rows[ORIENTATION], pose[:, :3], dt, self._early[ACCELEROMETER])
        found = [(turns, _TURNS), (places, _PLACES)]
        curves = [evidence.curve for evidence, enough in found if evidence is not None and evidence.score > enough]
        if not curves:
            return
        fresh = np.sum(curves, axis=0)
        if self._contradicts(fresh):
            self._evidence = np.zeros_like(fresh)
        self._evidence = _KEPT * self._evidence + fresh
        best = best_lag(self._evidence, dt)
        if best is None or best.sigma > _EXACT:
            return
        if best.sharpness > _SHARP:
            self.lag = best.lag
        elif abs(best.lag) < _NONE:
            self.lag = 0.0

    def _contradicts(self, fresh: Array) -> bool:
        """Whether the lag has changed: what fitted best so far no longer does by far."""
        known = self._evidence
        return bool(known.any()) and float(fresh[int(np.argmin(known))] - fresh.min()) > _SHARP


def _window_shift(channels: Mapping[str, ChannelConfig], name: str) -> int:
    window = Window(channels[name].window) if name in channels else Window.AROUND
    if name == GYROSCOPE:
        return {Window.BEFORE: 0, Window.AFTER: 2}.get(window, 1)
    return {Window.BEFORE: -1, Window.AFTER: 1}.get(window, 0)
