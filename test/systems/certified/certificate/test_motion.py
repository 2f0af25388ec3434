# SPDX-License-Identifier: Apache-2.0
"""Enclosures of a tracked trajectory: every time, position error and reference error of their sets is inside."""

from dataclasses import replace

import numpy as np
import pytest
from shared.certified_arm import draw_in_ball, plan

from sysid_nodes.intervals import Affine
from sysid_nodes.systems.certified.certificate.closed_loop import Tube
from sysid_nodes.systems.certified.certificate.motion import (
    desired_motion,
    deviation,
    jerk_bound,
    largest,
    motion,
    tracked_motion,
)

GAIN = 4.0
EDGES = np.linspace(0.0, 3.0, 13)


def sampled_time(i, u):
    """Times of interval i; the last one, without end, is sampled for a second."""
    ends = np.append(EDGES, 4.0)
    return np.clip(ends[i] + u * (ends[i + 1] - ends[i]), ends[i], ends[i + 1])


@pytest.mark.parametrize("moving", [0.0, 0.4])
def test_states_are_inside(moving):
    rng = np.random.default_rng(3)
    wanted = plan(1.0, moving=moving)
    tube = Tube(rng.uniform(0.0, 0.1, (13, 7)), rng.uniform(0.0, 0.5, (13, 7)))
    found = motion(desired_motion(wanted, EDGES), tube, GAIN)
    for i in range(13):
        count = 400
        q, qd, qdd = wanted(sampled_time(i, np.r_[0.0, 1.0, rng.random(count - 2)]))
        e = draw_in_ball(rng, count, 7) * tube.position[i]
        r = draw_in_ball(rng, count, 7) * tube.reference[i]
        qd_a = qd + GAIN * e
        for form, value in ((found.q, q - e), (found.qd_a, qd_a), (found.qd, qd_a - r), (found.qdd, qdd)):
            # Plan and samples are computed with a few roundings of their own.
            assert (np.abs(value - form.centre[i]) <= deviation(form)[i] + 1e-14).all()
            assert (np.abs(value) <= largest(form)[i] + 1e-14).all()


def test_rest_lasts_and_is_where_the_plan_ends():
    wanted = plan(1.0)
    desired = desired_motion(wanted, EDGES)
    assert desired.edges[-1] == np.inf
    assert np.abs(desired.position.centre[-1] - wanted(100.0).q).max() == 0.0
    assert not desired.velocity.centre[-1].any() and not desired.acceleration.remainder[-1].any()


def test_roundings_of_coefficients_grow_with_each_derivative():
    """Of degree 5 by up to 5 / t_f; seen where the robot stands, whose motion has no other remainder."""
    wanted = plan(1.0)
    wanted = replace(wanted, duration=0.05, k=np.zeros(7), qd0=np.zeros(7), qdd0=np.zeros(7))
    desired = desired_motion(wanted, np.linspace(0.0, 0.05, 3))
    for order, part in enumerate((desired.position, desired.velocity, desired.acceleration)):
        assert (part.remainder[:-1] >= 1e-14 * np.abs(wanted.q0) * 100.0**order * (1.0 - 1e-12)).all()


def test_jerk_is_bounded_and_the_bound_is_met():
    wanted = plan(1.0, moving=0.5)
    bound = jerk_bound(wanted, EDGES)
    for i in range(12):
        sampled = np.abs(wanted.jerk(sampled_time(i, np.linspace(0.0, 1.0, 200)))).max(axis=0)
        assert (sampled <= bound[i] * (1.0 + 1e-12)).all()
        assert (bound[i] <= 1.5 * sampled + 1.0).all()
    assert not bound[-1].any()


def test_errors_count_by_their_norm():
    """A linear form of the errors is bounded exactly; of symbols taken one by one it would be sqrt(n) times that."""
    n = 7
    terms = np.zeros((2 * n + 1, 1))
    terms[1 : n + 1] = 1.0
    form = Affine(np.zeros(1), terms)
    assert largest(form)[0] == pytest.approx(np.sqrt(n), rel=1e-8)
    assert form.radius()[0] == pytest.approx(n, rel=1e-8)


def test_time_has_the_first_symbol_and_errors_have_the_others():
    desired = desired_motion(plan(1.0, moving=0.4), EDGES)
    found = tracked_motion(desired, np.full(7, 0.1), np.full(7, 0.2))
    np.testing.assert_array_equal(found.q.terms[0], desired.position.slope_term)
    for joint in range(7):
        assert (np.abs(found.q.terms[1:, :, joint]).sum(axis=0) == 0.1).all()
        assert (np.abs(found.qd.terms[1:, :, joint]).sum(axis=0) == 0.2).all()
