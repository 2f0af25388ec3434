# SPDX-License-Identifier: Apache-2.0
"""Draws from the posterior against a brute-force one: draws from the prior, weighed by what a log tells.

Tolerances are four standard errors of means and spreads of one or two thousand effective draws on either side.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.linalg import null_space

from benchmarks.bayesian_log import leg
from sysid_nodes.systems.bayesian import BayesianConfig, posterior_draws
from sysid_nodes.systems.bayesian.config import DrivePriorConfig, InertiaPriorConfig
from sysid_nodes.systems.bayesian.correlated_errors import estimate_with_correlated_errors
from sysid_nodes.systems.bayesian.estimate import LogInformation
from sysid_nodes.systems.bayesian.parameters import Parameters, build_parameters
from sysid_nodes.systems.bayesian.posterior_draws import draw_posterior

Array = npt.NDArray[np.float64]

_BRUTE = 60_000
_DRAWS = 4000


def constants(total_mass: float = 0.0, bodies: str = "thigh", armature: float = 0.05) -> Parameters:
    """A leg's bodies and one rotor, with inertias that are hardly known before."""
    inertia = InertiaPriorConfig(bodies=bodies, mass_sigma=0.5, shape_sigma=0.8, total_mass=total_mass)
    config = BayesianConfig(inertia=inertia, drive=DrivePriorConfig(armature_sigma=armature, offset_sigma=0.0))
    own = build_parameters(leg(), config, power=False)
    sigma = own.sigma.copy()
    sigma[10 * own.n :] = 0.0
    sigma[own.joint("armature").start] = armature
    return replace(own, sigma=sigma)


def draw_prior(own: Parameters, count: int, seed: int) -> Array:
    """(count, P) within the bounds."""
    x = own.mean + own.sigma * np.random.default_rng(seed).standard_normal((count, len(own.mean)))
    return np.asarray(x[np.all((x >= own.lower) & (x <= own.upper), axis=1)])


