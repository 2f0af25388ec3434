# SPDX-License-Identifier: Apache-2.0
"""Encoder readings and velocities together: bounds hold for the worst readings and tighten with motion."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from shared.rough_motion import RoughMotion

from sysid_nodes.kernel import IMPLEMENTATIONS, window_samples
from sysid_nodes.systems.interval.positions import Positions, bound_positions

STEP = 1e-3
Case = tuple[np.ndarray, np.ndarray, Positions]


def case(
    rng: np.random.Generator,
    *,
    speed: float,
    velocity: float,
    gap: float = 0.0,
    pattern: str = "encoder",
    acceleration: float = 20.0,
) -> Case:
    """(t, true q, bounds) of two joints over windows of 0.1 s, with a pause between the last two."""
    motion = RoughMotion.random(rng, rng.uniform(-3, 3, 2), np.full(2, acceleration), np.full(2, speed), 0.6, 0.01)
    at = np.sort(rng.uniform(0.0, 0.6, 300))
    q, qd, _ = motion(at)
    dt = np.diff(at)
    edges = np.array([[0, 60], [60, 140], [150, 299]], dtype=np.intp)
    dt[140:150] += gap
    wrong = rng.choice([-1.0, 1.0], q.shape)
    reading = {"encoder": np.round(q / STEP) * STEP, "corners": q + 0.5 * STEP * wrong}[pattern]
    creep = dt[:, None] * velocity + acceleration * dt[:, None] ** 2 / 4.0 * np.ones(2)
    sign = rng.choice([-1.0, 1.0], 2)  # a bias all along is the worst for the integral
    error = np.full((3, 2), 0.5 * STEP)
    found = bound_positions(reading, qd + velocity * sign, dt, edges, error, creep)
    return at, q, found


@pytest.mark.parametrize("pattern", ["encoder", "corners"])
@pytest.mark.parametrize("velocity", [0.0, 1e-4, 1e-2])
@pytest.mark.parametrize("gap", [0.0, 3e3, 1e7])
def test_the_true_positions_lie_within_the_errors(pattern: str, velocity: float, gap: float) -> None:
    rng = np.random.default_rng(0)
    for speed in (0.0, 0.3, 3.0):
        _, q, found = case(rng, speed=speed, velocity=velocity, gap=gap, pattern=pattern)
        assert found.possible.all()
        for window, (first, last) in enumerate(found.edges):
            entries = slice(first, last + 1)
            wrong = np.abs(found.q[entries] - q[found.index[entries]]).max(axis=0)
            assert (wrong <= found.error[window] + 1e-12).all()  # readings at the bound, rounded
            travel = q[found.index[last]] - q[found.index[first]]
            assert (np.abs(found.q[last] - found.q[first] - travel) <= found.travel_error[window] + 1e-12).all()
            assert (found.error[window] <= 0.5 * STEP).all()


def test_motion_through_many_steps_beats_the_encoder() -> None:
    _, _, found = case(np.random.default_rng(1), speed=1.0, velocity=1e-6, acceleration=0.2)
    assert (found.error < 0.4 * STEP).all()


def test_readings_that_no_motion_explains_are_found() -> None:
    still = np.zeros((141, 2))
    reading = still.copy()
    reading[70, 1] = 3.0 * STEP
    edges = np.array([[0, 60], [60, 140]], dtype=np.intp)
    creep = np.full((140, 2), 1e-9)
    found = bound_positions(reading, still, np.full(140, 1e-3), edges, np.full((2, 2), 0.5 * STEP), creep)
    assert found.possible.tolist() == [True, False]


def test_offset_and_errors_are_those_of_the_readings_one_by_one() -> None:
    """Each reading allows an interval for where its window began; what all allow, and what has crept since."""
    rng, edges, tiny = np.random.default_rng(4), np.array([[0, 3], [3, 7]], dtype=np.intp), 1e-11
    dt, error = rng.uniform(1e-3, 5e-3, 7), np.array([[0.02, 1e-7], [0.03, 1e-7]])
    qd, creep = rng.uniform(-1.0, 1.0, (8, 2)), rng.uniform(1e-4, 1e-3, (7, 2))
    q = np.cumsum(np.vstack([np.zeros((1, 2)), 0.5 * (qd[1:] + qd[:-1]) * dt[:, None]]), axis=0)
    q = q + 5.0 + rng.uniform(-0.01, 0.01, q.shape)
    found = bound_positions(q, qd, dt, edges, error, creep)
    for w, (first, last) in enumerate(edges):
        moved, crept, low, high = np.zeros(2), np.zeros(2), np.full(2, -np.inf), np.full(2, np.inf)
        ways = []
        for k in range(first, last + 1):
            if k > first:
                moved = moved + 0.5 * (qd[k] + qd[k - 1]) * dt[k - 1]
                crept = crept + creep[k - 1]
            slack = crept + error[w] + tiny * (1.0 + np.abs(q[k]))
            low, high = np.maximum(low, q[k] - moved - slack), np.minimum(high, q[k] - moved + slack)
            ways.append(moved)
        half = np.maximum(0.5 * (high - low), 0.0) + crept + tiny * (1.0 + np.abs(low))
        begin, end = found.edges[w]
        # The first joint's readings tell less than all of them, the second one's more.
        assert half[0] < error[w, 0] and half[1] > error[w, 1]
        np.testing.assert_allclose(
            found.q[begin : end + 1, 0], 0.5 * (low + high)[0] + np.array(ways)[:, 0], rtol=1e-14
        )
        np.testing.assert_array_equal(found.q[begin : end + 1, 1], q[first : last + 1, 1])
        np.testing.assert_allclose(found.error[w], [half[0], error[w, 1]], rtol=1e-9)
        np.testing.assert_allclose(found.travel_error[w], [crept[0] + tiny, 2.0 * error[w, 1]], rtol=1e-12)
        assert found.possible[w] == (low <= high).all()


def test_roundings_are_a_part_in_1e11_of_one_and_of_what_is_read() -> None:
    """Two readings, one at its upper bound and one at its lower: nothing but roundings is left of where they began."""
    q, qd, dt = np.array([[1.0], [4.0]]), np.array([[3.0], [5.0]]), np.ones(1)
    error = np.full((1, 1), 0.5)
    found = bound_positions(q, qd, dt, np.array([[0, 1]], dtype=np.intp), error, np.zeros((1, 1)))
    # Of both readings, half of either, and of where the window began.
    assert found.error[0, 0] == pytest.approx(1e-11 * (0.5 * (1.0 + 1.0) + 0.5 * (1.0 + 4.0) + 1.0 + 0.5), rel=1e-4)
    assert found.travel_error[0, 0] == pytest.approx(1e-11, rel=1e-9)
    np.testing.assert_allclose(found.q[:, 0], [0.5, 4.5], rtol=1e-10)


@pytest.mark.parametrize("pattern", ["encoder", "corners"])
@pytest.mark.parametrize("velocity", [1e-4, 1e-2])
def test_both_kernels_find_the_same_positions(pattern: str, velocity: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow joints and fast ones, of which the velocities say more or less than the encoder."""
    if window_samples._windows is None:
        pytest.skip("the compiled kernel is not built")
    for speed in (0.0, 0.3, 3.0):
        found = []
        for name in IMPLEMENTATIONS:
            monkeypatch.setenv("SYSID_KERNEL", name)
            found.append(case(np.random.default_rng(2), speed=speed, velocity=velocity, gap=3.0, pattern=pattern)[2])
        for field in fields(Positions):
            one, other = (getattr(each, field.name) for each in found)
            np.testing.assert_allclose(one, other, atol=1e-12, err_msg=field.name)  # both round what they add up


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_readings_that_no_motion_agrees_with_are_told(implementation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if implementation == "compiled" and window_samples._windows is None:
        pytest.skip("the compiled kernel is not built")
    monkeypatch.setenv("SYSID_KERNEL", implementation)
    q = np.zeros((6, 1))
    q[4] = 3e-3  # the encoder jumps by three steps and back, the velocity knows nothing of it
    edges, error = np.array([[0, 3], [3, 5]], dtype=np.intp), np.full((2, 1), 1e-3)
    found = bound_positions(q, np.zeros((6, 1)), np.full(5, 0.01), edges, error, np.full((5, 1), 1e-6))
    assert found.possible.tolist() == [True, False]


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("place", ["q", "qd", "dt", "creep"])
def test_what_is_not_a_number_makes_a_window_impossible(
    monkeypatch: pytest.MonkeyPatch, implementation: str, value: float, place: str
) -> None:
    """Never narrow: no log has such readings, but a caller may."""
    monkeypatch.setenv("SYSID_KERNEL", implementation)
    given = {"q": np.zeros((9, 2)), "qd": np.zeros((9, 2)), "dt": np.full(8, 0.01), "creep": np.full((8, 2), 1e-6)}
    given[place][4] = value
    error = np.full((1, 2), STEP)
    with np.errstate(invalid="ignore"):
        found = bound_positions(
            given["q"], given["qd"], given["dt"], np.array([[0, 8]], dtype=np.intp), error, given["creep"]
        )
    if (place, value) != ("creep", np.inf):  # any position is possible then
        assert not found.possible.any()
    assert (found.error >= STEP).all() or not found.possible.any()
