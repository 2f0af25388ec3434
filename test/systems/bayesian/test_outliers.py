# SPDX-License-Identifier: Apache-2.0
"""Readings weighed by robust losses: the variance that is told is that of many draws, outliers and all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.bayesian_coverage import CASES, spoil
from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from sysid_nodes.solvers.trajectory_least_squares.influence import Influence
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.config import NoiseConfig, SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.outliers import LOSSES, reweigh

COUNT, DRAWS, ROUNDS = 200, 400, 20


def contaminated(rng: np.random.Generator, share: float) -> np.ndarray:
    noise = rng.standard_normal(COUNT)
    return np.asarray(noise + 15.0 * (rng.random(COUNT) < share) * rng.choice([-1.0, 1.0], COUNT))


def fitted_mean(y: np.ndarray, loss: str) -> tuple[float, float]:
    """A mean by reweighted least squares, and its variance as a descent with these weights states it."""
    kinds, weight = np.zeros((COUNT, 1), dtype=np.intp), np.ones((COUNT, 1))
    mean = np.inf
    for _ in range(ROUNDS):
        before, mean = mean, float(np.average(y, weights=weight[:, 0]))
        leverage = weight / weight.sum()
        own = Influence(np.sqrt(weight) * (y - mean)[:, None], leverage, np.zeros((0, 1, 0)))
        found = reweigh(own, weight, kinds, 2, LOSSES[loss], known=False)
        variance = found.factor[0] * float(np.sum(found.psi**2) / np.sum(1.0 - leverage))
        weight = found.weight
        if abs(mean - before) < 1e-6:  # of a sigma of .07: nothing changes any more
            break
    return mean, variance / float(weight.sum())


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("loss", ["gaussian", "huber", "cauchy"])
def test_stated_variance_is_that_of_many_draws(loss: str, share: float) -> None:
    rng = np.random.default_rng(0)
    found = np.array([fitted_mean(contaminated(rng, share), loss) for _ in range(DRAWS)])
    # the variance of 400 draws is known to 7 % (one sigma)
    assert np.mean(found[:, 1]) == pytest.approx(np.var(found[:, 0]), rel=0.2)
    if share and loss != "gaussian":
        assert np.mean(found[:, 1]) < 0.15 * (1.0 + share * 15.0**2) / COUNT, "outliers do not count as noise"


def test_rows_that_are_not_counted_keep_their_weight() -> None:
    own = Influence(np.array([[0.1], [0.2], [-0.1], [9.0]]), np.zeros((4, 1)), np.zeros((0, 1, 0)))
    kinds = np.array([[0], [0], [0], [1]])
    assert reweigh(own, np.ones((4, 1)), kinds, 2, LOSSES["huber"], known=False).weight[3] == 1.0
    known = reweigh(own, np.ones((4, 1)), np.zeros((4, 1), dtype=np.intp), 2, LOSSES["huber"], known=True)
    assert known.weight[3] == pytest.approx(1.345 / 9.0)


@pytest.mark.slow
def test_outliers_of_a_leg_do_not_count_as_noise() -> None:
    """2 % of all readings are off by 20 sigma: a tenth of the stages' means by nine."""
    record = spoil(CASES["2 % outliers"], leg_run(3, 2.0)[1], 3)
    config = replace(CONFIG, held_out=0.0, search=SearchConfig(starts=1), verdict=VerdictConfig(samples=200))
    plain, robust = (
        identify(leg_log(record), leg(), replace(config, noise=NoiseConfig(loss=loss)))
        for loss in ("gaussian", "huber")
    )
    clean = 2e-4 / np.sqrt(5.0)
    for before, after in zip(plain.noise[:2], robust.noise[:2], strict=True):
        assert before.estimated > 2.0 * clean
        assert after.estimated < 1.6 * clean  # the outliers' bounded pull is noise, too
    known = NoiseConfig(clean, 0.05 / np.sqrt(5.0), power=1.0 / np.sqrt(5.0), estimate=False, loss="huber")
    stated = identify(leg_log(record), leg(), replace(config, noise=known))
    assert stated.noise[0].estimated == clean
    told = [{row.name: row for row in result.parameters}["crank_motor.coulomb"] for result in (stated, robust)]
    assert abs(told[0].mean - told[1].mean) < 2.0 * told[1].sigma
