# SPDX-License-Identifier: Apache-2.0
"""A small plan: better than none, vetted, the same for the same seed, good for its estimate alone."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from shared.exploration import PLAN_OPTIONS, posterior_of
from shared.linear_policy import leaning_policy

from sysid_nodes.data.config import from_flat, load_yaml
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.messages.sampling.plan import marker_fields, plan_fields, to_plan
from sysid_nodes.messages.sampling.posterior import posterior_fields, to_posterior
from sysid_nodes.results.exploration import require_estimate, require_policy
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import GAITS, WalkingConfig, commanded_policy
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.systems.sampling import SamplingConfig
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.crowd import draw
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves
from sysid_nodes.systems.sampling.exploration.information import WalkInformation, clip_information
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner
from sysid_nodes.systems.sampling.exploration.search import Candidate, SegmentSearch
from sysid_nodes.systems.sampling.exploration.vetting import Conditions, vet
from sysid_nodes.systems.sampling.identify import nominal_drive
from sysid_nodes.systems.sampling.unknowns import Unknowns

ROBOT = load_robot("go2")
SAMPLING = from_flat(SamplingConfig, {"threads": 1})
UNKNOWNS = Unknowns(ROBOT, SAMPLING)
POSTERIOR = posterior_of(UNKNOWNS)


def planner(posterior=POSTERIOR, **options):
    config = from_flat(ExplorationConfig, PLAN_OPTIONS | options)
    return ExplorationPlanner(ROBOT, SAMPLING, config, posterior)


@pytest.fixture(scope="module")
def plan():
    return planner().plan()


def test_a_plan_promises_to_narrow_what_is_asked_for_and_has_been_vetted(plan):
    assert not plan.vetting.faults
    assert plan.vetting.draws == 4
    assert plan.vetting.fallen == 0
    assert np.median([row.after / row.before for row in plan.spreads]) < 1.0
    assert {"mass", "centre_z", "Ixx", "strength.hip"} <= {row.name for row in plan.spreads}
    assert plan.path[0, 0] == 0.0
    assert np.linalg.norm(plan.path[:, 1:], axis=1).max() <= plan.vetting.reach + 0.2


def test_a_plan_names_its_estimate_and_is_refused_for_another(plan):
    require_estimate(plan, POSTERIOR.id)
    other = replace(POSTERIOR, values=POSTERIOR.values + 1e-12)
    with pytest.raises(InputError, match=f"made for estimate {POSTERIOR.id}, not for {other.id}"):
        require_estimate(plan, other.id)


def test_robots_that_plans_are_vetted_on_have_bodies_and_not_only_feet():
    """One on its back lies on the ground and does not fall through it."""
    crowd = planner(**{"vetting.draws": 1}).crowd
    places = crowd.settle(0.29, 0.1)
    places.states[:, 2], places.states[:, 3:7] = 0.15, [0.0, 1.0, 0.0, 0.0]
    walks = crowd.follow(np.arange(2), places, CommandCurves.standing(2, 0.29), 1.0, every=50)
    assert walks.fallen.all()
    assert (walks.states[:, -1, 2] > 0.02).all()


def test_a_humanoid_is_planned_for_at_the_height_at_which_it_walks():
    robot, options = load_robot("g1"), PLAN_OPTIONS | {"commands.gaits": "trot", "vetting.draws": 2}
    sampling = replace(load_yaml(SamplingSessionConfig, Path("config/g1_sampling.yaml")).sampling, threads=1)
    config, known = from_flat(ExplorationConfig, options), posterior_of(Unknowns(robot, sampling))
    found = ExplorationPlanner(robot, sampling, config, known).random(0)
    assert not found.vetting.faults
    assert found.height == 0.72
    assert found.scale > 0.0, "it steps"
    assert (np.abs(found.points[0]).max(axis=1) <= [0.3, 0.15, 0.4, 0.12, 0.12]).all(), "as far as it obeys"
    assert {row.name for row in found.spreads} >= {"mass", "centre_z", "Ixx"}


def test_a_plan_names_its_controller_and_is_refused_for_another(plan):
    drive = nominal_drive(ROBOT, SAMPLING)
    require_policy(plan, commanded_policy(ROBOT, drive, WalkingConfig()).id)
    other = commanded_policy(ROBOT, drive, WalkingConfig(lift=0.061)).id
    with pytest.raises(InputError, match=f"plan {plan.id} was made for controller {plan.policy}, not for {other}"):
        require_policy(plan, other)
    assert replace(plan, policy=other).id != plan.id


def test_plans_and_estimates_survive_messages_and_notice_a_change(plan):
    fields = json.loads(json.dumps(plan_fields(plan)))
    assert to_plan(fields).id == plan.id
    _, path, circle = marker_fields(plan)["markers"]
    assert len(path["points"]) == len(fields["path"])
    assert {round(np.hypot(p["x"], p["y"]), 9) for p in circle["points"]} == {round(plan.vetting.reach, 9)}
    with pytest.raises(InputError, match="not what its id says"):
        to_plan(fields | {"policy_id": "another"})
    fields["points"][3] += 1e-9
    with pytest.raises(InputError, match="not what its id says"):
        to_plan(fields)
    with pytest.raises(InputError, match="do not fit"):
        to_plan(fields | {"gaits": ["trot"] * 2})
    known = json.loads(json.dumps(posterior_fields(POSTERIOR)))
    assert to_posterior(known).id == POSTERIOR.id
    with pytest.raises(InputError, match="not what its id says"):
        to_posterior(known | {"values": [0.0, *known["values"][1:]]})
    with pytest.raises(InputError, match="do not fit"):
        to_posterior(known | {"names": known["names"][1:]})


def test_a_robot_that_comes_to_harm_is_watched_and_another_segment_taken(monkeypatch):
    seen = []

    def harms_the_third(crowd, places, curves, *rest):
        found = vet(crowd, places, curves, *rest)
        seen.append(curves)
        if len(seen) > 1:
            return found
        return replace(found, harmed=np.arange(len(crowd)) == 3)

    watched = []
    drop = SegmentSearch.drop_harmful
    monkeypatch.setattr("sysid_nodes.systems.sampling.exploration.planner.vet", harms_the_third)
    monkeypatch.setattr(SegmentSearch, "drop_harmful", lambda own, *args: watched.append(args[2]) or drop(own, *args))
    found = planner(**{"commands.gaits": "stand"}).plan()
    assert watched == [[3]]
    assert len(seen) == 2
    assert not found.vetting.faults
    np.testing.assert_array_equal(found.points[0], seen[1].points[0, 0])
    assert (found.points[0] != seen[0].points[0, 0]).any()


@pytest.mark.slow
def test_a_trained_policy_can_obey_in_place_of_the_scripted_one(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    file = leaning_policy(tmp_path / "lean.onnx")
    found = planner(**{"walking.policy": str(file), "commands.gaits": "stand"}).plan()
    assert not found.vetting.faults
    assert found.vetting.draws == 4
    assert found.vetting.reach > 5.0 * planner(**{"commands.gaits": "stand"}).plan().vetting.reach, "it holds no place"


@pytest.mark.slow
def test_a_plan_by_chance_is_vetted_alike_and_another_one_for_every_number():
    own = planner(**{"commands.gaits": "stand"})
    first, second = own.random(0), own.random(1)
    assert first.vetting.draws == second.vetting.draws == 4
    assert not first.vetting.faults
    assert first.id == own.random(0).id != second.id


def test_what_a_bound_holds_is_promised_no_better_than_the_rest():
    """A log that shows five times the stated noise; of the hips' strength, at its bound, it shows nothing."""
    k = UNKNOWNS.index["saturation:hip"]
    worse = 25.0 * POSTERIOR.covariance
    plain = planner(replace(POSTERIOR, covariance=worse)).forecast
    worse[k] = worse[:, k] = 0.0
    held = planner(replace(POSTERIOR, covariance=worse)).forecast
    names = [q.name for q in held.asked]
    at = names.index("strength.hip")
    np.testing.assert_allclose(held.now[at], plain.now[at], rtol=0.1)


