# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models.held_command import HeldCommand

TIMES = np.array([0.0, 0.01, 0.025, 0.03])
VALUES = np.array([1.0, -2.0, 0.5, 3.0])


@pytest.mark.parametrize("linear", [False, True])
@given(begin=st.floats(-0.02, 0.05), delay=st.floats(0.0, 0.02), length=st.floats(1e-3, 0.02))
def test_a_mean_is_the_integral_of_the_values(linear: bool, begin: float, delay: float, length: float) -> None:
    command = HeldCommand(TIMES, VALUES, linear)
    mean, _ = command.means(np.array([begin, begin + length]), delay)
    fine = begin - delay + length * (np.arange(20000) + 0.5) / 20000
    np.testing.assert_allclose(mean[0], command.at(fine).mean(), atol=2e-3)


@pytest.mark.parametrize("linear", [False, True])
@given(begin=st.floats(-0.02, 0.05), delay=st.floats(1e-3, 0.02))
def test_the_slope_by_the_delay_is_that_of_finite_differences(linear: bool, begin: float, delay: float) -> None:
    command = HeldCommand(TIMES, VALUES, linear)
    edges = np.concatenate([begin - delay - TIMES, begin - delay + 5e-3 - TIMES])
    if np.abs(edges).min() < 1e-6:
        return  # a corner, where both sides differ
    at = np.array([begin, begin + 5e-3])
    _, slope = command.means(at, delay)
    e = 1e-8
    difference = (command.means(at, delay + e)[0] - command.means(at, delay - e)[0]) / (2.0 * e)
    np.testing.assert_allclose(slope, difference, atol=1e-4)


def test_the_first_value_holds_before_and_the_last_one_after() -> None:
    command = HeldCommand(TIMES, VALUES)
    np.testing.assert_array_equal(command.at(np.array([-1.0, 0.0, 0.02, 0.03, 9.0])), [1.0, 1.0, -2.0, 3.0, 3.0])
    np.testing.assert_allclose(command.means(np.array([-5.0, -4.0, 7.0, 8.0]), 0.0)[0][[0, 2]], [1.0, 3.0])


@pytest.mark.parametrize(
    ("t", "values", "message"),
    [
        (TIMES, VALUES[:2], "one value a time"),
        (np.zeros(0), np.zeros(0), "one value a time"),
        (np.array([0.0, 0.0]), np.zeros(2), "must increase"),
    ],
)
def test_what_is_no_signal_is_refused(t: np.ndarray, values: np.ndarray, message: str) -> None:
    with pytest.raises(SamplesError, match=message):
        HeldCommand(t, values)
