# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.gen3_scene import SCENES, START, TABLE_I, Clock, gen3, obstacles, planner, tight

from benchmarks.momentum_condition import momentum_condition
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.config import from_flat
from sysid_nodes.data.scene import Obstacle, Scene, load_scene
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.systems.certified.certificate.config import CertifierConfig, TrackingConfig
from sysid_nodes.systems.certified.search.config import ExciteConfig, GuideConfig, PlannerConfig, StopRuleConfig
from sysid_nodes.systems.certified.search.goals import check_goal, nearest_goal, straight
from sysid_nodes.systems.certified.search.guide import guide_path
from sysid_nodes.systems.certified.search.objective import Reach
from sysid_nodes.systems.certified.search.plan_result import PlanResult, PlanStatus, Start
from sysid_nodes.systems.certified.search.planner import Planner
from sysid_nodes.systems.certified.search.stop_rule import StopRule

IN_THE_WAY = Obstacle("box", "box", (0.03, 0.4, 0.25), (0.2, 0.2, 0.2))
"""Where the gripper is at the start."""

OUTSTRETCHED = np.array([-1.5501, -0.4295, -6.2587, -0.4886, -2.482, -1.4918, 1.4176])
"""Where an identification came to rest under narrow bounds."""


@pytest.fixture(scope="module")
def plain() -> Planner:
    return planner()


@pytest.fixture(scope="module")
def first(plain: Planner) -> PlanResult:
    """The first plan of the identification: from rest, all of Table I, among the authors' obstacles."""
    box = plain.box(TABLE_I)
    return plain.plan(Start.at_rest(START, plain.certifier.at_rest(box)), box, obstacles(), plain.excite(TABLE_I))


def test_first_plan_with_the_whole_prior_is_certified(plain: Planner, first: PlanResult) -> None:
    assert first.status is PlanStatus.CERTIFIED
    assert first.plan is not None and first.certificate is not None and first.certificate.certified
    assert first.proposals >= 1 and first.certificates == 1 + sum(first.refusals.values())
    assert np.abs(first.plan.k).max() > 0.1
    # The certificate is the certifier's own.
    box = plain.box(TABLE_I)
    again = plain.certifier.certify(first.plan, box, plain.certifier.at_rest(box), obstacles())
    assert again.certified and again.margins.obstacle == first.certificate.margins.obstacle


def test_it_tells_more_than_standing_still_and_than_a_random_plan(plain: Planner, first: PlanResult) -> None:
    cost = plain.excite(TABLE_I).cost(State(START, np.zeros(7), np.zeros(7)), 3.0, plain.box(TABLE_I))
    rng = np.random.default_rng(0)
    others = [cost(rng.uniform(-1.0, 1.0, 7) * np.array([np.pi / 48] * 4 + [np.pi / 20] * 3))[0] for _ in range(5)]
    assert first.cost < min(others) < cost(np.zeros(7))[0]


