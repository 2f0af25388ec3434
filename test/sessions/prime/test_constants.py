# SPDX-License-Identifier: Apache-2.0
"""Constants far from their priors, or moving by more than was learnt of them, are doubts with names."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from shared.legged_readings import still

from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.prime.config import TrustConfig
from sysid_nodes.sessions.prime.constants import FAR, MOVED, ConstantsWatch
from sysid_nodes.sessions.prime.trust import PrimeJudgement, Trust

NAMES = (
    *(f"base.{k}" for k in ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")),
    "links.mass",
    "ground.height",
)
PLACE = {"mass": 0, "shape": 1, "links": 10, "ground": 11}

LIMITS = TrustConfig(far=5.0, moved=5.0)


@cache
def standing() -> PrimeEstimate:
    return still(load_robot("go2"), np.array([-0.02, -0.01, 0.0]))


def estimate(t: float, *, sigma: float = 1.0, **values: float) -> PrimeEstimate:
    """Of constants whose priors are 0 +- 1, each +- sigma."""
    theta = np.zeros(len(NAMES))
    for name, value in values.items():
        theta[PLACE[name]] = value
    return replace(
        standing(),
        t=t + standing().t,
        parameter_names=NAMES,
        parameter_units=("1",) * len(NAMES),
        parameters=theta,
        parameter_covariance=sigma**2 * np.eye(len(NAMES)),
        prior_mean=np.zeros(len(NAMES)),
        prior_sigma=np.ones(len(NAMES)),
    )


def judged(trust: Trust, found: PrimeEstimate) -> PrimeJudgement:
    return trust.judge(found, (), "", float(found.t[-1]))


def test_a_constant_far_from_its_prior_is_named_once_it_has_lasted() -> None:
    """The others, all together within `trust.constants`, do not hide it. A torso's own are no matter: anything may be
    on it."""
    trust = Trust((), TrustConfig(), 0.25)
    assert judged(trust, estimate(1.0, links=3.9, mass=6.0)).status is PrimeStatus.GOOD
    first = judged(trust, estimate(1.05, links=4.5, mass=6.0))
    assert (first.status, first.inflation) == (PrimeStatus.GOOD, pytest.approx(4.5**2))
    then = judged(trust, estimate(1.15, links=4.5, mass=6.0))
    assert then.status is PrimeStatus.DOUBTFUL
    assert then.findings[0].subject == FAR
    assert "'links.mass' is 4.5 standard deviations from what is known of it" in then.sentence


@pytest.mark.parametrize("name", ["mass", "links"])
def test_a_constant_that_moves_by_more_than_was_learnt_is_named(name: str) -> None:
    """From 0 +- 0.5 to 0.4 +- 0.3 it moves by what it has learnt; to 2.5 +- 0.3, 5.8 times as far."""
    trust = Trust((), TrustConfig(), 0.25)
    assert judged(trust, estimate(1.0, sigma=0.5)).status is PrimeStatus.GOOD
    assert judged(trust, estimate(2.0, sigma=0.3, **{name: 0.4})).inflation == 1.0
    first = judged(trust, estimate(2.1, sigma=0.3, **{name: 2.5}))
    assert first.status is PrimeStatus.GOOD
    assert first.inflation > 5.0**2
    then = judged(trust, estimate(2.2, sigma=0.3, **{name: 2.5}))
    assert then.status is PrimeStatus.DOUBTFUL
    assert then.findings[0].subject == MOVED
    assert f"'{ {'mass': 'base.alpha', 'links': 'links.mass'}[name] }' has moved" in then.sentence


@pytest.mark.parametrize("name", ["shape", "ground"])
def test_how_a_mass_is_spread_and_what_gives_way_may_come_late_and_at_once(name: str) -> None:
    trust = Trust((), TrustConfig(), 0.25)
    judged(trust, estimate(1.0, sigma=0.3))
    assert judged(trust, estimate(2.0, sigma=0.3, **{name: 3.5})).inflation == 1.0


def test_what_the_estimator_was_sent_back_to_is_no_movement() -> None:
    """Nor are estimates compared with one that was doubted."""
    trust = Trust((), TrustConfig(), 0.25)
    judged(trust, estimate(1.0, sigma=0.1, links=2.0))
    trust.forget_constants()
    assert judged(trust, estimate(1.1, sigma=0.1)).inflation == 1.0
    for t in (2.0, 2.2):
        doubted = judged(trust, estimate(t, sigma=0.1, links=4.5))
    assert doubted.status is PrimeStatus.DOUBTFUL
    assert judged(trust, estimate(2.3, sigma=0.1)).inflation == 1.0


def test_constants_that_may_drift_may_move() -> None:
    """Within a memory of 4 s by their prior's standard deviation times sqrt(1 / 4) in a second."""
    found = []
    for memory in (0.0, 4.0):
        watch = ConstantsWatch(LIMITS, memory)
        watch.remember(estimate(1.0, sigma=0.1))
        found.append(watch.excesses(estimate(2.0, sigma=0.1, links=2.0)))
    assert [list(excesses) for excesses in found] == [[MOVED], []]


def test_an_estimator_that_is_right_is_hardly_ever_doubted() -> None:
    """Means of ever more readings: over 200 such walks of 25 estimates, 12 constants each, none beyond five."""
    rng = np.random.default_rng(5)
    worst = 0
    for _ in range(200):
        watch = ConstantsWatch(LIMITS)
        readings = rng.standard_normal((100, len(NAMES)))
        for count in range(4, 101, 4):
            found = estimate(0.5 * count, sigma=float(1.0 / np.sqrt(count)))
            found = replace(found, parameters=readings[:count].mean(axis=0))
            worst += bool(watch.excesses(found))
            watch.remember(found)
    assert worst == 0


def test_estimates_of_days_take_no_room() -> None:
    watch = ConstantsWatch(LIMITS)
    for t in range(1000):
        watch.remember(estimate(float(t)))
    assert len(watch._before) <= 16
    assert watch._before[0][0] == 0.0
