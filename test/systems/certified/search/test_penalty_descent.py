# SPDX-License-Identifier: Apache-2.0
"""Cost and stiff penalty in a box: minima known by hand, and those that a general method finds from there on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sysid_nodes.systems.certified.search.limit_rows import PENALTY, Rows
from sysid_nodes.systems.certified.search.penalty_descent import descend

Array = npt.NDArray[np.float64]

BOX = np.full(2, 0.3)
NONE = Rows(np.zeros(0), np.zeros((0, 2)))


class Bowl:
    """sum_i b_i (1 - cos(x_i - m_i)), which bends the other way far from m; counts how often it is asked."""

    def __init__(self, middle: Array, bend: Array) -> None:
        self.middle, self.bend, self.asked = middle, bend, 0

    def __call__(self, k: Array) -> tuple[float, Array]:
        self.asked += 1
        away = k - self.middle
        return float(self.bend @ (1.0 - np.cos(away))), self.bend * np.sin(away)


def test_without_limits_it_is_the_cost_s_minimum_or_the_box_s_nearest_to_it() -> None:
    bowl = Bowl(np.array([0.3, -0.9]), np.array([5.0, 20.0]))
    found = descend(bowl, NONE, np.zeros(2), np.full(2, -0.5), np.full(2, 0.5), 20)
    # a decrease of 3e-3 is not worth another value: 5 x^2 / 2 of it is x = .035
    np.testing.assert_allclose(found, [0.3, -0.5], atol=0.035)


def test_a_limit_gives_way_by_what_the_cost_pulls_over_twice_the_penalty() -> None:
    bowl = Bowl(np.array([2.0, 0.0]), np.array([100.0, 100.0]))
    found = descend(bowl, Rows(np.array([0.2]), np.array([[-1.0, 0.0]])), np.zeros(2), np.full(2, -1.0), np.ones(2), 20)
    beyond = 100.0 * np.sin(1.8) / (2.0 * PENALTY)
    # 3e-3 of PENALTY x^2 is x = .001
    np.testing.assert_allclose(found, [0.2 + beyond, 0.0], atol=2e-3)
    assert bowl.asked <= 10


def test_from_where_limits_are_missed_by_far_it_comes_back_inside_them() -> None:
    bowl = Bowl(np.zeros(2), np.ones(2))
    rows = Rows(np.array([-0.5, -0.2]), np.array([[1.0, 1.0], [1.0, -1.0]]))  # x + y >= .5, x - y >= .2
    found = descend(bowl, rows, np.array([-1.0, 0.9]), np.full(2, -1.0), np.ones(2), 20)
    assert rows.shortfall(found) < 1e-3
    # the nearest to 0 of them is a corner
    np.testing.assert_allclose(found, [0.35, 0.15], atol=2e-2)


def test_it_stays_in_the_box_and_within_its_number_of_values() -> None:
    bowl = Bowl(np.array([9.0, -9.0]), np.array([1.0, 1.0]))
    lower, upper = np.array([-0.1, 0.2]), np.array([0.3, 0.2])
    found = descend(bowl, NONE, np.array([5.0, 0.0]), lower, upper, 3)
    assert ((lower <= found) & (found <= upper)).all()
    assert bowl.asked <= 4


@given(seed=st.integers(0, 2**32 - 1), limits=st.integers(0, 60))
def test_a_general_method_finds_little_more_from_there(seed: int, limits: int) -> None:
    """Random limits, some missed at the start, and a cost that bends by 1 to 30."""
    rng = np.random.default_rng(seed)
    bowl = Bowl(rng.uniform(-1.5, 1.5, 7), rng.uniform(1.0, 30.0, 7))
    rows = Rows(rng.uniform(-0.1, 1.0, limits), rng.standard_normal((limits, 7)))
    box = np.full(7, 0.5)

    def merit(x: Array) -> tuple[float, Array]:
        (value, slope), (penalty, pull) = bowl(x), rows.penalty(x)
        return value + penalty, slope + pull

    found = descend(bowl, rows, np.zeros(7), -box, box, 20)
    bounds = list(zip(-box, box, strict=True))
    best = minimize(merit, found, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxfun": 4000, "maxiter": 2000})
    start = merit(np.zeros(7))[0]
    # a hundredth of the way, and what ten steps that are not worth a value may leave
    assert merit(found)[0] - best.fun <= 0.01 * (start - best.fun) + 0.03


def test_what_gradients_show_of_the_curvature_is_learnt() -> None:
    """Bent by 1 to 300 along axes of its own: a first guess alone takes more values of the cost to come less far."""
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((7, 7)))[0]
    bend, middle = axes @ np.diag(np.geomspace(1.0, 300.0, 7)) @ axes.T, np.linspace(-0.4, 0.4, 7)
    asked: list[Array] = []

    def cost(k: Array) -> tuple[float, Array]:
        asked.append(k)
        slope = bend @ (k - middle)
        return float(0.5 * slope @ (k - middle)) - 40.0, slope

    found = descend(cost, Rows(np.zeros(0), np.zeros((0, 7))), np.zeros(7), -np.ones(7), np.ones(7), 40)
    # what is left may be a few of the decreases that are not worth a value, 3e-3 each
    assert cost(found)[0] + 40.0 < 0.02
    assert len(asked) <= 18


def test_a_cost_that_is_small_near_its_minimum_is_followed_there() -> None:
    """Squared distances to a goal: a hundredth of a radian is 1e-4 of them, and is not left lying."""
    goal = np.array([0.02, -0.01])
    found = descend(lambda k: (float((k - goal) @ (k - goal)), 2.0 * (k - goal)), NONE, np.zeros(2), -BOX, BOX, 20)
    # a decrease by 3e-4 of what there is ends it; a hundredth of the way is left at most
    np.testing.assert_allclose(found, goal, atol=2e-4)


def test_at_the_minimum_it_stays_and_asks_no_more() -> None:
    bowl = Bowl(np.zeros(2), np.ones(2))
    np.testing.assert_array_equal(descend(bowl, NONE, np.zeros(2), -BOX, BOX, 20), np.zeros(2))
    assert bowl.asked == 1
