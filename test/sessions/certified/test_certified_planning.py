# SPDX-License-Identifier: Apache-2.0
"""What the planner remembers between its steps; search and proof, which have tests of their own, are stood in for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.results.certificate import Certificate, Envelope, Margins, Verdict
from sysid_nodes.results.trajectory_record import Phase
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, set_up
from sysid_nodes.sessions.certified.motion_planner import build_planner
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.certified.state import Planned, Seen
from sysid_nodes.simulation.arm.gen3 import CENTRE
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.certified.search.objective import Excite, Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, PlanStatus, Start

START = np.array([-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415])
SECOND = 1_000_000_000
SOMEWHERE = Scene((Obstacle("far", "sphere", (3.0, 0.0, 0.5), (0.1,)),))


class Bench:
    """A planning whose plans are certified by decree, on a clock of its own."""

    def __init__(self, **values: Any) -> None:
        times = {"budget": 0.5, "margin": 0.1, "lead": 0.15, "escape_time": 0.35}
        excite = {"planner__excite__duration": 3.0, "planner__excite__replan": 1.5}
        values = {f"certified_planner__{name}": value for name, value in times.items()} | excite | values
        config = from_flat(CertifiedPlannerConfig, {name.replace("__", "."): v for name, v in values.items()})
        self.time = 100.0
        setup, clock = set_up(config), lambda: self.time
        planner: Any = build_planner(setup, config, clock)
        self.planning = Planning(planner, setup, config, clock)
        self.objectives: list[Any] = []
        self.starts: list[Start] = []
        self.deadlines: list[float] = []
        self.fail, self.takes = False, 0.4
        planner.plan = self._plan
        planner.plan_escape = self._escape
        self.go_on, self.rests = False, []  # type: tuple[bool, list[float]]

    def now(self) -> int:
        return round(self.time * SECOND)

    def step(self, mode: Mode, trajectory: Planned | None = None, posture: Any = None, **seen: Any) -> Planned | None:
        identity = "" if trajectory is None else trajectory.record.id
        return self.planning.step(Seen(mode, identity, **seen), self.now, posture)

    def _escape(self, start: Start, box: Any, scene: Scene, deadline: float, *, rest: float) -> PlanResult:
        """A stop that takes as long as any plan, or what is left of the running one."""
        self.rests.append(rest)
        found = self._plan(start, box, scene, "escape", deadline)
        if not self.go_on:
            return found
        assert start.goal is not None
        return replace(found, plan=Bezier(*start.state, start.goal - start.state.q, rest))

    def _plan(self, start: Start, _box: Any, _scene: Scene, objective: Any, deadline: float) -> PlanResult:
        self.objectives.append(objective)
        self.starts.append(start)
        self.deadlines.append(deadline)
        self.time += self.takes
        if self.fail:
            nothing = PlanStatus.NOTHING_CERTIFIED
            return PlanResult(nothing, None, None, np.nan, 1, 1, {}, "torque of joint_2", 0.5, 0.4)
        n = START.size
        k = objective.goal - start.state.q if isinstance(objective, Reach) else np.full(n, 0.1)
        plan, none = Bezier(*start.state, k, 3.0), np.zeros((1, n))
        one = np.full(1, 1e-6)
        envelope = Envelope(np.array([0.0, np.inf]), one, one, none, none, none, one, none)
        margins = Margins(np.ones(n), np.ones(n), np.ones(n), 0.1, 0.1)
        certificate = Certificate(Verdict.CERTIFIED, margins, "nothing", np.ones(n), np.ones(n), envelope, 1)
        return PlanResult(PlanStatus.CERTIFIED, plan, certificate, 0.0, 1, 1, {}, "nothing", 0.5, 0.4)


def test_first_from_rest_then_each_from_the_last_at_its_takeover() -> None:
    bench = Bench()
    assert bench.step(Mode.IDLE) is None, "no posture yet"
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    assert first.record.previous_id == ""
    assert first.record.start_ns == bench.now() + 150_000_000
    np.testing.assert_array_equal(first.record.q0, START)
    assert bench.step(Mode.IDLE, posture=START) is None, "one is under way"
    bench.time = first.record.start + 0.8
    assert bench.step(Mode.TRACKING, first) is None, "the newest bounds are waited for"
    # 0.5 s are reckoned with, and a look more, and 0.1 s to spare.
    bench.time = first.record.start + 0.86
    second = bench.step(Mode.TRACKING, first)
    assert second is not None
    assert second.record.previous_id == first.record.id
    assert second.record.previous_time == 1.5
    assert second.record.start_ns == first.record.start_ns + 1_500_000_000
    np.testing.assert_array_equal(second.record.q0, first.plan(1.5).q)
    # With time to spare before the takeover, on the planner's own clock.
    assert bench.deadlines[-1] == pytest.approx(first.record.start + 1.5 - 0.1, abs=1e-6)
    assert bench.step(Mode.TRACKING, first) is None, "the successor is under way"
    bench.time = second.record.start + 1.2
    third = bench.step(Mode.TRACKING, second)
    assert third is not None
    assert third.record.previous_time == pytest.approx(1.2 + 0.5 + 0.1), "late: as soon as there is time to plan"


@pytest.mark.parametrize(
    ("spent", "longest", "expected"),
    [
        (0.0, 7.5, 1.0),
        (5.0, 7.5, 1.0),
        (6.0, 7.5, 1.5),  # as long as it lasts, to the end of identification
        (5.9, 7.5, 1.0),
        (6.3, 7.5, 1.2),
        (6.7, 7.5, 1.0),
        (99.0, 0.0, 1.0),
    ],
)
def test_exciting_plans_follow_each_other_sooner_but_for_the_last(
    spent: float, longest: float, expected: float
) -> None:
    values = {"planner__excite__duration": 1.5, "planner__excite__replan": 1.0}
    agenda = Bench(**values, certified_planner__excite_time=longest).planning.agenda
    agenda.begin(SECOND)
    assert agenda.replan(round((1.0 + spent) * SECOND)) == pytest.approx(expected, abs=1e-6)
    agenda.phase = Phase.REACH
    assert agenda.replan(round((1.0 + spent) * SECOND)) == 1.5


def test_an_exciting_plan_is_taken_over_from_sooner() -> None:
    bench = Bench(planner__excite__duration=1.5, planner__excite__replan=1.0)
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None and first.replan == 1.0
    bench.time = first.record.start + 0.36
    second = bench.step(Mode.TRACKING, first)
    assert second is not None and second.record.previous_time == 1.0


def test_a_slow_robot_clock_leaves_more_time() -> None:
    """In lockstep: 0.3 s of the robot's in one of the machine's."""
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.planning.timing.rate = 0.3
    bench.time = first.record.start + 1.2
    assert bench.step(Mode.TRACKING, first) is None
    bench.time, bench.takes = first.record.start + 1.24, 0.1
    begun = bench.time
    second = bench.step(Mode.TRACKING, first)
    assert second is not None
    assert second.record.previous_time == 1.5
    assert bench.deadlines[-1] - begun == pytest.approx((1.5 - 1.24 - 0.1) / 0.3, abs=1e-6)


def test_a_plan_that_is_finished_too_late_is_dropped_and_made_anew_from_further_on() -> None:
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.time, bench.takes = first.record.start + 0.9, 0.7
    assert bench.step(Mode.TRACKING, first) is None
    planning = bench.planning
    assert (planning.dropped, planning.made, planning.failed) == (1, 1, 0)
    assert "+0.10 s after its takeover" in planning.message
    again = bench.step(Mode.TRACKING, first)
    assert again is not None
    assert again.record.previous_time == pytest.approx(1.6 + 1.25 * 0.7 + 0.1)
    assert again.record.start_ns > bench.now()


def test_what_is_refused_or_not_taken_over_is_planned_anew() -> None:
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    again = bench.step(Mode.IDLE, posture=START, refused_id=first.record.id, refused="late")
    assert again is not None
    assert again.record.start_ns == bench.now() + 300_000_000, "with twice the lead"
    assert bench.step(Mode.IDLE, posture=START) is None
    bench.time += 5.0
    assert bench.step(Mode.IDLE, posture=START) is not None


def after_a_failure() -> tuple[Bench, Planned]:
    """A bench that certifies nothing from a second into its first plan on, and that plan."""
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.time, bench.fail = first.record.start + 1.0, True
    assert bench.step(Mode.TRACKING, first) is None
    return bench, first


def test_a_step_that_certifies_nothing_is_tried_again_from_further_on_and_then_from_rest() -> None:
    bench, first = after_a_failure()
    assert bench.planning.failed == 1
    assert "torque of joint_2" in bench.planning.message
    bench.time, bench.fail = first.record.start + 4.0, False
    next_one = bench.step(Mode.HOLDING, first)
    assert next_one is not None
    assert bench.starts[-1].resting
    assert next_one.record.previous_id == first.record.id
    assert next_one.record.start_ns > bench.now()
    assert next_one.record.previous_time > 4.0
    assert bench.planning.failed == 0


def test_a_rest_that_cannot_be_left_with_the_errors_proven_for_it_is_left_with_those_measured() -> None:
    bench, first = after_a_failure()
    bench.time = first.record.start + 4.0
    holding = Seen(Mode.HOLDING, first.record.id, start_rate=0.25)
    measured = []
    for _ in range(4):
        assert bench.planning.step(holding, bench.now, START + 0.01) is None
        measured.append(bool((bench.starts[-1].state.q == START + 0.01).all()))
    assert measured == [False, True, False, True], "in turn, as either may be refused for good"
    assert bench.starts[-1].entry.speed >= 0.25, "what holds it still answers to errors"
    bench.planning.step(holding, bench.now, None)
    assert bench.planning.needs_posture(holding)
    assert not bench.planning.needs_posture(Seen(Mode.TRACKING, first.record.id))
    bench.fail = False
    assert bench.planning.step(holding, bench.now, None) is None, "no posture yet"
    planned = bench.planning.step(holding, bench.now, START + 0.01)
    assert planned is not None and planned.record.previous_id == ""
    assert not bench.planning.needs_posture(holding), "the next one follows again"


def test_a_planner_that_starts_again_waits_for_rest_and_begins_there() -> None:
    bench = Bench()
    stranger = Seen(Mode.TRACKING, "0" * 16)
    assert not bench.planning.needs_posture(stranger)
    assert bench.planning.step(stranger, bench.now, None) is None
    assert bench.planning.step(Seen(Mode.HOLDING, "0" * 16, start_rate=np.inf), bench.now, START) is None
    assert "lost its proof" in bench.planning.message
    resting = Seen(Mode.HOLDING, "0" * 16, start_rate=0.25)
    assert bench.planning.needs_posture(resting)
    planned = bench.planning.step(resting, bench.now, START)
    assert planned is not None
    assert planned.record.previous_id == ""


def test_nothing_is_planned_without_usable_bounds_obstacles_or_feedback() -> None:
    bench = Bench()
    known = bench.planning.known
    for spoilt in (replace(known, consistent=False), replace(known, scene=None)):
        bench.planning.known = spoilt
        assert bench.step(Mode.IDLE, posture=START) is None
    bench.planning.known = known
    assert bench.step(Mode.STOPPED, posture=START) is None
    assert not bench.objectives


def test_other_obstacles_ask_for_a_certified_stop_soon() -> None:
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.time, bench.takes = first.record.start + 0.9, 0.1
    assert bench.step(Mode.TRACKING, first) is not None
    bench.time = first.record.start + 1.0
    bench.planning.known = replace(bench.planning.known, scene=SOMEWHERE)
    escape = bench.step(Mode.TRACKING, first)
    assert escape is not None
    assert bench.objectives[-1] == "escape"
    assert escape.record.scene_id == SOMEWHERE.id
    assert escape.record.previous_time == pytest.approx(1.0 + 0.35)
    assert not escape.record.last
    bench.time = escape.record.start + 1.3
    assert bench.step(Mode.TRACKING, escape) is not None
    assert isinstance(bench.objectives[-1], Excite)


def test_what_is_free_of_other_obstacles_is_gone_on_with_as_if_nothing_had_happened() -> None:
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.time, bench.takes, bench.go_on = first.record.start + 0.5, 0.1, True
    bench.planning.known = replace(bench.planning.known, scene=SOMEWHERE)
    same = bench.step(Mode.TRACKING, first)
    assert same is not None
    assert same.record.previous_time == pytest.approx(0.85)
    assert bench.rests == [pytest.approx(3.0 - 0.85)]
    t = np.linspace(0.0, 2.15, 7)
    for one, two in zip(same.plan(t), first.plan(0.85 + t), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
    # The next plan takes over when it would have: 1.5 s after the first one's start.
    bench.time = same.record.start + 0.02
    following = bench.step(Mode.TRACKING, same)
    assert following is not None
    assert following.record.start_ns == pytest.approx(first.record.start_ns + 1_500_000_000, abs=2)


def test_it_learns_for_as_long_as_it_is_told_and_then_goes_to_its_goals() -> None:
    goal = np.array(CENTRE)
    bench = Bench(
        certified_planner__excite_time=3.0,
        certified_planner__goals=tuple(goal.tolist()),
        planner__guide__margin=0.02,
    )
    planning, ended = bench.planning, []
    planning.agenda.ended = lambda goal, why: ended.append((goal.tolist(), why))
    planned = bench.step(Mode.IDLE, posture=START)
    seen = []
    for _ in range(3):
        assert planned is not None
        assert not planned.record.last or planned.phase is Phase.REACH
        bench.time, running = planned.record.start + 0.9, planned
        planned = bench.step(Mode.TRACKING, running)
        seen.append(planning.agenda.phase)
    assert seen == [Phase.EXCITE, Phase.REACH, Phase.REACH]
    assert isinstance(bench.objectives[0], Excite)
    # What was executed counts: two plans of 1.5 s each.
    assert np.ndim(bench.objectives[1].past) == 2
    assert isinstance(bench.objectives[2], Reach)
    # The plan that ends at the goal is the last, and says so.
    assert planned is None
    assert running.record.last
    bench.time += 4.0
    assert bench.step(Mode.HOLDING, running) is None
    assert planning.agenda.phase is Phase.REST
    assert not planning.agenda.goals
    assert ended == [(goal.tolist(), "")]
    abandoned = goal + 0.1
    planning.agenda.goals += [abandoned, goal + 0.2]
    planning.agenda.give_up(abandoned)
    assert bench.step(Mode.HOLDING, running) is not None
    assert bench.objectives[-1].goal == pytest.approx(goal + 0.2)
    assert len(ended) == 1, "who gave it up knows"


def test_a_goal_that_cannot_be_stood_at_is_left_out_with_a_reason() -> None:
    outside = np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    bench = Bench(certified_planner__excite=False, certified_planner__goals=tuple(outside.tolist()))
    assert bench.step(Mode.IDLE, posture=START) is None
    assert "joint_2 at 5.000 rad, outside its limits" in bench.planning.message
    assert bench.planning.agenda.phase is Phase.REST


def test_the_last_plan_of_a_timed_identification_says_so() -> None:
    bench = Bench(certified_planner__excite_time=3.0)
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    assert not first.record.last
    bench.time = first.record.start + 0.9
    second = bench.step(Mode.TRACKING, first)
    assert second is not None
    assert second.record.last
    bench.time = second.record.start + 0.9
    assert bench.step(Mode.TRACKING, second) is None
    assert bench.planning.agenda.phase is Phase.REST


def test_an_identification_that_ends_before_its_time_is_ended_by_a_stop() -> None:
    """The bounds no longer shrink, which nobody knew when the plan in execution was made."""
    bench = Bench(certified_planner__excite_time=0.0, planner__stop_rule__plans=1)
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.time = first.record.start + 0.9
    second = bench.step(Mode.TRACKING, first)
    assert second is not None
    assert not second.record.last
    bench.planning.take_bounds(bench.planning.known.bounds, 1)
    bench.time = second.record.start + 0.9
    third = bench.step(Mode.TRACKING, second)
    assert third is not None
    assert third.phase is Phase.EXCITE
    bench.planning.take_bounds(bench.planning.known.bounds, 2)
    bench.time = third.record.start + 0.9
    stop = bench.step(Mode.TRACKING, third)  # the second has just been found to have taught nothing
    assert stop is not None
    assert (bench.objectives[-1], stop.phase, stop.record.last) == ("escape", Phase.REST, True)
    bench.time = stop.record.start + 0.9
    assert bench.step(Mode.TRACKING, stop) is None


def test_a_step_that_was_cut_off_is_given_more_time_the_next_time() -> None:
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.time, bench.fail = first.record.start + 0.9, True
    assert bench.step(Mode.TRACKING, first) is None
    assert bench.planning.timing.needs == pytest.approx(1.25 * 1.5 * 0.4)


def test_steps_without_time_for_a_certificate_do_not_make_those_after_them_begin_as_late() -> None:
    bench = Bench()
    first = bench.step(Mode.IDLE, posture=START)
    assert first is not None
    bench.time = first.record.start + 0.9
    second = bench.step(Mode.TRACKING, first)
    assert second is not None
    needs = bench.planning.timing.needs
    bench.fail, bench.takes = True, 0.01
    for late in (1.6, 1.7, 1.8, 1.9, 2.0):
        bench.time = second.record.start + late
        assert bench.step(Mode.TRACKING, second) is None
        assert bench.deadlines[-1] - bench.time >= 0.4 - bench.takes, "time for a whole step"
    assert bench.planning.timing.needs == pytest.approx(needs)


def test_goals_come_whole() -> None:
    with pytest.raises(ConfigError, match=r"'certified_planner\.goals' needs 7 numbers for each goal, got 3"):
        Bench(certified_planner__goals=(1.0, 2.0, 3.0))


def test_a_late_identifier_does_not_end_the_identification() -> None:
    """No bounds came while the plans were executed: that they did not shrink tells nothing."""
    bench = Bench(certified_planner__excite_time=0.0, planner__stop_rule__plans=1)
    planned = bench.step(Mode.IDLE, posture=START)
    for _ in range(6):
        assert planned is not None
        assert planned.phase is Phase.EXCITE
        assert planned.record.phase == "EXCITE"
        bench.time = planned.record.start + 0.9
        planned = bench.step(Mode.TRACKING, planned)
