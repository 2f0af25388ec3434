# SPDX-License-Identifier: Apache-2.0
"""Bounds on the tracking errors, against closed loops with the worst adversaries that could be thought of."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.quick_and_slow import mark_slow

from sysid_nodes.results.certificate import Entry
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Disturbance, rates
from sysid_nodes.systems.certified.certificate.tracking import _peak, _smoothing_power, propagate

GAIN = 4.0


def loop(n=1, *, delay=0.0, limit=40.0, coulomb=0.5, noise=1e-3):
    return ClosedLoop(
        position_gain=GAIN,
        damping=np.linspace(1000.0, 800.0, n),
        limit=np.full(n, limit),
        viscous_lower=np.full(n, 4.0),
        viscous_upper=np.full(n, 6.0),
        coulomb_upper=np.full(n, coulomb),
        armature_lower=np.full(n, 6.5),
        armature_upper=np.full(n, 7.5),
        reference_noise=np.full(n, noise),
        sign_width=0.01,
        period=0.001,
        delay=delay,
    )


def disturbance(count, torque, added, error):
    """Bounds for a constant inertia I_a + N whose feedforward is off by ``error``, entry by entry."""
    n = len(added)
    root = np.sqrt(np.diag(added))

    def all_times(x):
        return np.broadcast_to(x, (count, *np.shape(x))).copy()

    return Disturbance(
        torque=all_times(np.full(n, torque)),
        held=np.zeros((count, n)),
        inertia=all_times(np.abs(added) + np.diag(np.full(n, 7.5))),
        inertia_error=all_times(np.abs(error)),
        coriolis=np.zeros((count, n)),
        inertia_root=all_times(root),
        reference_shift=np.full((count, n), 2e-3),
    )


def prove(closed, found, edges, start):
    """Errors by the certifier's own iteration, for disturbances that do not depend on them; ``held`` does."""
    count, n = found.torque.shape
    given = Assumed(np.full(count, 0.02), np.full(count, 0.05), np.full((count, n), 4.0))
    for _ in range(60):
        held = closed.age * GAIN * np.einsum("tjk,tk->tj", found.inertia, given.acceleration)
        case = found._replace(held=held)
        rate = rates(closed, case, given, start)
        errors = propagate(closed, case, given, rate, edges, start)
        follows = Assumed(errors.level, errors.position, rate.acceleration)
        if all((a < b).all() for a, b in zip(follows[:3], given[:3], strict=True)):
            return follows, rate
        given = Assumed(*(1.1 * x + 1e-6 for x in follows[:3]))
    raise AssertionError("no errors prove themselves")


def simulate(closed, mass, nominal, torque, r, duration, *, rng, smart):
    """Largest V and |e|, as (steps,) each: M dr/dt = w - v - F_v r with the worst w, noise and friction within bounds.

    ``smart`` disturbs along r; otherwise signs are random and change at random times. What the feedforward M0 qdd_a of
    errors adds is simulated as it is, held as v is.
    """
    n, step = len(r), 2.5e-5
    e, hold = np.zeros(n), round(closed.period / step)
    late = round(closed.delay / step)
    seen, levels, sizes = [(r.copy(), e.copy())] * (late + 1), [], []
    sign = np.ones(n)
    friction = closed.viscous_lower if smart else closed.viscous_upper
    pulled_back = np.zeros(n)
    for k in range(round(duration / step)):
        if not smart and k % 400 == 0:
            sign = rng.choice([-1.0, 1.0], n)
        push = np.where(r >= 0.0, 1.0, -1.0) if smart else sign
        if k % hold == 0:
            old_r, old_e = seen[-1 - late]
            measured = old_r - push * closed.reference_noise
            robust = np.clip(closed.damping * measured, -closed.limit, closed.limit)
            pulled_back = robust + nominal @ (GAIN * (old_r - GAIN * old_e))
        needed = mass @ (GAIN * (r - GAIN * e))
        # Friction helps r as long as its sign may be taken for the other one.
        apart = 1.0 - np.clip((np.abs(r) - 2e-3) / closed.sign_width, -1.0, 1.0)
        slip = closed.coulomb_upper * apart * np.sign(r)
        rd = np.linalg.solve(mass, push * torque + slip + needed - pulled_back - friction * r)
        e, r = e + step * (r - GAIN * e), r + step * rd
        seen.append((r, e))
        levels.append(0.5 * r @ mass @ r)
        sizes.append(np.sqrt(closed.armature_lower @ e**2))
    return np.array(levels), np.array(sizes)


