# SPDX-License-Identifier: Apache-2.0
"""Whole identifications, as small as they can be; benchmarks.sampling_truth has those that mean something."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError, InputError, LogError
from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import ExtrapolatedSimulations
from sysid_nodes.solvers.shooting import Gaussian, Rollout
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.systems.sampling import SamplingConfig, gauss_newton, identify, solve
from sysid_nodes.systems.sampling.estimates import quantities
from sysid_nodes.systems.sampling.findings import rough_words, told
from sysid_nodes.systems.sampling.gauss_newton import _above, _covariance, _spread, _without_steps, fit_clips
from sysid_nodes.systems.sampling.identify import _result, cut_at_fall, prepare
from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips
from sysid_nodes.systems.sampling.settling import lead_in, settle_starts
from sysid_nodes.systems.sampling.solve import solve_clips
from sysid_nodes.systems.sampling.step_errors import whiten
from sysid_nodes.systems.sampling.unknowns import Unknowns

ROBOT = load_robot("go2")
SMALL = {
    "horizons.lengths": (0.03, 0.03),
    "horizons.clips": (10, 10),
    "horizons.iterations": (5, 2),
    "horizons.settling": 5,
    "verdict.shown": 0.1,
    "threads": 1,
}


@pytest.fixture(scope="module")
def ended(walk):
    """The fit, and the solution that its last search ended with."""
    config, ends = from_flat(SamplingConfig, SMALL), []
    own = walk.setting

    def search(*args, **named):
        found = solve_clips(*args, **named)  # with derivatives as wrong as secants can be
        wrong = replace(found.equations, hessian=2.0 * found.equations.hessian)
        ends.append(replace(found, equations=wrong, fresh=False))
        return ends[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gauss_newton, "solve_clips", search)
        return fit_clips(walk.log, own.unknowns, own.simulator, own.guess, own.others, config), ends[-1]


@pytest.fixture(scope="module")
def fit(ended):
    return ended[0]


def test_three_steps_on_short_clips_find_the_load(walk, fit):
    mass = walk.setting.unknowns.inertia(fit.vector, 0)[0]
    true = walk.setting.unknowns.inertia(walk.truth, 0)[0]
    assert abs(mass - true) < 0.2 * true, "the nominal robot is 39 % off; ten clips tell the mass to 13 %"
    assert fit.misfit < 3.0


def test_steps_of_the_simulations_that_judge_errors_of_steps_are_counted_too(walk, fit):
    before = walk.setting.simulator.steps + sum(other.steps for other in walk.setting.others)
    result = _result(walk.log, from_flat(SamplingConfig, SMALL), walk.setting, fit)
    # One clip of the nominal robot is settled besides, at most 5 times with derivatives anew.
    assert before <= result.steps <= before + 5 * 40 * 2 * 15


def test_the_covariance_is_no_smaller_than_noise_leaves_or_residuals_show_in_any_direction_nor_their_sum(ended):
    end = ended[1].linearise()
    found, spread = _covariance(end, end.equations, 2)[0], _spread(end, end.equations, 2)
    told = np.diag(spread.plain) > 0.0
    sigma = np.sqrt(np.diag(spread.plain)[told])

    def shares(difference):
        return np.linalg.eigvalsh(difference[np.ix_(told, told)] / np.outer(sigma, sigma))

    prior = spread.plain @ np.diag(end.equations.information) @ spread.plain
    assert shares(found - spread.plain).min() > -1e-6
    assert shares(found - spread.matrix - prior).min() > -1e-6
    assert shares(found - spread.plain).max() > 0.1, "clips differ by more than noise"
    assert shares(spread.plain + spread.matrix - found).sum() > 0.1


def test_where_residuals_show_no_errors_the_prior_is_counted_once(ended):
    end = ended[1].linearise()
    rows = end.equations.rows.copy()
    rows[:, -1] = 0.0
    found, _ = _covariance(end, replace(end.equations, rows=rows), 2)
    plain = _spread(end, end.equations, 2).plain
    assert (plain.diagonal() * end.equations.information).max() > 0.9, "one that hardly anything but the prior tells"
    np.testing.assert_allclose(found, plain, atol=1e-9 * plain.max())


def test_what_a_jackknife_shows_beyond_noise_is_added_in_its_own_direction():
    unit = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    move = np.array([2.0, -1.0, 0.0])
    np.testing.assert_allclose(_above(np.outer(move, move) - 0.5 * unit, unit)[2], 0.0)
    np.testing.assert_allclose(_above(np.outer(move, move), unit), np.outer(move, move), atol=1e-12)
    np.testing.assert_allclose(_above(-0.5 * unit, unit), 0.0, atol=1e-12)


def test_doubts_of_steps_and_of_a_search_that_did_not_end_are_in_the_covariance(walk, ended):
    fit, end = ended[0], ended[1].linearise()
    equations, _, doubts = _without_steps(end, walk.setting.others)
    alone, left = _covariance(end, equations, 2)[0], end.remaining_step()
    assert not end.converged and np.abs(left).max() > 0.0
    units = np.sqrt(np.diag(alone) + (np.diag(alone) == 0.0))
    true = alone + doubts.T @ doubts + np.outer(left, left)
    assert (np.abs(doubts).max(axis=1) > 0.0).all()
    own, unsure = end.problem.residuals(end.parameters), beside(walk.setting.others.holding, end)
    half, quarter = (beside(other, end) for other in walk.setting.others[:2])
    none = ExtrapolatedSimulations(*walk.setting.others[:2])
    rough = rough_of(half, quarter)
    bent = end.step_after(end.others(own + 2.0 * quarter - half, unsure, rough), none, unsure, rough)[:-1]
    np.testing.assert_allclose(fit.bent / units, bent / units, atol=1e-6)
    np.testing.assert_allclose(fit.covariance / np.outer(units, units), true / np.outer(units, units), atol=1e-6)


def test_errors_rest_on_derivatives_simulated_where_the_search_ended(walk, ended):
    fit, end = ended
    problem, first = end.problem, end.problem.length * np.arange(len(end.problem.first))
    start, known = problem.start(first)
    rollout = problem.rollout(end.parameters, first, start)
    # Outliers are those that no step would leave; how gears hold is one parameter more (Schur's complement).
    half, quarter = (beside(other, end) for other in walk.setting.others[:2])
    rest = problem.residuals(end.parameters) + 2.0 * quarter - half
    unsure = beside(walk.setting.others.holding, end).reshape(*rollout.residual.shape, 1)
    # What steps do to a clip is of its covariance.
    parts = (rollout.by_parameters, unsure, rollout.by_start, rest[..., None])
    columns = np.concatenate([part.reshape(*rest.shape, -1) for part in parts], axis=2)
    columns = whiten(columns, rough_of(half, quarter)).reshape(*rollout.residual.shape, -1)
    k = len(end.parameters) + 1
    rollout = Rollout(columns[..., -1], columns[..., :k], columns[..., k:-1])
    vector, prior = (
        np.append(end.parameters, 0.0),
        Gaussian(*(np.append(part, 1.0) for part in vars(end.prior).values())),
    )
    full = assemble(rollout, first, vector, prior, start, known, end.loss).reduced_hessian
    true = np.linalg.inv(np.linalg.inv(full)[:-1, :-1])
    scale = np.sqrt(np.outer(true.diagonal(), true.diagonal()))
    np.testing.assert_allclose(fit.information / scale, true / scale, atol=1e-6)


def rough_of(half, quarter):
    """What errors of steps may be in residuals, by the changes of half and of a quarter of the step."""
    return np.array([2.0 * quarter - 3.0 * half, half])


def beside(other, end):
    """Difference that other simulations make to the residuals."""
    own = end.problem.residuals(end.parameters)
    return replace(end.problem, simulator=other).residuals(end.parameters) - own


def errors_of_steps(monkeypatch, end, others, order):
    """Simulations whose residuals are off by a power of the step alone; residuals without it, and it, (C, L m)."""
    own, loud = end.problem.residuals(end.parameters), beside(others.finer, end)
    parts = {id(end.problem.simulator): 1.0, id(others.finer): 0.5, id(others.finest): 0.25, id(others.holding): 1.0}
    monkeypatch.setattr(ClipProblem, "residuals", lambda p, _: own + parts[id(p.simulator)] ** order * loud)
    return own, loud


def test_errors_in_proportion_to_the_step_are_taken_out_and_leave_no_doubt(walk, ended, monkeypatch):
    end = replace(ended[1].linearise(), loss=None)  # which changes with the residuals
    own, loud = errors_of_steps(monkeypatch, end, walk.setting.others, 1)
    equations, moved, (doubt, alike, _) = _without_steps(end, walk.setting.others)
    rough = rough_of(-0.5 * loud, -0.75 * loud)
    fully = end.step(end.others(own, 0.0 * loud, rough[:0]))[:-1]
    np.testing.assert_allclose(alike, moved - fully, rtol=1e-6, atol=1e-9)
    assert np.abs(alike).max() > 0.01 * np.abs(moved).max(), "some clips tell less for their steps"
    np.testing.assert_allclose(moved, end.step(end.others(own, 0.0 * loud, rough))[:-1], rtol=1e-6, atol=1e-9)
    assert np.abs(doubt).max() < 1e-9 * np.abs(moved).max()
    # At their solution the next step is none, but for the little that keeps hardly known starts from being solved for.
    units = np.sqrt(equations.reduced_hessian.diagonal())
    assert np.abs(units * end.step(equations)).max() < 0.05 * np.abs(units[:-1] * moved).max()


def test_errors_that_fall_faster_than_the_step_are_doubted_by_more_than_is_left_of_them(walk, ended, monkeypatch):
    end = replace(ended[1].linearise(), loss=None)
    own, loud = errors_of_steps(monkeypatch, end, walk.setting.others, 2)
    _, moved, (doubt, *_) = _without_steps(end, walk.setting.others)
    rough = rough_of(-0.75 * loud, -0.9375 * loud)
    still, whole = (end.step(end.others(own + part * loud, 0.0 * loud, rough))[:-1] for part in (0.0, 1.0))
    np.testing.assert_allclose(moved - still, -0.125 * (whole - still), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(doubt, 0.375 * (whole - still), rtol=1e-5, atol=1e-9)


def test_a_clip_whose_steps_disagree_much_pulls_no_harder_for_it(walk, ended, monkeypatch):
    """So that livelier motion after a calm one does not decide over it."""
    end = replace(ended[1].linearise(), loss=None)
    own, alone = end.problem.residuals(end.parameters), beside(walk.setting.others.finer, end)
    alone[1:] = 0.0
    alone *= 10.0 / np.linalg.norm(alone)
    parts, doubts = {id(other): part for other, part in zip(walk.setting.others[:2], (0.5, 0.25), strict=True)}, []
    for size in (1.0, 100.0):
        change = {number: part**2 * size * alone for number, part in parts.items()}
        monkeypatch.setattr(
            ClipProblem, "residuals", lambda p, _, change=change: own + change.get(id(p.simulator), 0.0 * own)
        )
        doubts.append(_without_steps(end, walk.setting.others)[2][0])
    units = np.sqrt(end.equations.reduced_hessian.diagonal())
    small, large = (np.abs(units * doubt).max() for doubt in doubts)
    assert small > 0.0
    assert large < small, "a hundred times of it, were it not for its size"


def test_errors_are_taken_in_units_of_what_steps_may_add_to_them():
    rough = 3.0 * np.random.default_rng(5).normal(size=(2, 3, 7))
    rough[1, 2] = 0.0
    units = whiten(np.tile(np.eye(7), (3, 1, 1)), rough)
    covariance = np.eye(7) + np.einsum("ecr,ecs->crs", rough, rough)
    np.testing.assert_allclose(units @ covariance @ np.swapaxes(units, 1, 2), np.tile(np.eye(7), (3, 1, 1)), atol=1e-12)


@pytest.mark.parametrize(("bend", "failed"), [(0.0, False), (0.3, False), (0.0, True)])
def test_what_the_linear_model_gets_wrong_of_a_step_is_told_by_simulations_at_its_end(ended, monkeypatch, bend, failed):
    """Residuals that are straight, or bent by a share of what the step changes, or of a clip that is lost there."""
    end = replace(ended[1].linearise(), loss=None)
    own, unsure = end.problem.residuals(end.parameters), np.zeros_like(end.problem.residuals(end.parameters))
    unsure[:, ::7] = 0.1
    none = np.zeros((0, *own.shape))
    equations = end.others(own, unsure, none)
    change, shape = end.step(equations), (len(own), -1)

    def trials(problem, parameters, starts):
        assert problem.simulator == "another"
        moved = np.einsum("smk,k->sm", end.rollout.by_parameters, parameters - end.parameters).reshape(shape)
        columns = end.rollout.by_start.reshape(*own.shape, -1)
        found = own + (1.0 - bend) * (moved + np.einsum("crd,vcd->vcr", columns, starts))
        found[:, 0] = np.nan if failed else found[:, 0]
        return np.nan_to_num((found**2).sum(axis=2), nan=np.inf), found

    monkeypatch.setattr(ClipProblem, "trials", trials)
    monkeypatch.setattr(solve, "_START_DAMPINGS", (0.0,))
    left, units = end.step_after(equations, "another", unsure, none), np.sqrt(equations.reduced_hessian.diagonal())
    left -= end.step(equations.shift_parameters(change))  # what keeps hardly known starts from being solved for
    share = np.abs(units * left).max() / np.abs(units * change).max()
    # Straight, rounding is left; bent, that share of the step, but for how gears hold, a straight part of it, here an
    # eighth; a clip that is lost, its pull and no one else's.
    least, most = (0.1, 2.0) if failed else (0.8 * bend, 1.1 * bend + 1e-5)
    assert least <= share < most


def test_parameters_are_named_whose_correction_for_steps_is_much_of_their_doubt():
    unknowns = Unknowns(ROBOT, SamplingConfig())
    vector, found = unknowns.column("guess"), quantities(unknowns, SamplingConfig().verdict)
    for size, said in ((0.4, ()), (0.6, ("strength.calf",))):
        bent = size * np.eye(len(vector))[unknowns.index["saturation:calf"]] * 0.01
        words = rough_words(found, SimpleNamespace(vector=vector, covariance=1e-4 * np.eye(len(vector)), bent=bent))
        assert tuple(w.rsplit(": ", 1)[1] for w in words) == said


def test_how_gears_hold_is_told_by_a_log_and_taken_out_of_it(walk, ended):
    end = ended[1].linearise()
    own, unsure = end.problem.residuals(end.parameters), beside(walk.setting.others.holding, end)
    loud = 30.0 * unsure  # so that the prior of its share does not matter
    none = np.zeros((0, *own.shape))
    before, after = (end.step(end.others(own + change, loud, none)) for change in (0.0, 60.0 * unsure))
    deaf, misled = (end.step(end.others(own + change, 0.0 * unsure, none)) for change in (0.0, 60.0 * unsure))
    units = np.sqrt(end.equations.reduced_hessian.diagonal())
    assert after[-1] - before[-1] == pytest.approx(-2.0, abs=0.1)
    assert np.abs(units * (after - before)[:-1]).max() < 0.1 * np.abs(units * (misled - deaf)[:-1]).max()


def test_derivatives_by_the_start_states_are_simulated_for_the_last_step_alone(walk, monkeypatch):
    own, kept = walk.setting, []
    length, first = 16, place_clips(walk.log, 16, 6, np.random.default_rng(3))
    begin = own.guess.at(first)
    problem = ClipProblem(walk.log, walk.config.noise, own.unknowns, own.simulator, first, length, begin)
    guess = own.unknowns.column("guess")
    settled = settle_starts(problem, guess, 3)
    plain = ClipProblem.rollout

    def rollout(self, *args, by_start=None):
        kept.append(by_start is not None)
        return plain(self, *args, by_start=by_start)

    monkeypatch.setattr(ClipProblem, "rollout", rollout)
    prior = Gaussian(guess, own.unknowns.column("sigma") ** -2.0)
    search = {"iterations": 5, "tolerance": 0.0, "robust": 4.0, "by_start": settled.by_start}
    found = solve_clips(settled.problem, guess, prior, own.unknowns.coarse, **search)
    assert len(kept) >= 3, "at the beginning, after two steps, before the last; more where a step is refused"
    assert kept.count(False) == 1
    assert not kept[-1]
    assert found.fresh
    assert found.linearise() is found
    # What the covariance rests on was simulated a step before, at most: that step is small.
    there = plain(found.problem, found.parameters, length * np.arange(len(first)), np.zeros((len(first), 36)))
    error = np.linalg.norm(found.rollout.by_parameters - there.by_parameters)
    assert error < 0.1 * np.linalg.norm(there.by_parameters)


def test_simulations_that_do_not_follow_the_motion_claim_nothing(walk):
    few = {"horizons.clips": (6, 6), "horizons.iterations": (1, 1), "horizons.settling": 1, "verdict.misfit": 1.0}
    config = from_flat(SamplingConfig, SMALL | few)
    up = walk.log.up.copy()
    up[700:, 2] = 0.1
    result = identify(replace(walk.log, up=up), ROBOT, config)
    assert result.findings[0] == "the robot falls after 1.4 s; what follows is not used"
    assert result.status is SamplingStatus.UNTRUSTED
    assert not any(p.identifiable for p in result.parameters)


def test_what_comes_after_a_fall_is_not_used(walk):
    up = walk.log.up.copy()
    up[650:, 2] = 0.1
    cut = cut_at_fall(replace(walk.log, up=up))
    assert cut.usable[:490].sum() > 480
    assert not cut.usable[500:].any()
    with pytest.raises(LogError, match="falls before"):
        cut_at_fall(replace(walk.log, up=np.zeros_like(up)))


def test_a_log_that_is_too_short_is_refused(walk):
    usable = walk.log.usable.copy()
    usable[60:] = False
    with pytest.raises(LogError, match=r"clips of 0\.03 s with all streams"):
        identify(replace(walk.log, usable=usable), ROBOT, from_flat(SamplingConfig, SMALL))


def test_a_cluster_is_asked_for_by_its_address_and_instead_of_processes(walk):
    with pytest.raises(InputError, match="nonsense://x: no Dask scheduler answers"):
        prepare(walk.log, ROBOT, from_flat(SamplingConfig, {"scheduler": "nonsense://x"}))
    for two in ({"scheduler": "tcp://x:8786", "processes": 2}, {"processes": 2, "device": "cpu"}):
        with pytest.raises(ConfigError, match="'processes', 'scheduler' and 'device' exclude one another"):
            from_flat(SamplingConfig, two)


@pytest.mark.parametrize(("bent", "known", "said"), [(0.1, 1.0, True), (0.01, 1.0, False), (0.1, np.nan, False)])
def test_gears_that_bend_are_told_as_no_interval_holds_another_law_of_it(bent, known, said):
    """Not of the paper's method, which has no intervals."""
    unknowns = Unknowns(ROBOT, SamplingConfig())
    vector = unknowns.column("guess")
    vector[unknowns.index["bristle_friction"]] = bent
    fit = SimpleNamespace(converged=True, vector=vector, covariance=known * np.eye(len(vector)))
    log = SimpleNamespace(faults=(), usable=np.ones(9, dtype=bool))
    found = told(log, fit, {}, unknowns)
    assert [words.startswith("gears bend before they slide (0.10 N m)") for words in found] == [True] * said


