# SPDX-License-Identifier: Apache-2.0
"""A simulated machine of a given speed: the pace settles where the machine keeps up, and says what it gave up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals.pacing import Pace, Pacer, PacingConfig, paces

DT = 0.01
WINDOW = 30


class Machine:
    """Takes `per_stage` a stage and `fixed` besides; steps come every DT and wait while it solves."""

    def __init__(self, per_stage: float, fixed: float = 0.0, config: PacingConfig | None = None) -> None:
        self.per_stage, self.fixed = per_stage, fixed
        self.pacer = Pacer(config or PacingConfig(), WINDOW, DT)
        self.now = self.done = 0.0
        self.lags: list[float] = []
        self.skipped = 0

    def run(self, duration: float) -> None:
        end = self.now + duration
        while self.now < end:
            pace = self.pacer.pace
            if self.pacer.watch(self.now - self.done):
                self.skipped += 1
                self.done = self.now
                continue
            due = self.done + pace.hop * DT
            spent = self.fixed + self.per_stage * pace.window
            self.now = max(self.now, due) + spent
            self.done = due
            self.lags.append(self.now - self.done)
            self.pacer.note_solve(self.now, spent, self.now - self.done)


@given(st.integers(1, 6), st.integers(0, 20), st.integers(4, 40), st.integers(4, 60))
def test_every_pace_costs_less_than_the_one_before_and_the_cheapest_is_the_limit(
    hop: int, more: int, shortest: int, window: int
) -> None:
    config = PacingConfig(hop=hop, most_hop=hop + more, shortest=shortest)
    found = paces(config, window)
    assert found[0] == Pace(hop, window)
    assert found[-1] == Pace(hop + more, min(shortest, window))
    costs = [pace.window / pace.hop for pace in found]
    assert all(after < before for before, after in pairwise(costs))


def test_a_fast_machine_does_all_that_was_asked_for() -> None:
    machine = Machine(per_stage=1e-4)
    machine.run(10.0)
    assert machine.pacer.pace == Pace(1, WINDOW)
    assert machine.pacer.changes == 0
    assert not machine.pacer.slowed
    assert machine.pacer.finding == ""
    assert machine.pacer.load == pytest.approx(0.3)


def test_a_slow_machine_solves_more_rarely_and_keeps_up() -> None:
    machine = Machine(per_stage=1e-3)  # 30 ms a solve of 30 stages, three times the step
    machine.run(5.0)
    machine.lags.clear()
    machine.run(20.0)
    assert machine.pacer.pace == Pace(4, WINDOW)
    assert machine.pacer.finding == "the machine cannot keep up: a solve every 4 steps instead of 1"
    assert max(machine.lags) < 0.2  # an attempt at twice the solves costs some
    assert machine.skipped == 0


def test_a_slower_one_shortens_the_window_too() -> None:
    machine = Machine(per_stage=5e-3)  # 150 ms a solve of 30 stages
    machine.run(20.0)
    assert machine.pacer.pace.window < WINDOW
    assert f"over {machine.pacer.pace.window} stages instead of {WINDOW}" in machine.pacer.finding
    machine.lags.clear()
    machine.run(20.0)
    assert max(machine.lags) < PacingConfig().max_lag


def test_work_is_shed_before_the_lag_is_at_its_limit() -> None:
    """From one solve to the next, not one pace after the other: a machine becomes seven times too slow at once."""
    machine = Machine(per_stage=2e-4)
    machine.run(5.0)
    machine.per_stage = 2e-3
    machine.run(5.0)
    assert machine.skipped == 0
    assert max(machine.lags) < PacingConfig().max_lag
    assert machine.pacer.finding
    assert machine.pacer.changes < 4


def test_one_that_cannot_keep_up_at_all_skips_and_says_so() -> None:
    machine = Machine(per_stage=0.0, fixed=0.4)
    machine.run(20.0)
    assert machine.skipped > 0
    assert max(machine.lags) < 2.0  # bounded: never behind by more than the limit and a solve or two
    assert "cannot keep up" in machine.pacer.finding


def test_of_a_pace_only_what_is_less_is_told() -> None:
    """A Go2's solves come every 8 steps anyway; "every 8 steps instead of 8" was said of them."""
    pacer = Pacer(PacingConfig(max_lag=0.4, hop=8, most_hop=8), WINDOW, DT)
    pacer.note_solve(1.0, 0.24, 0.1)
    pacer.watch(0.17, ahead=True)
    assert pacer.finding == f"the machine cannot keep up: a solve over 10 stages instead of {WINDOW}"