@pytest.mark.parametrize("smart", [True, False])
@pytest.mark.parametrize(
    ("n", "delay", "limit", "torque"),
    mark_slow(
        [(1, 0.0, 40.0, 8.0), (1, 0.003, 12.0, 8.0), (7, 0.0, 40.0, 5.0)],
        but=[(7, 0.0, 40.0, 5.0)],
    ),
)
def test_no_adversary_leaves_the_bounds(n, delay, limit, torque, smart):
    rng = np.random.default_rng(4)
    closed = loop(n, delay=delay, limit=limit)
    root = rng.normal(size=(n, n))
    added = 4.0 * root @ root.T / n
    error = 0.2 * added
    mass = np.diag(np.full(n, 7.0)) + added
    r = np.full(n, 0.02)
    level = 0.5 * float(r @ mass @ r)
    edges = np.r_[np.linspace(0.0, 0.4, 9), np.inf]
    start = Entry(1.05 * level, 0.01, 1.0, np.zeros(n))
    found = disturbance(9, torque, added, error)
    proven, _ = prove(closed, found, edges, start)
    levels, sizes = simulate(closed, mass, mass - error, torque, r, 0.6, rng=rng, smart=smart)
    index = np.minimum((np.arange(len(levels)) * 2.5e-5 / 0.05).astype(int), 8)
    assert (levels <= proven.level[index]).all()
    assert (sizes <= proven.position[index]).all()
    if smart and n == 1 and not delay:  # and not wide of the mark
        assert levels[index == 8].max() > 0.05 * proven.level[8]


def test_a_start_above_the_ultimate_bound_decays_and_one_below_rises():
    closed, added = loop(), np.eye(1)
    found = disturbance(9, 5.0, added, 0.1 * added)
    edges = np.r_[np.linspace(0.0, 0.4, 9), np.inf]
    high, _ = prove(closed, found, edges, Entry(0.05, 0.0, 0.0, np.zeros(1)))
    low, _ = prove(closed, found, edges, Entry(0.0, 0.0, 0.0, np.zeros(1)))
    assert high.level[0] > 0.05 and high.level[-1] < 0.02
    assert (np.diff(high.level) <= 1e-12).all()
    assert (low.level[:3] < high.level[:3]).all() and low.level[-1] < 0.01


def test_old_torques_count_from_the_interval_before():
    """A short interval after a violent one: what was measured in the violent one is still in force."""
    closed, added = loop(), np.eye(1)
    found = disturbance(3, 5.0, added, 0.1 * added)
    calm = Assumed(np.array([0.01, 0.01, 0.01]), np.full(3, 0.05), np.full((3, 1), 4.0))
    wild = calm._replace(level=np.array([1.0, 0.01, 0.01]))
    start = Entry(0.0, 0.0, 0.0, np.zeros(1))
    usual, after = (rates(replace(closed, limit=np.full(1, 1e3)), found, x, start) for x in (calm, wild))
    assert after.speed[1] > 1.5 * usual.speed[1]
    assert after.speed[2] == usual.speed[2]


def test_how_fast_r_changed_before_the_start_counts_in_the_first_interval():
    closed, added = loop(), np.eye(1)
    found = disturbance(3, 5.0, added, 0.1 * added)
    assumed = Assumed(np.full(3, 0.01), np.full(3, 0.05), np.full((3, 1), 4.0))
    rate = rates(closed, found, assumed, Entry(0.0, 0.0, 1e3, np.zeros(1)))
    assert rate.speed[0] == 1e3 and rate.speed[1] < 1e3
    assert rate.acceleration[0, 0] >= 1e3 / np.sqrt(6.5)


@settings(max_examples=100, deadline=None)
@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0, 1), st.floats(0, 1))
def test_peak_of_a_parabola(slope, bend, start, length):
    x = np.linspace(start, start + length, 301)
    best = float(_peak(np.array(slope), np.array(bend), np.array(start), np.array(start + length)))
    sampled = float((slope * x + bend * x * x).max())
    assert sampled <= best + 1e-12
    assert best <= sampled + 100.0 * (length / 300) ** 2 + 1e-9  # between two samples a parabola rises no higher


@pytest.mark.parametrize("nu", [0.0, 0.004, 0.01, 0.02, 0.05])
def test_what_smoothing_the_sign_costs(nu):
    closed = loop(coulomb=2.0)
    found = disturbance(1, 1.0, np.eye(1), np.eye(1))._replace(reference_shift=np.full((1, 1), nu))
    x = np.linspace(0.0, 0.2, 200001)
    worst = (2.0 * x * (1.0 - np.clip((x - nu) / closed.sign_width, -1.0, 1.0))).max()
    assert _smoothing_power(closed, found)[0, 0] == pytest.approx(worst, rel=1e-4)


def test_the_metric_of_a_delayed_loop_is_that_of_gains_and_the_middle_of_drag() -> None:
    """In proportion to K + F_v, which leaves a constant inertia's modes alone, and nowhere more than the armature."""
    closed = replace(
        loop(2, delay=0.002, limit=40.0), damping=np.array([100.0, 50.0]), viscous_lower=np.array([2.0, 0.0]),
        viscous_upper=np.array([6.0, 10.0]), armature_lower=np.array([1.0, 0.9]), delayed=True,
    )  # fmt: skip
    np.testing.assert_allclose(closed.metric / closed.metric[0], [1.0, 55.0 / 104.0], rtol=1e-12)
    assert (closed.metric <= closed.armature_lower * (1.0 + 1e-12)).all()