def test_a_strength_at_its_bound_is_promised_as_of_one_within_it():
    k, information, worse = UNKNOWNS.index["saturation:hip"], POSTERIOR.information.copy(), POSTERIOR.covariance.copy()
    information[k, k], worse[k], worse[:, k] = 1.0, 0.0, 0.0
    values = POSTERIOR.values.copy()
    values[k] = UNKNOWNS.items[k].lower
    forecast = planner(replace(POSTERIOR, values=values, information=information, covariance=worse)).forecast
    at = [q.name for q in forecast.asked].index("strength.hip")
    slope = 0.5 * 25.0 * (values[k] + 1.0) ** -1.5  # of 25 N m / sqrt(saturation), a sigma within the bound
    assert forecast.now[at] == pytest.approx(forecast._beyond**0.5 * slope, rel=1e-3)


def test_a_strength_near_its_bound_is_promised_as_of_one_a_sigma_within_it():
    k, worse, values = UNKNOWNS.index["saturation:hip"], POSTERIOR.covariance.copy(), POSTERIOR.values.copy()
    worse[k, k], values[k] = 1.0, UNKNOWNS.items[k].lower + 0.1
    forecast = planner(replace(POSTERIOR, values=values, covariance=worse)).forecast
    at = [q.name for q in forecast.asked].index("strength.hip")
    slope = 0.5 * 25.0 * (UNKNOWNS.items[k].lower + 1.0) ** -1.5
    assert abs(forecast._natural[at, k]) == pytest.approx(slope, rel=1e-3)