def test_skipping_goes_on_until_the_lag_is_small() -> None:
    pacer = Pacer(PacingConfig(max_lag=0.4), WINDOW, DT)
    assert [pacer.watch(lag) for lag in (0.3, 0.41, 0.3, 0.11, 0.09, 0.3)] == [False, True, True, True, False, False]
    pacer.watch(1.0)
    assert "skipped" in pacer.finding


def test_a_solve_that_would_end_too_late_has_all_work_shed_that_can_be_first() -> None:
    """At once and by name; a window of a third of the stages is thought to take a third of the time."""
    config = PacingConfig(max_lag=0.4)
    pacer = Pacer(config, WINDOW, DT)
    pacer.note_solve(1.0, 0.24, 0.1)
    assert not pacer.watch(0.15, ahead=True)
    assert not pacer.slowed
    assert not pacer.watch(0.17)
    assert not pacer.slowed
    assert not pacer.watch(0.17, ahead=True)
    assert pacer.pace == Pace(config.most_hop, config.shortest)
    assert "cannot keep up: a solve every 8 steps instead of 1 over 10 stages" in pacer.finding
    assert not pacer.watch(0.31, ahead=True)
    assert pacer.watch(0.33, ahead=True)


def test_a_solve_that_would_end_too_late_is_not_begun_where_nothing_else_can_be_shed() -> None:
    """Skipping, though, ends by the lag that there is, or it would never end."""
    pacer = Pacer(PacingConfig(max_lag=0.4, hop=4, most_hop=4, shortest=WINDOW), WINDOW, DT)
    pacer.note_solve(1.0, 0.25, 0.1)
    assert not pacer.watch(0.2)
    assert pacer.watch(0.2, ahead=True)
    assert not pacer.watch(0.05, ahead=True)
    slower = Pacer(PacingConfig(max_lag=0.4, hop=4, most_hop=8), WINDOW, DT)
    slower.note_solve(1.0, 0.25, 0.1)
    assert not slower.watch(0.2, ahead=True)


def test_a_start_that_takes_longer_than_the_lag_allowed_is_not_started_over_for_ever() -> None:
    pacer = Pacer(PacingConfig(max_lag=0.4), WINDOW, DT)
    pacer.note_solve(1.0, 0.8, 0.8, usual=False)
    assert not pacer.skipping
    pacer.note_solve(1.1, 0.02, 0.7)  # catches up
    assert not pacer.skipping
    pacer.note_solve(1.2, 0.02, 0.3)
    assert pacer.watch(0.5)  # once it has caught up, the limit is the stated one


def test_how_long_a_start_takes_says_nothing_of_the_solves_that_follow() -> None:
    """Readings wait after a slow start: neither is work shed for that, nor, with nothing to shed, started over."""
    pacer = Pacer(PacingConfig(max_lag=0.4), WINDOW, DT)
    cheapest = Pacer(PacingConfig(max_lag=0.4, hop=4, most_hop=4, shortest=WINDOW), WINDOW, DT)
    for each in (pacer, cheapest):
        each.note_solve(1.0, 0.3, 0.31, usual=False)
        assert not each.watch(0.31, ahead=True)
        assert each.changes == 0
    pacer.note_solve(1.1, 0.25, 0.31)
    assert not pacer.watch(0.31, ahead=True)
    assert pacer.slowed