def test_next_plan_starts_from_the_desired_state(plain: Planner, first: PlanResult) -> None:
    assert first.plan is not None and first.certificate is not None
    start = Start.following(first.plan, first.certificate, 1.0)
    box = plain.box(tight())
    objective = plain.excite(TABLE_I).with_plan(first.plan, 1.0, box)
    second = plain.plan(start, box, obstacles(), objective)
    assert second.status is PlanStatus.CERTIFIED and second.plan is not None
    assert first.plan.duration == second.plan.duration == 1.5
    for a, b in zip(second.plan(0.0), first.plan(1.0), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not start.resting
    assert (
        momentum_condition(plain.chain, 6, [first.plan, second.plan], 1.0, window=400.0 / 3750.0, rate=3750.0) < np.inf
    )


def test_reach_goes_to_the_goal_and_the_short_way_round(plain: Planner) -> None:
    box = plain.box(tight())
    goal = START + np.array([-0.1, 0.1, 0.0, 0.1, 0.2, 0.1, 2.0 * np.pi + 0.3])
    objective = plain.reach(START, goal, obstacles())
    result = plain.plan(Start.at_rest(START, plain.certifier.at_rest(box)), box, obstacles(), objective)
    assert result.plan is not None
    away = np.abs(nearest_goal(gen3(), START, goal) - START).max()
    assert np.abs(nearest_goal(gen3(), result.plan.goal, goal) - result.plan.goal).max() < 0.5 * away
    assert not plain.has_reached(START, goal) and plain.has_reached(goal + np.r_[2 * np.pi, np.zeros(5), 0.01], goal)


def test_a_near_goal_takes_less_time_and_no_more_acceleration() -> None:
    one, box = planner(PlannerConfig(briefest=1.0)), planner().box(tight())
    rest = Start.at_rest(START, one.certifier.at_rest(box))
    lengths = []
    for away in (0.01, 0.5, 1.5):  # of the widest displacement, 1.5 rad: too little, a third and all of it
        result = one.plan(rest, box, Scene(), Reach((START + np.r_[np.zeros(6), away],)))
        assert result.plan is not None and result.certificate is not None and result.certificate.certified
        assert np.abs(result.plan(np.linspace(0.0, result.plan.duration, 50)).qdd).max() < 1.0
        lengths.append(result.plan.duration)
    np.testing.assert_allclose(lengths, [1.0, 3.0 * np.sqrt(1.0 / 3.0), 3.0])


def test_no_certificate_is_begun_that_would_end_too_late() -> None:
    one = planner(PlannerConfig(certificate_time=0.4, reserve=0.1), clock=Clock(0.001))
    box = one.box(TABLE_I)
    start = Start.at_rest(START, one.certifier.at_rest(box))
    result = one.plan(start, box, obstacles(), one.excite(TABLE_I), deadline=0.4)
    assert result.status is PlanStatus.NOTHING_CERTIFIED
    assert result.plan is None and result.certificates == 0 and np.isnan(result.cost)
    assert "no time" in result.reason


def test_start_in_collision_says_what_collides(plain: Planner) -> None:
    box = plain.box(tight())
    one = planner(PlannerConfig(certificates=1))
    result = one.plan(Start.at_rest(START, one.certifier.at_rest(box)), box, Scene((IN_THE_WAY,)), one.excite(TABLE_I))
    assert result.status is PlanStatus.START_REFUSED and result.plan is None
    assert "standing still is refused" in result.reason and "'box'" in result.reason


@pytest.mark.parametrize(
    ("bounds", "seed"), [(TABLE_I, 0), pytest.param(TABLE_I, 1, marks=pytest.mark.slow), (tight(), 2)]
)
def test_from_a_random_rest_it_moves_in_one_step_or_says_why_nothing_can(bounds: Bounds, seed: int) -> None:
    """As after a planner's restart. Standing still decides: what starts here has to be safe here."""
    one, rng, demo = planner(seed=seed), np.random.default_rng(seed), load_scene(SCENES / "kinova_demo.yaml")
    box, limits, count = one.box(bounds), gen3().limits, 0
    low, high = np.maximum(limits.position_lower, -np.pi), np.minimum(limits.position_upper, np.pi)
    while count < 2:
        q = rng.uniform(0.9 * low, 0.9 * high)
        if one.nearness.least(q[None], demo, 1.0)[0] < 0.03:
            continue
        count += 1
        start = Start.at_rest(q, one.certifier.at_rest(box))
        still = one.certifier.certify(Bezier(*start.state, np.zeros(7), 3.0), box, start.entry, demo)
        result = one.plan(start, box, demo, one.excite(TABLE_I))
        if still.certified:
            assert result.plan is not None and np.abs(result.plan.k).max() > 1e-3, result.reason
        else:
            assert result.status is PlanStatus.START_REFUSED
            assert result.reason.startswith(f"standing still is refused: {still.binding}")
            assert still.envelope is not None or "N m at joint_" in result.reason


def test_where_little_is_left_it_sets_off_by_a_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joint 2 holds the arm outstretched; by energies alone the prior leaves just enough for standing still.

    Three seconds, for of short trajectories the first is gentle enough.
    """
    monkeypatch.setattr("sysid_nodes.systems.certified.certificate.certifier.steady", lambda _loop: False)
    q = OUTSTRETCHED
    slow = planner(PlannerConfig(excite=ExciteConfig(duration=3.0, replan=1.5)))
    box = slow.box(TABLE_I)
    result = slow.plan(Start.at_rest(q, slow.certifier.at_rest(box)), box, Scene(), slow.excite(TABLE_I))
    assert result.plan is not None and 1e-3 < np.abs(result.plan.k).max() < 0.3
    assert result.refusals[Verdict.TRACKING] >= 3


def test_escape_is_the_shortest_certified_stop(plain: Planner, first: PlanResult) -> None:
    assert first.plan is not None and first.certificate is not None
    start = Start.following(first.plan, first.certificate, 0.8)
    box = plain.box(tight())
    one = planner(PlannerConfig(escape=(2.0, 0.6)))
    result = one.plan_escape(start, box, obstacles())
    assert result.status is PlanStatus.CERTIFIED and result.plan is not None
    assert result.plan.duration == 0.6 and result.certificates == 1
    np.testing.assert_array_equal(result.plan.q0, start.state.q)
    np.testing.assert_array_equal(result.plan.qd0, start.state.qd)
    rest = first.plan.duration - 0.8
    same = one.plan_escape(start, box, obstacles(), rest=rest)
    assert same.plan is not None and same.certificates == 1
    for old, new in zip(first.plan(0.8 + np.linspace(0.0, rest, 9)), same.plan(np.linspace(0.0, rest, 9)), strict=True):
        np.testing.assert_allclose(new, old, atol=1e-12)
    blocked = one.plan_escape(start, box, Scene((IN_THE_WAY,)), deadline=np.inf)
    assert blocked.status is PlanStatus.NOTHING_CERTIFIED
    assert sum(blocked.refusals.values()) == 2 and "'box'" in blocked.reason


def test_only_certified_trajectories_are_followed(plain: Planner) -> None:
    box = plain.box(TABLE_I)
    plan = Bezier(START, np.zeros(7), np.zeros(7), np.full(7, 4.0), 3.0)
    refused = plain.certifier.certify(plan, box, plain.certifier.at_rest(box), Scene())
    with pytest.raises(InputError, match="only a certified trajectory can be followed"):
        Start.following(plan, refused, 1.5)


@pytest.mark.parametrize(
    ("upper", "message"),
    [(1.1, "the bounds on the mass end at 1.100 kg, below the 1.285 kg that the robot's own gripper"), (1.25, None)],
)
def test_bounds_must_leave_room_for_the_gripper(plain: Planner, upper: float, message: str | None) -> None:
    above = TABLE_I.upper.copy()
    above[0] = upper
    bounds = Bounds(np.r_[0.5, TABLE_I.lower[1:]], above)
    if message is None:  # within the uncertainty of what the gripper weighs
        assert plain.box(bounds).theta[6, 0] < 1.3
        return
    with pytest.raises(ConfigError, match=message):
        plain.box(bounds)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replan": 3.5}, r"t_p = 3.5 s.*must not exceed.*t_f = 3 s"),
        ({"excite.replan": 1.6}, r"planner.excite.replan' \(1.6 s\) must not exceed .*excite.duration' \(1.5 s\)"),
        ({"escape": []}, "needs at least one duration"),
        ({"excite.objective": "beauty"}, "must be one of widths, log_det, trace, condition"),
        ({"k_range": [-1.0]}, "at least 0"),
    ],
)
def test_bad_configuration_is_one_line(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        from_flat(PlannerConfig, values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (np.r_[0.0, 2.6, np.zeros(5)], r"joint_2 at 2.600 rad, outside its limits \[-2.250, 2.250\]"),
        (np.zeros(6), "7 finite numbers"),
        (np.full(7, np.nan), "7 finite numbers"),
        (START + np.r_[0.7, np.zeros(6)], "leaves no room: what joint_7 moves and 'cube_middle'"),
    ],
)
def test_unusable_goals_are_refused(plain: Planner, goal: np.ndarray, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plain.reach(START, goal, obstacles())
    with pytest.raises(ConfigError, match="the home"):
        check_goal(gen3(), plain.nearness, goal, obstacles(), 0.03, "home")


def test_goals_turn_only_joints_without_limits() -> None:
    goal = nearest_goal(gen3(), np.full(7, 6.0), np.zeros(7))
    np.testing.assert_allclose(goal, [2 * np.pi, 0.0, 2 * np.pi, 0.0, 2 * np.pi, 0.0, 2 * np.pi])


def test_guide_leads_around_an_obstacle(plain: Planner) -> None:
    pole = Scene((Obstacle("pole", "capsule", (0.3, 0.28, 0.3), (0.04, 0.6)),))
    goal = START + np.r_[1.7, np.zeros(6)]
    config = GuideConfig(shortcuts=20)
    way = straight(START, goal, 0.05)
    assert plain.nearness.least(way, pole, 0.5).min() < 0.0
    found = guide_path(gen3(), plain.nearness, START, goal, pole, config, np.random.default_rng(0))
    assert len(found.waypoints) > 1
    np.testing.assert_allclose(found.waypoints[-1], goal)
    for one, two in zip((START, *found.waypoints), found.waypoints, strict=False):
        # Between the postures that were checked, 0.05 rad apart, the margin may be missed by a little.
        assert plain.nearness.least(straight(one, two, 0.02), pole, 0.5).min() > 0.5 * config.margin
    again = guide_path(gen3(), plain.nearness, START, goal, pole, config, np.random.default_rng(0))
    for one, two in zip(found.waypoints, again.waypoints, strict=True):
        np.testing.assert_array_equal(one, two)
    none = guide_path(gen3(), plain.nearness, START, goal, pole, replace(config, nodes=10), np.random.default_rng(0))
    assert not none.waypoints and none.looked_at <= 12


def test_free_way_needs_no_waypoint(plain: Planner) -> None:
    objective = plain.reach(START, START + 0.1, Scene())
    assert isinstance(objective, Reach) and len(objective.path) == 1


def test_condition_number_is_an_objective_too() -> None:
    one = planner(PlannerConfig(excite=ExciteConfig(objective="condition")))
    objective = one.excite(TABLE_I)
    box = one.box(TABLE_I)
    cost = objective.cost(State(START, np.zeros(7), np.zeros(7)), 3.0, box)
    assert cost(np.full(7, 0.3))[0] < cost(np.r_[np.zeros(6), 0.1])[0]
    after = objective.with_plan(Bezier(START, np.zeros(7), np.zeros(7), np.full(7, 0.3), 3.0), 1.5, box)
    assert np.shape(after.past) == (10, 10)


def test_stop_rule_waits_for_idle_plans() -> None:
    rule = StopRule(StopRuleConfig(shrink=0.05, plans=2))
    widths = [1.0, 0.9, 0.89, 0.80, 0.79, 0.785]
    done = []
    for width in widths:
        rule = rule.after(Bounds(np.zeros(10), np.r_[width, np.ones(9)]))
        done.append(rule.done)
    assert done == [False, False, False, False, False, True]


def test_what_drives_lose_behind_a_position_interface_is_kept_free() -> None:
    error, tracking = tuple(np.arange(7.0)), TrackingConfig(position_error=(0.01,), velocity_error=(0.01,))
    control, certifier = RobustControlConfig(torque_error=error), CertifierConfig(torque_margin=1.0)
    for given, lost in ((tracking, np.arange(7.0)), (None, 0.0)):  # the certificate of the law counts with it itself
        made = Planner(gen3(), (), KnownRobotConfig(), control, certifier, PlannerConfig(), Clock(), tracking=given)
        np.testing.assert_allclose(made._torque_limit, gen3().limits.torque - 1.0 - lost)


def test_a_successor_is_missing_sooner_in_exciting_trajectories() -> None:
    config = PlannerConfig(excite=ExciteConfig(duration=1.5, replan=1.0))
    assert [config.takeover(duration) for duration in (1.5, 3.0)] == [1.0, 1.5]
