# SPDX-License-Identifier: Apache-2.0
"""What is left to the body's parameters after a motion, where one direction is known far better than the rest."""

import numpy as np
import pytest

from sysid_nodes.systems.certified.search.informative import OBJECTIVES, LinearRows, Objective

SIZE = 37
BODY, DRIVES = slice(0, 10), slice(10, 31)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("size", [1.0, 1e6, 1e10, 1e20])
def test_however_much_one_direction_tells_the_cost_is_a_number(objective: Objective, size: float) -> None:
    """From 1e8 on, the unit matrix drowns in the roundings of the information."""
    row = np.random.default_rng(1).normal(size=(1, SIZE))
    with np.errstate(all="raise"):
        value, slope = LinearRows(objective, np.eye(SIZE), np.zeros(1), size * row, 1e-3 * row[None], BODY)(np.zeros(1))
    assert np.isfinite(value) and np.isfinite(slope).all()
    assert value < 0.0  # something was learned


@pytest.mark.parametrize("wanted", [BODY, DRIVES])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_inverse_is_that_of_the_information(objective: Objective, wanted: slice) -> None:
    rows, slope = np.random.default_rng(2).normal(size=(2, 60, SIZE))
    left = np.linalg.inv(np.eye(SIZE) + rows.T @ rows)[wanted, wanted]
    expected = {
        "widths": 0.5 * np.log(np.diagonal(left)).sum(),
        "log_det": 0.5 * np.linalg.slogdet(left)[1],
        "trace": 0.5 * len(left) * np.log(np.trace(left) / len(left)),
    }
    cost = LinearRows(objective, np.eye(SIZE), np.zeros(1), rows, slope[None], wanted)
    value, gradient = cost(np.zeros(1))
    assert value == pytest.approx(expected[objective], rel=1e-10)
    ahead, behind = cost(np.array([1e-5]))[0], cost(np.array([-1e-5]))[0]
    assert gradient[0] == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)