def test_what_waited_during_a_start_is_no_sign_of_a_slow_machine() -> None:
    """Solves of twice the steps take longer and catch up; where they do not, the machine is too slow."""
    for falls, slowed in ((0.02, False), (0.0, True)):
        pacer, lag = Pacer(PacingConfig(hop=4), WINDOW, DT), 0.16
        pacer.note_solve(1.0, 0.13, lag, usual=False, steps=10)
        for k in range(1, 6):
            lag -= falls
            pacer.note_solve(1.0 + 0.06 * k, 0.06, lag, steps=8)
        assert pacer.slowed == slowed


def test_half_of_the_time_until_data_are_skipped_is_to_spare() -> None:
    pacer = Pacer(PacingConfig(max_lag=0.5), WINDOW, DT)
    assert pacer.spare(0.1) == pytest.approx(0.2)
    assert 0.0 < pacer.spare(0.7) < DT
    pacer.note_solve(1.0, 0.02, 0.1, cut=True)
    assert pacer.finding == "the machine cannot keep up: a solve ended early"
    pacer.note_solve(1.1, 0.02, 0.1)
    assert not pacer.finding


def test_a_machine_that_gets_faster_goes_back_to_the_full_pace() -> None:
    machine = Machine(per_stage=1e-3)
    machine.run(5.0)
    assert machine.pacer.slowed
    machine.per_stage = 1e-4
    machine.run(60.0)
    assert machine.pacer.pace == Pace(1, WINDOW)


def test_a_machine_that_was_busy_for_a_moment_goes_back_though_it_has_little_to_spare() -> None:
    """A start, or another program, takes the pace away; less in a solve then makes it no shorter."""
    machine = Machine(per_stage=0.0, fixed=0.028, config=PacingConfig(hop=4))
    machine.run(5.0)
    assert not machine.pacer.slowed
    machine.fixed = 0.05
    machine.run(1.0)
    assert machine.pacer.slowed
    machine.fixed = 0.028
    machine.run(10.0)
    assert machine.pacer.pace == Pace(4, WINDOW)


def test_attempts_at_a_pace_that_fails_become_rarer() -> None:
    machine = Machine(per_stage=0.0, fixed=0.0105)  # solve time just too long for every step
    machine.run(20.0)
    first = machine.pacer.changes
    machine.run(200.0)
    assert machine.pacer.changes - first <= 20  # every 2 s it would be 200


def test_solves_that_take_nearly_all_the_time_are_no_reason_while_they_keep_up() -> None:
    """Nor are two of an impact's, which take longer than the time between two: what waits is caught up with."""
    machine = Machine(per_stage=0.0, fixed=0.038, config=PacingConfig(hop=4))
    machine.run(20.0)
    assert machine.pacer.load > PacingConfig().load
    assert machine.pacer.changes == 0
    machine.fixed = 0.03
    machine.run(5.0)
    machine.fixed = 0.07
    machine.run(0.1)
    assert 0.09 < max(machine.lags) < 0.125
    machine.fixed = 0.03
    machine.run(5.0)
    assert machine.pacer.changes == 0
    assert machine.lags[-1] < 0.04


def test_one_interrupted_solve_changes_nothing() -> None:
    pacer = Pacer(PacingConfig(), WINDOW, DT)
    for k in range(50):
        pacer.note_solve(k * DT, 0.05 if k == 0 else 0.003, 0.02, usual=k > 0)
    assert pacer.changes == 0
    assert pacer.solve_time == 0.003


@pytest.mark.parametrize(
    ("options", "message"),
    [({"hop": 9}, "'most_hop' must not be below 'hop'"), ({"relax": 0.9}, "'relax' must be below 'load'")],
)
def test_limits_that_contradict_one_another_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        PacingConfig(**options)  # type: ignore[arg-type]
