# SPDX-License-Identifier: Apache-2.0
"""Set-points that replace one another: the motion they ask for is that of the last message for each time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.signals.set_points import SetPoints

T = np.linspace(0.0, 2.0, 21)


def cubic(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.stack([t**3 - t, 1.0 - t**2], axis=-1), np.stack([3.0 * t**2 - 1.0, -2.0 * t], axis=-1)


def test_cubics_are_followed_exactly_and_held_outside() -> None:
    points, inside = SetPoints(2), np.linspace(0.0, 2.0, 333)
    points.take(0.0, T, *cubic(T))
    for found, wanted in zip(points.at(inside), cubic(inside), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    q, qd = points.at(np.array([-1.0, 3.0]))
    np.testing.assert_allclose(q, cubic(np.array([0.0, 2.0]))[0], atol=1e-12)
    assert not qd.any()


def test_lines_join_points_without_velocities() -> None:
    points = SetPoints(1)
    points.take(0.0, np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [0.0]]))
    q, qd = points.at(np.array([0.25, 1.5]))
    np.testing.assert_allclose(q[:, 0], [0.25, 0.5])
    np.testing.assert_allclose(qd[:, 0], [1.0, -1.0])


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 1.99), st.just(0.0) | st.floats(1e-3, 0.5))
def test_later_points_replace_earlier_ones_from_their_beginning_on(begin: float, wait: float) -> None:
    points = SetPoints(2)
    points.take(0.0, T, *cubic(T))
    t = begin + wait + np.array([0.0, 1.0])
    points.take(begin, t, np.full((2, 2), 7.0), np.zeros((2, 2)))
    before = np.linspace(0.0, T[begin > T][-1], 50)
    np.testing.assert_allclose(points.at(before)[0], cubic(before)[0], atol=1e-12)
    np.testing.assert_allclose(points.at(t)[0], 7.0)
    at_begin = cubic(np.array([begin]))[0] if wait > 0.0 else np.full((1, 2), 7.0)
    np.testing.assert_allclose(points.at(np.array([begin]))[0], at_begin, atol=1e-6)


def test_one_point_is_held() -> None:
    points = SetPoints(1)
    assert points.begin == np.inf and not len(points)
    points.take(1.0, np.array([1.0]), np.array([[3.0]]))
    q, qd = points.at(np.array([0.0, 5.0]))
    assert (q == 3.0).all() and not qd.any() and points.begin == 1.0


@pytest.mark.parametrize(
    ("t", "q", "qd", "line"),
    [
        ([0.0], [[1.0]], None, r"set-points need 2 joints at 1 times, got \(1, 1\)"),
        ([0.0, 0.0], [[1.0, 1.0]] * 2, None, "must increase"),
        ([0.0], [[np.nan, 1.0]], None, "not finite"),
        ([0.0], [[1.0, 1.0]], [[np.inf, 0.0]], "not finite"),
    ],
)
def test_points_that_make_no_sense(
    t: list[float], q: list[list[float]], qd: list[list[float]] | None, line: str
) -> None:
    with pytest.raises(SamplesError, match=line):
        SetPoints(2).take(0.0, np.array(t), np.array(q), None if qd is None else np.array(qd))