def test_a_strength_at_its_bound_counts_in_a_plan_as_the_one_that_is_guessed():
    k, values = UNKNOWNS.index["saturation:hip"], POSTERIOR.values.copy()
    values[k] = UNKNOWNS.items[k].lower
    forecast = planner(replace(POSTERIOR, values=values)).forecast
    row = forecast._slopes[[q.name for q in forecast.asked].index("strength.hip")]
    assert row[k] == pytest.approx(-1.0 / (2.0 * SAMPLING.verdict.relative), rel=1e-6)
    assert not np.delete(row, k).any()


def test_a_plan_is_judged_and_promised_by_as_many_clips_as_the_identification_will_have_of_it(monkeypatch):
    """Of a plan that bounds, one of four clips promised Iyz a seventh of the standard deviation that was found."""
    seen = []

    def counted(*arguments):
        seen.append(arguments[-1])
        return clip_information(*arguments)

    monkeypatch.setattr("sysid_nodes.systems.sampling.exploration.forecast.clip_information", counted)
    own = planner()
    own.plan()
    many = round(own.forecast._clips)
    assert many > 1
    assert seen == [1] * (len(seen) - 3) + [many] * 3, "a search, its best candidates, the one taken, and the plan"


def test_the_best_candidates_of_a_search_are_taken_in_the_order_that_more_clips_give_them(monkeypatch):
    own = planner()
    standing = CommandCurves.standing(1, 0.29, 1.0, 3).append(np.zeros((1, 5, 4)), np.array([GAITS.index("stand")]))
    monkeypatch.setattr(own.forecast, "judge", lambda _known: lambda _states, _targets: np.array([3, 1, 5, 4, 2, 6]))
    course = SimpleNamespace(places=own._rest, known=None)
    found = own._judge_again([Candidate(standing, k) for k in range(8)], course)
    assert [candidate.cost for candidate in found] == [1, 4, 0, 3, 2, 5, 6, 7]
    assert own._judge_again([], course) == []


def test_where_every_robot_falls_there_is_no_fit_plan():
    weak = POSTERIOR.values.copy()
    for name, k in UNKNOWNS.index.items():
        if name.startswith("saturation"):
            weak[k] = 2.5**2
    hopeless = replace(POSTERIOR, values=weak)
    options = {"vetting.attempts": 1, "search.iterations": 1, "commands.height": 0.2, "commands.gaits": "pronk"}
    found = planner(hopeless, **options).plan()
    assert any("fall" in fault or "stop" in fault for fault in found.vetting.faults)


def test_when_its_time_is_over_nothing_more_is_sought():
    found = planner(**{"search.limit": 1e-9}).plan()
    assert found.gaits == ("stand",)
    assert found.vetting.faults[0] == "1e-09 s are over"


