# SPDX-License-Identifier: Apache-2.0
"""Memory of a session stays flat: all that it holds is as large after twice as many stages, limits being reached."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest
from shared.held_memory import reachable_bytes
from shared.legged_readings import feed_all, leaning, make_session, record

from sysid_nodes.sessions.prime import constants, session, stretches
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.simulation.legged import Reading
from sysid_nodes.systems.prime import noise_variances

SPAN = 1.5
"""Length of the recording that is repeated [s]."""


def go_on(session: PrimeSession, times: range) -> None:
    """Feeds a recording again and again, each time after the last; in every fourth the robot falls and gets up."""
    readings = record(SPAN)[0]
    for k in times:
        later = [
            replace(reading, stamp=reading.stamp + SPAN * k, arrival=reading.arrival + SPAN * k) for reading in readings
        ]
        feed_all(session, fallen(later, k) if k % 4 == 3 else later)


def fallen(readings: list[Reading], k: int) -> list[Reading]:
    return leaning(readings, lambda t: float(np.interp(t - SPAN * k, [0.1, 0.3, 0.5, 0.7], [0.0, 1.6, 1.6, 0.0])))


@pytest.mark.parametrize(("real", "rounds"), [(False, 8), pytest.param(True, 8, marks=pytest.mark.slow)])
def test_twice_as_long_a_session_holds_no_more(monkeypatch: pytest.MonkeyPatch, real: bool, rounds: int) -> None:
    """Limits are lowered so that few stages reach them. What remains is a counter's digits and a list's spare room."""
    monkeypatch.setattr(session, "_MOST_HISTORY", 8)
    monkeypatch.setattr(stretches, "MOST", 4)
    monkeypatch.setattr(constants, "_MOST", 3)
    monkeypatch.setattr(noise_variances, "_KEPT", 50)
    running = make_session(real=real)
    sizes = []
    for times in (range(rounds), range(rounds, 2 * rounds)):
        go_on(running, times)
        gc.collect()
        sizes.append(reachable_bytes(running))
    (early, before), (late, after) = sizes
    grown = {name: count - before.get(name, 0) for name, count in after.items() if count > before.get(name, 0)}
    assert late < early + 2_000, grown