def draw_both(own: Parameters, told: LogInformation) -> tuple[Array, Array, float]:
    """First-order draws about the minimum, exact ones, and what the latter are worth."""
    found = estimate_with_correlated_errors(own, told, np.zeros((len(own.free), len(own.free))), own.mean)
    assert found is not None
    rng = np.random.default_rng(1)
    steps = found[1].samples(_DRAWS, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(posterior_draws, "_ENOUGH", np.inf)  # all of them, for a sharper comparison
        return found[0][own.free] + steps, *draw_posterior(own, told, found[0], one_by_one(steps), _DRAWS, rng)


def one_by_one(steps: Array) -> Callable[[int], Array]:
    """Hands out draws (S, p), from the beginning again where there are no more."""
    endless = itertools.cycle(steps)
    return lambda count: np.array(list(itertools.islice(endless, count)))


def compare(own: Parameters, told: LogInformation, x: Array) -> Array:
    """Means and spreads of exact draws with those of the prior's draws x (S, P), weighed by the log; the former."""
    log = -0.5 * np.sum((phi(own, x) @ told.root.T - told.target) ** 2, axis=1)
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    brute, theta = 1.0 / np.sum(weight**2), x[:, own.free]
    assert brute > 1200.0, "the reference is worth little"
    mean = weight @ theta
    sigma = np.sqrt(weight @ (theta - mean) ** 2)
    first, exact, worth = draw_both(own, told)
    assert worth > 1000.0
    allowed = 4.0 * np.sqrt(1.0 / brute + 1.0 / worth)
    assert np.abs((exact.mean(axis=0) - mean) / sigma).max() < allowed
    np.testing.assert_allclose(exact.std(axis=0) / sigma, 1.0, atol=allowed)
    assert np.abs((first.mean(axis=0) - mean) / sigma).max() > allowed, "the first order would have passed as well"
    return exact


def phi(own: Parameters, x: Array) -> Array:
    """(S, p) in which torques are linear."""
    out = x.copy()
    out[:, : 10 * own.n] = own.inertia(x).reshape(len(x), -1)
    return np.asarray(out[:, own.free])


def in_sum(own: Parameters, sigma: float) -> LogInformation:
    """A log that tells the moment of the first unknown body and the rotor's inertia only in sum, 1.5 of the nominal."""
    row = np.zeros((1, len(own.free)))
    row[0, 6], row[0, -1] = 1.0, 1.0  # Iyy, armature
    wanted = 1.5 * float((phi(own, own.mean[None]) @ row.T)[0, 0])
    return LogInformation(row / sigma, np.array([wanted / sigma]))


def test_a_sum_of_rotor_and_link_is_shared_out_by_the_prior_itself() -> None:
    own = constants()
    compare(own, in_sum(own, 0.004), draw_prior(own, _BRUTE, 0))


def test_given_the_total_mass() -> None:
    """Prior draws of one mass are those whose mass is nearly it: within two hundredths of its spread."""
    nominal = constants(bodies="thigh,shank")
    mass = 1.2 * float(nominal.inertia(nominal.mean)[:, 0].sum())
    own = constants(mass, "thigh,shank")
    at = slice(0, 10 * own.n, 10)
    root = own.mean[at] + own.sigma[at] * np.random.default_rng(2).standard_normal((10 * _BRUTE, own.n))
    masses = np.exp(2.0 * root).sum(axis=1)
    near = root[np.abs(masses - mass) < 0.02 * masses.std()]
    x = draw_prior(own, 2 * len(near), 0)[: len(near)]
    x[:, at] = near
    exact = compare(own, in_sum(own, 0.01), x)
    every = np.tile(own.mean, (len(exact), 1))
    every[:, own.free] = exact
    np.testing.assert_allclose(own.inertia(every)[..., 0].sum(axis=1), mass, rtol=1e-6)


@pytest.mark.parametrize("total", [0.0, 1.2])
def test_draws_and_weights_are_those_of_the_definition(total: float) -> None:
    """Q'F has the value of a linear F, and weights differ by what |F|, |Q'F| and the determinant do; all dense."""
    nominal = constants(bodies="thigh,shank")
    own = constants(total * float(nominal.inertia(nominal.mean)[:, 0].sum()), "thigh,shank")
    told, rng = in_sum(own, 0.01), np.random.default_rng(0)
    found = estimate_with_correlated_errors(own, told, np.zeros((len(own.free), len(own.free))), own.mean)
    assert found is not None
    x, sigma, steps = found[0], own.sigma[own.free], 0.5 * found[1].samples(40, rng)
    theta, log = posterior_draws._Residuals(own, told, x).move(steps)

    def model(at: Array) -> tuple[Array, Array, Array]:
        """F, its derivative and the equalities' by theta in units of the prior."""
        every, (value, slope) = own.equalities(at), own.linear(at)
        residual = np.concatenate([told.root @ value - told.target, (at - own.mean)[own.free] / sigma])
        return residual, np.concatenate([told.root @ (slope * sigma), np.eye(len(sigma))]), every[:, own.free] * sigma

    start, slopes, across = model(x)
    along = null_space(across) if len(across) else np.eye(len(sigma))
    basis = np.linalg.qr(slopes @ along)[0]
    wanted = []
    for k, point in enumerate(theta):
        at = x.copy()
        at[own.free] = point
        residual, derivative, equal = model(at)
        np.testing.assert_allclose(basis.T @ residual, basis.T @ (start + slopes @ (steps[k] / sigma)), atol=1e-6)
        determinant = np.linalg.slogdet(np.concatenate([basis.T @ derivative, equal]))[1]
        wanted.append(0.5 * (np.sum((basis.T @ residual) ** 2) - np.sum(residual**2)) - determinant)
    off = (log - np.array(wanted))[np.isfinite(log)]
    assert len(off) > 10
    assert np.ptp(off) < 1e-3, "determinants are of before Newton's last step, of 3e-4 sigmas at most"


def test_steps_by_the_shared_derivative_lead_to_the_same_draws_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    own, rng, asked, ends = constants(), np.random.default_rng(0), list[int](), []
    told = in_sum(own, 0.004)
    found = estimate_with_correlated_errors(own, told, np.zeros((len(own.free), len(own.free))), own.mean)
    assert found is not None
    steps = found[1].samples(200, rng)
    residuals = posterior_draws._Residuals(own, told, found[0])
    plain = residuals._derivatives

    def counted(bodies: Array, ways: Array) -> Array:
        asked[-1] += len(bodies)
        return plain(bodies, ways)

    monkeypatch.setattr(residuals, "_derivatives", counted)
    for chords in (0, posterior_draws._CHORDS):
        monkeypatch.setattr(posterior_draws, "_CHORDS", chords)
        asked.append(0)
        ends.append(residuals.move(steps))
    one, other = (np.isfinite(log) for _, log in ends)
    both = one & other
    assert both.sum() > 100, "the others leave the bounds"
    assert np.sum(one != other) <= 2
    # Newton's last step leaves the square of a thousandth of a sigma, in units of what the log tells.
    np.testing.assert_allclose(
        ends[0][0][both] / own.sigma[own.free], ends[1][0][both] / own.sigma[own.free], atol=1e-4
    )
    assert asked[1] < 0.8 * asked[0]


def test_a_bound_is_kept_and_leaves_the_rest_as_it_is_within() -> None:
    """A rotor that may be nothing: half of the first order's draws about it are cut off."""
    own = constants(armature=0.02)
    exact = compare(own, in_sum(own, 0.02), draw_prior(own, _BRUTE, 0))
    assert exact[:, -1].min() >= 0.0


def test_what_cannot_be_moved_is_worth_nothing() -> None:
    """A log that contradicts the estimate beyond all measure: the first order is handed back, and said to be."""
    own = constants()
    told = in_sum(own, 0.004)
    steps = 1e3 * own.sigma[own.free] * np.random.default_rng(0).standard_normal((100, len(own.free)))
    draws, worth = draw_posterior(own, told, own.mean, one_by_one(steps), 100, np.random.default_rng(0))
    assert worth <= 1.0
    np.testing.assert_array_equal(draws, own.mean[own.free] + steps)


def test_where_no_body_is_unknown_all_draws_stay_as_they_are() -> None:
    """The log is straight in friction and rotors: to move and choose draws would only leave fewer of them."""
    own = constants(bodies="none")
    told = LogInformation(np.array([[1.0 / 0.01]]), np.array([8.0]))
    first, exact, worth = draw_both(own, told)
    np.testing.assert_array_equal(first, exact)
    assert worth == _DRAWS
