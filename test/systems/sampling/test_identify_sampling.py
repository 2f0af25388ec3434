# SPDX-License-Identifier: Apache-2.0
"""Whole identifications, as small as they can be; benchmarks.sampling_truth has those that mean something."""

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError, InputError, LogError
from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.solvers.shooting import Gaussian
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.systems.sampling import SamplingConfig, gauss_newton, identify
from sysid_nodes.systems.sampling.gauss_newton import _without_steps, fit_clips
from sysid_nodes.systems.sampling.identify import cut_at_fall, prepare
from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips
from sysid_nodes.systems.sampling.settling import settle_starts
from sysid_nodes.systems.sampling.solve import solve_clips

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


def test_the_covariance_is_no_smaller_than_noise_leaves_and_what_was_not_fitted_is_not_claimed(walk, fit):
    k = walk.setting.unknowns.index["alpha:0"]
    assert fit.covariance[k, k] > fit.plain[k, k] > 0.0
    assert np.linalg.eigvalsh(fit.covariance).min() > -1e-12


def test_errors_rest_on_derivatives_simulated_where_the_search_ended(walk, ended):
    fit, end = ended
    problem, first = end.problem, end.problem.length * np.arange(len(end.problem.first))
    start, known = problem.start(first)
    rollout = problem.rollout(end.parameters, first, start)
    # Outliers are those that no step would leave; how gears hold is one parameter more (Schur's complement).
    rest = problem.residuals(end.parameters) + 2.0 * beside(walk.setting.others.finer, end)
    rollout = rollout._replace(residual=rest.reshape(rollout.residual.shape))
    unsure = beside(walk.setting.others.holding, end).reshape(*rollout.residual.shape, 1)
    rollout = rollout._replace(by_parameters=np.concatenate([rollout.by_parameters, unsure], axis=2))
    vector, prior = (
        np.append(end.parameters, 0.0),
        Gaussian(*(np.append(part, 1.0) for part in vars(end.prior).values())),
    )
    full = assemble(rollout, first, vector, prior, start, known, end.loss).reduced_hessian
    true = np.linalg.inv(np.linalg.inv(full)[:-1, :-1])
    scale = np.sqrt(np.outer(true.diagonal(), true.diagonal()))
    np.testing.assert_allclose(fit.information / scale, true / scale, atol=1e-6)


def beside(other, end):
    """Difference that other simulations make to the residuals."""
    own = end.problem.residuals(end.parameters)
    return replace(end.problem, simulator=other).residuals(end.parameters) - own


def test_the_estimate_is_of_no_step_at_all_and_doubted_by_half_of_one(walk, ended):
    end = replace(ended[1].linearise(), loss=None)  # which changes with the residuals
    equations, moved, half = _without_steps(end, walk.setting.others)
    still = end.step(end.others(end.problem.residuals(end.parameters), beside(walk.setting.others.holding, end)))[:-1]
    assert np.abs(half).max() > 0.0
    np.testing.assert_allclose(moved - still, 2.0 * half, rtol=1e-6, atol=1e-9)
    # At their solution the next step is none, but for the little that keeps hardly known starts from being solved for.
    units = np.sqrt(equations.reduced_hessian.diagonal())
    assert np.abs(units * end.step(equations)).max() < 0.05 * np.abs(units[:-1] * moved).max()


def test_how_gears_hold_is_told_by_a_log_and_taken_out_of_it(walk, ended):
    end = ended[1].linearise()
    own, unsure = end.problem.residuals(end.parameters), beside(walk.setting.others.holding, end)
    loud = 30.0 * unsure  # so that the prior of its share does not matter
    before, after = (end.step(end.others(own + change, loud)) for change in (0.0, 60.0 * unsure))
    ignored = end.step(end.others(own + 60.0 * unsure, 0.0 * unsure)) - end.step(end.others(own, 0.0 * unsure))
    units = np.sqrt(end.equations.reduced_hessian.diagonal())
    assert after[-1] - before[-1] == pytest.approx(-2.0, abs=0.1)
    assert np.abs(units * (after - before)[:-1]).max() < 0.1 * np.abs(units * ignored[:-1]).max()


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
    with pytest.raises(ConfigError, match="'processes' and 'scheduler' exclude one another"):
        from_flat(SamplingConfig, {"scheduler": "tcp://x:8786", "processes": 2})