def test_a_device_that_cannot_be_had_is_one_line(walk, monkeypatch):
    on_device = from_flat(SamplingConfig, {"device": "nonsense"})
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    with pytest.raises(ConfigError, match=r"'device' needs mujoco-warp; pip install 'sysid-nodes\[warp\]'"):
        prepare(walk.log, ROBOT, on_device)


def test_a_lead_as_long_as_clips_is_refused():
    with pytest.raises(ConfigError, match=r"'horizons\.lead' leaves nothing of the last level's clips"):
        from_flat(SamplingConfig, {"horizons.lead": 0.1})


def test_the_last_level_has_the_lead_that_is_asked_for_and_the_first_is_led_to(walk, monkeypatch):
    leads, led, config = (
        [],
        [],
        from_flat(SamplingConfig, SMALL | {"horizons.lead": 0.01, "horizons.iterations": (1, 1)}),
    )

    def search(problem, *args, **named):
        leads.append(problem.lead)
        return solve_clips(problem, *args, **named)

    monkeypatch.setattr(gauss_newton, "solve_clips", search)
    monkeypatch.setattr(
        gauss_newton, "lead_in", lambda problem, *rest: led.append(len(leads)) or lead_in(problem, *rest)
    )
    own = walk.setting
    fit_clips(walk.log, own.unknowns, own.simulator, own.guess, own.others, config)
    assert leads == [0, 5]
    assert led == [0]