def test_where_all_bold_candidates_do_harm_smaller_ones_are_tried_at_once_and_no_larger_ones_later(monkeypatch):
    tried = []

    class Searches(SegmentSearch):
        def best(self, start, watched, judge, scale, seed, _tell):
            tried.append([scale, 0])
            return super().best(start, watched, judge, scale, seed, self.count)

        def count(self):
            tried[-1][1] += 1

    judge = Conditions.judge

    def all_fall_that_are_fast(own, walks, every=1):
        behaviour = judge(own, walks, every)
        return replace(behaviour, fallen=behaviour.fallen | (tried[-1][0] > 0.5))

    monkeypatch.setattr("sysid_nodes.systems.sampling.exploration.planner.SegmentSearch", Searches)
    monkeypatch.setattr(Conditions, "judge", all_fall_that_are_fast)
    found = planner(**{"duration": 2.0, "commands.gaits": "stand", "vetting.shrink": 0.3}).plan()
    assert tried == [[1.0, 1], [0.3, 2], [0.3, 2]], "scales, and generations of candidates"
    assert found.scale == 0.3


def test_an_estimate_of_other_parameters_is_refused():
    with pytest.raises(ConfigError, match="other parameters"):
        planner(replace(POSTERIOR, names=POSTERIOR.names[::-1]))


def test_draws_spread_as_the_estimate_says_and_keep_the_bounds():
    drawn = np.array(draw(POSTERIOR, UNKNOWNS, 2000, np.random.default_rng(0)))
    sigma = np.sqrt(np.diag(POSTERIOR.covariance))
    k = UNKNOWNS.index["t1:0"]
    assert drawn[:, k].std() == pytest.approx(sigma[k], rel=0.1)
    assert (drawn >= UNKNOWNS.column("lower")).all()
    held = POSTERIOR.covariance.copy()
    held[k] = held[:, k] = 0.0
    drawn = np.array(draw(replace(POSTERIOR, covariance=held), UNKNOWNS, 500, np.random.default_rng(0)))
    assert drawn[:, k].std() > 0.5 * sigma[k], "what a bound holds may be anything beside it"


def test_without_more_motion_errors_are_those_of_the_estimate_and_more_of_the_same_lessens_noise_alone():
    forecast = planner(replace(POSTERIOR, covariance=9.0 * np.linalg.inv(POSTERIOR.information))).forecast
    known = forecast.known
    np.testing.assert_allclose(forecast.sigmas(known), forecast.now, rtol=1e-6)
    much = WalkInformation.without_pull(99.0 * known.information)
    np.testing.assert_allclose(forecast.sigmas(known + much), 0.1 * forecast.now, rtol=0.1)
    # A pull that moves all of them by as much as is known of them is another error of the walk's own estimate.
    slope = np.linalg.pinv(forecast._natural) @ forecast.now
    pulled = replace(much, pull=99.0 * known.information @ slope)
    alone = 9.0 / 99.0 * np.linalg.inv(known.information) + np.outer(slope, slope)
    both = np.linalg.inv(POSTERIOR.information / 9.0 + np.linalg.inv(alone))
    np.testing.assert_allclose(forecast.sigmas(known + pulled), forecast._root(both), rtol=0.01)
    assert (forecast._root(both) > 2.0 * forecast.sigmas(known + much)).any()
    assert forecast.cost(known + pulled) > forecast.cost(known + much)


def test_a_plan_promises_no_more_than_is_known_already_nor_than_it_tells_itself():
    rng = np.random.default_rng(4)
    forecast, count = planner(replace(POSTERIOR, covariance=4.0 * POSTERIOR.covariance)).forecast, len(UNKNOWNS)
    units = np.sqrt(forecast.known.information.diagonal())
    for size in (0.0, 1.0, 1e4):
        few = rng.normal(size=(3, count)) * units  # tells of three sums alone
        walk = WalkInformation(few.T @ few, size * few.T @ rng.normal(size=3))
        after = forecast.sigmas(forecast.known + walk)
        assert (after <= forecast.now * (1.0 + 1e-9)).all()
        assert (after < 0.999 * forecast.now).any()
        full = replace(walk, information=walk.information + np.diag(units**2))
        alone = forecast._beyond * np.linalg.inv(full.information)
        pull = np.linalg.solve(full.information, full.pull)
        alone = forecast._root(alone + np.outer(pull, pull))
        assert (forecast.sigmas(forecast.known + full) <= alone * (1.0 + 1e-9)).all()


