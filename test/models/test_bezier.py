# SPDX-License-Identifier: Apache-2.0
"""Degree-5 Bezier motions: end conditions, derivatives by differences, the stop of least jerk."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import comb

from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.models.bezier import Bezier, brake, step_response


def plan(seed=0, n=3, duration=1.7):
    return Bezier(*np.random.default_rng(seed).normal(size=(4, n)), duration)


def test_it_is_the_bernstein_polynomial_with_the_stated_control_points():
    motion, t = plan(), np.linspace(0.0, 1.7, 9)
    second = motion.q0 + 0.4 * 1.7 * motion.qd0 + 1.7**2 / 20.0 * motion.qdd0
    points = np.array([motion.q0, motion.q0 + 0.2 * 1.7 * motion.qd0, second, *[motion.q0 + motion.k] * 3])
    s = (t / 1.7)[:, None]
    basis = comb(5, np.arange(6)) * s ** np.arange(6) * (1.0 - s) ** (5 - np.arange(6))
    np.testing.assert_allclose(motion(t).q, basis @ points, atol=1e-13)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), duration=st.floats(0.05, 20.0))
def test_starts_at_the_state_and_rests_at_the_goal(seed, n, duration):
    motion = plan(seed, n, duration)
    start = motion(0.0)
    np.testing.assert_allclose(start.q, motion.q0, rtol=0, atol=0)
    np.testing.assert_allclose(start.qd, motion.qd0, rtol=1e-15)
    np.testing.assert_allclose(start.qdd, motion.qdd0, rtol=1e-15)
    for t in (duration, duration * 1.5):
        end = motion(t)
        assert (end.q == motion.goal).all() and not end.qd.any() and not end.qdd.any()
    # The polynomial itself ends at rest: just before t_f the acceleration is jerk times the time left, to second order.
    before = motion(duration * (1.0 - 1e-7))
    scale = 1.0 + duration + duration**2
    np.testing.assert_allclose(before.q, motion.goal, atol=1e-12 * scale)
    np.testing.assert_allclose(before.qd * duration, 0.0, atol=1e-11 * scale)
    np.testing.assert_allclose(before.qdd * duration**2, 0.0, atol=1e-4 * scale)


def test_derivatives_are_those_of_the_position():
    motion, t, h = plan(), np.linspace(0.1, 1.6, 25), 1e-5
    after, before, at = motion(t + h), motion(t - h), motion(t)
    # Central differences: h^2 times a fifth derivative of some hundred, and roundings of 1e-16 / h.
    np.testing.assert_allclose((after.q - before.q) / (2 * h), at.qd, atol=1e-7)
    np.testing.assert_allclose((after.qd - before.qd) / (2 * h), at.qdd, atol=1e-7)
    np.testing.assert_allclose((after.qdd - before.qdd) / (2 * h), motion.jerk(t), atol=1e-6)
    assert not motion.jerk(2.0).any() and motion.jerk(1.7).any()


def test_power_series_gives_the_same_positions():
    motion, t = plan(), np.linspace(0.0, 1.7, 30)
    series = motion.coefficients()
    assert series.shape == (6, 3)
    np.testing.assert_allclose(np.vander(t, 6, increasing=True) @ series, motion(t).q, atol=1e-13)


def test_derivative_in_k_is_exact_for_any_step():
    """The motion is affine in k: a difference quotient over a large step has no truncation error."""
    motion, t = plan(), np.linspace(0.0, 2.0, 30)
    moved = Bezier(motion.q0, motion.qd0, motion.qdd0, motion.k + 2.0, motion.duration)
    for after, before, slope in zip(moved(t), motion(t), motion.derivative_wrt_k(t), strict=True):
        assert slope.shape == (30,)
        np.testing.assert_allclose((after - before) / 2.0, np.tile(slope[:, None], 3), atol=1e-12)


def test_one_time_and_many_agree():
    motion, t = plan(), np.array([0.0, 0.6, 1.7, 3.0])
    for i, instant in enumerate(t):
        for one, many in zip(motion(instant), motion(t), strict=True):
            assert one.shape == (3,)
            np.testing.assert_array_equal(one, many[i])
        np.testing.assert_array_equal(motion.jerk(instant), motion.jerk(t)[i])
    assert motion(np.array([])).q.shape == (0, 3)


def test_plans_chain_without_a_jump():
    first = plan()
    state = first.split(0.8)
    second = Bezier(*state, first.goal - state.q, 2.0)
    np.testing.assert_array_equal(second(0.0), first(0.8))
    np.testing.assert_allclose(second.goal, first.goal, rtol=1e-15)


@given(seed=st.integers(0, 10**6), duration=st.floats(0.1, 5.0))
def test_brake_has_the_least_integral_of_squared_jerk(seed, duration):
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, 4))
    best = brake(q, qd, qdd, duration)
    nodes, weights = np.polynomial.legendre.leggauss(5)  # exact for the quartic integrand
    t = 0.5 * duration * (nodes + 1.0)

    def effort(k):
        return weights @ Bezier(q, qd, qdd, k, duration).jerk(t) ** 2

    least = effort(best.k)
    for step in (-0.1, 0.1):
        assert (effort(best.k + step) > least).all()
    # A quadratic function is least where it is symmetric.
    np.testing.assert_allclose(effort(best.k + 0.1), effort(best.k - 0.1), rtol=1e-6)


def test_brake_from_constant_velocity_never_turns_back():
    stop = brake(np.zeros(2), np.array([0.8, -0.4]), np.zeros(2), 1.5)
    motion = stop(np.linspace(0.0, 1.5, 400))
    np.testing.assert_allclose(stop.k, [0.6, -0.3])
    assert (motion.qd * [1.0, -1.0] >= -1e-15).all()
    np.testing.assert_allclose(np.abs(motion.qdd).max(axis=0), 1.5 * np.abs(stop.qd0) / 1.5, rtol=1e-4)


def test_fields_are_frozen_copies():
    q = np.zeros(2)
    motion = Bezier(q, q, q, q, 1.0)
    q[0] = 5.0
    assert motion.q0[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        motion.k[0] = 1.0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": np.zeros(2)}, SamplesError, "k of a trajectory must be one number a joint, got shape"),
        ({"q0": np.zeros((3, 1))}, SamplesError, "q0 of a trajectory must be one number a joint"),
        ({"qd0": 0.0}, SamplesError, "qd0 of a trajectory must be one number a joint"),
        ({"qdd0": np.array([0.0, np.nan, 0.0])}, SamplesError, "qdd0 of a trajectory is not finite at joint 1"),
        ({"k": np.array([0.0, 0.0, np.inf])}, SamplesError, "k of a trajectory is not finite at joint 2"),
        ({"duration": 0.0}, ConfigError, "a trajectory's duration must be positive, got 0 s"),
        ({"duration": np.nan}, ConfigError, "a trajectory's duration must be positive, got nan s"),
    ],
)
def test_a_bad_plan_is_refused(change, error, message):
    fields = {name: np.zeros(3) for name in ("q0", "qd0", "qdd0", "k")} | {"duration": 1.0}
    with pytest.raises(error, match=message):
        Bezier(**(fields | change))


def test_a_plan_of_no_joint_is_refused():
    with pytest.raises(SamplesError, match="one number a joint"):
        Bezier(*[np.zeros(0)] * 4, 1.0)


@pytest.mark.parametrize(
    ("t", "message"),
    [
        (-1e-9, "a trajectory starts at 0 s, asked for -1e-09 s"),
        (np.array([0.0, np.nan]), "a time is not finite"),
        (np.zeros((2, 2)), "times must be a number or a vector"),
    ],
)
@pytest.mark.parametrize("method", ["__call__", "jerk", "derivative_wrt_k"])
def test_a_bad_time_is_refused(method, t, message):
    with pytest.raises(SamplesError, match=message):
        getattr(plan(), method)(t)


def test_split_takes_one_time():
    with pytest.raises(SamplesError, match="split at one time"):
        plan().split(np.array([0.1, 0.2]))


def test_step_response_rises_from_nought_to_one():
    b, rate, _ = step_response(np.linspace(0.0, 3.0, 50), 3.0)
    assert b[0] == 0.0 and b[-1] == 1.0 and (np.diff(b) > 0.0).all()
    assert rate.max() <= 1.875 / 3.0  # the quintic's steepest slope, at half time
