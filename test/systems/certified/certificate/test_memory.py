# SPDX-License-Identifier: Apache-2.0
"""Kernels of delayed loops: the lemma by simulation, the closed forms by quadrature, the sums by brute force."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sysid_nodes.systems.certified.certificate.memory import STEADY, Intervals, kernel, peak_rate

Array = npt.NDArray[np.float64]

H = 0.004


def sampled(g: float, pattern: str, *, seed: int = 0, last: float = 0.2, step: float = 5e-6) -> tuple[Array, Array]:
    """Times and x of x' = -g x(s(t)), x = 1 at 0 and 0 before, under patterns of s no older than H."""
    rng, count = np.random.default_rng(seed), round(last / step)
    x = np.empty(count + 1)
    x[0] = 1.0
    most, until, at = round(H / step), 0, 0
    for k in range(count):
        if pattern == "held" and k >= until:  # sampled and held for all of H
            at, until = k, k + most
        elif pattern == "oldest":
            at = k - most
        elif pattern == "jitter" and k >= until:  # any age, for any time that keeps it below H
            at = k - int(rng.integers(0, most // 2))
            until = k + int(rng.integers(1, most // 2))
        x[k + 1] = x[k] - step * g * (x[at] if at >= 0 else 0.0)
    return np.arange(count + 1) * step, x


@pytest.mark.parametrize("pattern", ["held", "oldest", "jitter"])
@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_mode_keeps_its_sign_and_fades(pattern: str, share: float) -> None:
    g = share * STEADY / H
    t, x = sampled(g, pattern)
    assert (x > 0.0).all() and (np.diff(x) <= 0.0).all()
    # The simulation's own step is an additional delay of 5 us.
    assert (x <= np.exp(-g * np.maximum(t - H, 0.0)) * (1.0 + 1e-2) + 1e-12).all()


def test_beyond_the_limit_a_mode_does_change_its_sign() -> None:
    assert sampled(1.6 * STEADY / H, "oldest")[1].min() < -1e-3


@pytest.mark.parametrize("age", [0.001, H, 0.006, 0.02, 0.045, 0.3])
@pytest.mark.parametrize(("slow", "fast"), [(30.0, 90.0), (89.0, 90.0), (5.0, 90.0)])
def test_closed_forms_are_the_integrals(age: float, slow: float, fast: float) -> None:
    a = np.linspace(0.0, age, 200001)
    g = np.clip(1.0 / np.maximum(a - H, 1e-9), slow, fast)
    largest = g * np.minimum(1.0, np.exp(-g * (a - H)))
    found = kernel(np.array(age), np.array(slow), np.array(fast), H)
    assert found.mass == pytest.approx(np.trapezoid(largest, a), rel=1e-4)
    assert found.moment == pytest.approx(np.trapezoid(a * largest, a), rel=1e-4)
    assert found.length == pytest.approx(np.trapezoid(np.minimum(1.0, np.exp(-slow * (a - H))), a), rel=1e-4)
    rates = np.linspace(slow, fast, 2001)
    assert peak_rate(np.array([age]), slow, fast)[0] == pytest.approx((rates * np.exp(-rates * age)).max(), rel=1e-4)


def test_sums_over_intervals_bound_the_integral_at_all_times_and_touch_it() -> None:
    edges = np.r_[0.0, 0.005, 0.012, 0.03, 0.07, np.inf]
    times, x = Intervals(edges, H), np.array([3.0, 1.0, 4.0, 0.0, 2.0])
    slow, fast = np.array(40.0), np.array(90.0)
    most, least = times.kernels(slow, fast)
    bound = times.answer(x, most.mass, least.mass)
    reached = np.zeros(5)
    for t in np.linspace(1e-4, 0.4, 400):
        tau = np.linspace(0.0, t, 4001)
        a = t - tau
        g = np.clip(1.0 / np.maximum(a - H, 1e-9), slow, fast)
        here = np.searchsorted(edges, tau, side="right") - 1
        value = np.trapezoid(g * np.minimum(1.0, np.exp(-g * (a - H))) * x[here], tau)
        i = int(np.searchsorted(edges, t, side="right") - 1)
        assert value <= bound[i] * (1.0 + 1e-2)
        reached[i] = max(reached[i], value / bound[i])
    assert (reached > 0.55).all()


def test_a_kernel_of_integral_one_adds_no_more_than_the_largest_and_forgets() -> None:
    edges = np.r_[0.0, 0.01, 0.05, 0.2, np.inf]
    times, x = Intervals(edges, H), np.array([[5.0], [1.0], [1.0], [2.0]])
    found = times.bounded_answer(x, np.array([50.0]))[:, 0]
    # What is 5 until 0.01 s counts with its share beyond the age of the interval's begin.
    share = [np.exp(-50.0 * max(begin - 0.01 - H, 0.0)) for begin in (0.01, 0.05, 0.2)]
    np.testing.assert_allclose(
        found, [5.0, 1.0 + 4.0 * share[0], 1.0 + 4.0 * share[1], 2.0 + 4.0 * share[2]], rtol=1e-6
    )


def test_ages_are_from_the_begin_of_what_acts() -> None:
    """Of what has acted since the begin of interval j, at the end of interval i at most, at its begin at least."""
    edges, age, slow, fast = np.array([0.0, 0.3, 0.5, 1.1]), 0.01, np.array(2.0), np.array(3.0)
    most, least = Intervals(edges, age).kernels(slow, fast)
    for i in range(3):
        for j in range(i + 1):
            for found, end in ((most, edges[i + 1]), (least, edges[i])):
                expected = kernel(np.array(end - edges[j]), slow, fast, age)
                assert found.mass[i, j] == pytest.approx(float(expected.mass), rel=1e-12)


def test_the_limit_of_the_lemma_is_just_below_1_over_e() -> None:
    assert (1.0 - 2e-9) / np.e < STEADY < 1.0 / np.e


def test_what_has_no_end_lasts_a_thousand_seconds() -> None:
    most, _ = Intervals(np.array([0.0, np.inf]), H).kernels(np.array(1e-3), np.array(2e-3))
    assert most.length[0, 0] == pytest.approx(float(kernel(np.array(1e3), 1e-3, 2e-3, H).length), rel=1e-12)