def test_a_walk_whose_steps_change_its_clips_tells_less_and_pulls_by_no_more_than_noise_would():
    told = []
    for times in (0.0, 1.0, 1e6):
        own = planner()
        plain, others = own.forecast._simulator, own.forecast._others
        finer, finest = (Further(plain, other, times) for other in others[:2])
        own.forecast._others = others._replace(finer=finer, finest=finest)
        told.append(told_by_standing(own))
    none, some, far = told
    assert not none.pull.any()
    assert np.abs(some.pull).max() > 0.0
    scale = np.sqrt(none.information.diagonal())
    for more, less in ((none, some), (some, far)):
        lost = (more.information - less.information) / np.outer(scale, scale)
        assert np.linalg.eigvalsh(lost).min() > -1e-7  # starts that hardly move a clip are kept from it by 1e-9
        assert np.trace(lost) > 1e-6
    # By Cauchy and Schwarz: of clips in each of which residuals along the pull are one at most.
    assert (np.abs(far.pull) <= scale * own.forecast._clips**0.5 * (1.0 + 1e-9)).all()
    assert np.trace(far.information / np.outer(scale, scale)) > 0.5 * len(UNKNOWNS), "two directions of a clip at most"


def test_errors_in_proportion_to_the_step_pull_at_nothing_as_the_identification_takes_them_out():
    pulls = []
    for share in (1.5, 0.0):  # of what half a step changes, in a quarter of it
        own = planner()
        plain, finer = own.forecast._simulator, own.forecast._others.finer
        own.forecast._others = own.forecast._others._replace(finest=Further(plain, finer, share))
        pulls.append(np.abs(told_by_standing(own).pull))
    scale = np.sqrt(told_by_standing(planner()).information.diagonal())
    assert (pulls[0] / scale).max() < 0.02 * (pulls[1] / scale).max(), "but for what turns are not linear in"


@pytest.mark.parametrize("failing", ["_simulator", "finest"])
def test_a_clip_that_cannot_be_simulated_tells_nothing_and_one_that_steps_cannot_be_judged_of_all(failing):
    whole, own = planner(), planner()
    if failing == "_simulator":
        own.forecast._simulator = FirstClipFails(own.forecast._simulator)
    else:
        finest = FirstClipFails(own.forecast._others.finest)
        own.forecast._others = own.forecast._others._replace(finest=finest)
    less, more = told_by_standing(own), told_by_standing(whole)
    assert np.isfinite(less.information).all()
    assert np.isfinite(less.pull).all()
    told = np.trace(less.information) / np.trace(more.information)
    assert 0.5 < told < 0.95 if failing == "_simulator" else told > 1.0


def told_by_standing(own, clips=4):
    """What a walk tells in which the estimated robot stands."""
    first = np.zeros(1, dtype=np.int64)
    walks = own.crowd.follow(first, own._rest.take(first), CommandCurves.standing(1, 0.29), 0.4)
    return own.forecast.walk_information(walks.states, walks.targets, clips)[0]


class FirstClipFails:
    """Simulations of which those of the first clip end in no number."""

    def __init__(self, simulator):
        self._simulator = simulator

    def run(self, variants, work):
        states = self._simulator.run(variants, work)
        states[work.clip == 0] = np.nan
        return states


class Further:
    """Simulations whose difference from some is so many times that of others."""

    def __init__(self, plain, other, times):
        self._plain, self._other, self._times = plain, other, times

    def run(self, variants, work):
        plain = self._plain.run(variants, work)
        return plain + self._times * (self._other.run(variants, work) - plain)


def test_a_motion_tells_of_a_strength_at_its_bound_nearly_as_much_as_of_one_within_it():
    """Sought as 1 / strength it would tell a sixtieth, and no motion would be planned to find that strength."""
    k, told = UNKNOWNS.index["saturation:calf"], []
    for value in (1.0, UNKNOWNS.items[k].lower):
        values = POSTERIOR.values.copy()
        values[k] = value
        told.append(told_by_standing(planner(replace(POSTERIOR, values=values))).information[k, k])
    assert told[1] > 0.2 * told[0]
