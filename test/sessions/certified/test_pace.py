# SPDX-License-Identifier: Apache-2.0
"""The robot's time as told by stamps that arrive now and then."""

from __future__ import annotations

import pytest

from sysid_nodes.sessions.certified.pace import Pace


def fed(rates: list[float], *, step: float = 0.1, start: int = 5_000_000_000) -> tuple[Pace, int, float]:
    """Stamps that advance by each rate for one step of the machine's time; the last stamp and when it arrived."""
    pace, stamp, time = Pace(), start, 10.0
    pace.note_stamp(stamp, time)
    for rate in rates:
        stamp, time = stamp + round(1e9 * rate * step), time + step
        pace.note_stamp(stamp, time)
    return pace, stamp, time


def test_one_until_it_is_known() -> None:
    pace = Pace()
    assert (pace.rate, pace.now(3.0)) == (1.0, 0)
    pace.note_stamp(2_000_000_000, 5.0)
    assert pace.rate == 1.0
    assert pace.now(5.25) == 2_250_000_000


def test_the_last_second_counts() -> None:
    pace, stamp, time = fed([0.2] * 10 + [0.8] * 12)
    assert pace.rate == pytest.approx(0.8, rel=1e-6)
    assert pace.now(time + 0.5) == pytest.approx(stamp + 0.4e9, abs=1e3)


def test_a_thousand_stamps_a_second_are_thinned_out_but_the_last_one_counts() -> None:
    pace, stamp, time = fed([0.5] * 2020, step=1e-3)
    assert pace.rate == pytest.approx(0.5, rel=1e-6)
    assert pace.now(time) == stamp


def test_stamps_that_stand_still_leave_a_rate_to_divide_by() -> None:
    pace, _, _ = fed([0.0] * 50)
    assert pace.rate == 0.02


def test_a_clock_that_jumps_back_is_a_new_one() -> None:
    pace, _, time = fed([0.2] * 20)
    pace.note_stamp(1_000_000_000, time + 0.1)
    assert pace.rate == 1.0
    assert pace.now(time + 0.1) == 1_000_000_000


def test_no_stamp_yet_and_a_clock_set_anew_say_nothing_of_the_rate() -> None:
    """A robot whose stamps count from 1970, listened to from before its first one."""
    pace = Pace()
    pace.note_stamp(0, 4.0)
    assert pace.now(4.5) == 0
    for k in range(5):
        pace.note_stamp(1_795_000_000_000_000_000 + 100_000_000 * k, 5.0 + 0.1 * k)
    assert pace.rate == pytest.approx(1.0, rel=1e-6)
    pace.note_stamp(1_895_000_000_000_000_000, 5.5)
    assert (pace.rate, pace.now(5.5)) == (1.0, 1_895_000_000_000_000_000)
