# SPDX-License-Identifier: Apache-2.0
"""Enclosures of a tracked trajectory: every time, position error and reference error of their sets is inside."""

from dataclasses import replace

import numpy as np
import pytest
from shared.certified_arm import draw_in_ball, plan

from sysid_nodes.intervals import Affine, TimeEnclosure, polynomial_enclosure
from sysid_nodes.systems.certified.certificate.closed_loop import Tube
from sysid_nodes.systems.certified.certificate.motion import (
    Desired,
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


def test_roundings_of_where_the_robot_comes_to_rest_are_those_of_all_that_moves_it():
    wanted = replace(plan(1.0, moving=0.4), duration=2.0)
    moved = np.abs(wanted.k) + 2.0 * np.abs(wanted.qd0) + 4.0 * np.abs(wanted.qdd0)
    rounded = 1e-14 * (np.abs(wanted.q0) + 40.0 * moved)
    edges = np.linspace(0.0, 2.0, 4)
    found, parts = desired_motion(wanted, edges), polynomial_enclosure(wanted.coefficients(), edges)
    np.testing.assert_allclose(found.position.remainder[-1], rounded, rtol=1e-12)
    for order, part in enumerate((found.position, found.velocity, found.acceleration)):
        own = parts[order].remainder + rounded * (5.0 / 2.0) ** order
        np.testing.assert_allclose(part.remainder[:-1], own, rtol=1e-12)
        np.testing.assert_array_equal(part.slope_term[:-1], parts[order].slope_term)
        assert not part.slope_term[-1].any()
    third = polynomial_enclosure(np.arange(1.0, 6.0)[:, None] * wanted.coefficients()[1:], edges)[2]
    jerk = (np.abs(third.centre) + np.abs(third.slope_term) + third.remainder) * (1.0 + 1e-9)
    np.testing.assert_allclose(jerk_bound(wanted, edges)[:-1], jerk, rtol=1e-13)


def random_motion():
    rng = np.random.default_rng(1)
    parts = (TimeEnclosure(rng.normal(size=(3, 2)), *rng.uniform(0.1, 0.2, (2, 3, 2))) for _ in range(3))
    return Desired(np.array([0.0, 1.0, 2.0, np.inf]), *parts)


def parts_of(form, t, j):
    """Centre, terms and remainder of one number; remainders are larger than what was asked for by roundings."""
    return form.centre[t, j], form.terms[:, t, j], pytest.approx(form.remainder[t, j], abs=1e-14)


def test_states_are_sums_of_a_motion_and_its_errors():
    """Two joints, five symbols: time, both position errors, both reference errors."""
    desired, rng = random_motion(), np.random.default_rng(2)
    tube = Tube(*rng.uniform(0.1, 0.2, (2, 3, 2)))
    found = motion(desired, tube, GAIN)
    tracked = tracked_motion(desired, tube.position[0], tube.reference[0])
    for t in range(3):
        for j in range(2):
            e, r = tube.position[t, j], tube.reference[t, j]
            off, aside = np.zeros((2, 5))
            off[1 + j], aside[3 + j] = e, r
            q, qd, qdd = (
                (x.centre[t, j], np.array([x.slope_term[t, j], 0.0, 0.0, 0.0, 0.0]), x.remainder[t, j])
                for x in (desired.position, desired.velocity, desired.acceleration)
            )
            for form, (centre, terms, rest) in (
                (found.q, (q[0], q[1] - off, q[2])),
                (found.qd_a, (qd[0], qd[1] + GAIN * off, qd[2])),
                (found.qd, (qd[0], qd[1] + GAIN * off - aside, qd[2])),
                (found.qdd, qdd),
                (tracked.q, (q[0], q[1] - off * tube.position[0, j] / e, q[2])),
                (tracked.qd, (qd[0], qd[1] - aside * tube.reference[0, j] / r, qd[2])),
                (tracked.qd_a, (qd[0], qd[1] - aside * tube.reference[0, j] / r, qd[2])),
                (tracked.qdd, qdd),
            ):
                found_centre, found_terms, found_rest = parts_of(form, t, j)
                assert (centre, rest) == (found_centre, found_rest)
                np.testing.assert_allclose(found_terms, terms, rtol=1e-12, atol=1e-15)
    assert found.q.symbols == 5


@pytest.mark.parametrize(("boxed", "swept"), [(False, False), (False, True), (True, False)])
def test_the_largest_of_a_form_is_where_its_errors_are_worst(boxed, swept):
    rng = np.random.default_rng(3)
    terms, rest, centre = rng.normal(size=(5, 2)), rng.uniform(0.1, 0.2, 2), rng.normal(size=2)
    form = Affine(centre, terms, rest)
    for k in range(2):
        time, first, second = abs(terms[0, k]), np.abs(terms[1:3, k]), np.abs(terms[3:, k])
        norms = [x.sum() if at else np.hypot(*x) for x, at in ((first, boxed), (second, boxed or swept))]
        off = time + sum(norms) + rest[k]
        assert deviation(form, boxed=boxed, swept=swept)[k] == pytest.approx(off, rel=1e-8)
        if not swept:
            assert largest(form, boxed=boxed)[k] == pytest.approx(abs(centre[k]) + off, rel=1e-8)
