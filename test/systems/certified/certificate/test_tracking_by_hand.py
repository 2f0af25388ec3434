# SPDX-License-Identifier: Apache-2.0
"""The proof by energies in plain loops: two unlike joints, all terms at once, by the docstring of tracking.py.

Roundings are allowed for by factors of 1e-9, some of them once an interval: hence 1e-7.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sysid_nodes.results.certificate import Entry
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Disturbance, Rates, rates
from sysid_nodes.systems.certified.certificate.tracking import _DECAY, _DRAG, _SPLIT, _stationary, propagate

Array = npt.NDArray[np.float64]

GAIN = 4.0
EDGES = np.array([0.0, 0.02, 0.3, np.inf])
T = len(EDGES) - 1
JOINTS = range(2)


class Case:
    """Inputs at random, from some seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)

        def draw(*shape: int) -> Array:
            return np.asarray(rng.uniform(0.5, 1.5, shape))

        def any_size(low: float, high: float) -> float:
            return float(10.0 ** rng.uniform(low, high))

        self.loop = ClosedLoop(
            GAIN, np.array([900.0, 400.0]) * draw(2), any_size(0.0, 2.5) * draw(2), 8.0 * draw(2), 20.0 * draw(2),
            any_size(-2.0, 1.0) * draw(2), np.array([6.0, 0.7 if seed % 2 else 3.0]), np.full(2, 9.0),
            any_size(-4.0, -1.0) * draw(2), 0.01, 0.002, 0.001,
        )  # fmt: skip
        heavy = np.array([[9.0, 1.0], [2.0, 6.0]]) * draw(T, 1, 1)  # whose rows and columns differ
        self.found = Disturbance(
            any_size(0.0, 2.0) * draw(T, 2), draw(T, 2), heavy, 0.05 * heavy * draw(T, 1, 1), draw(T, 2),
            any_size(-1.5, 1.0) * draw(T, 2), any_size(-3.0, -1.0) * draw(T, 2),
        )  # fmt: skip
        self.assumed = Assumed(
            any_size(-3.0, 0.0) * draw(T), any_size(-2.0, 0.0) * draw(T), any_size(-1.0, 1.0) * draw(T, 2)
        )
        self.rates = Rates(0.1 * draw(T), draw(T), any_size(-1.0, 1.0) * draw(T), draw(T, 2))
        # What it costs that the sign is smoothed: the largest x (1 - sat((x - shift) / width)), by trying them.
        shift = self.found.reference_shift[..., None]
        x = np.linspace(0.0, 2.0, 20001) * (0.01 + shift)
        self.smooth = self.loop.coulomb_upper * (x * (1.0 - np.clip((x - shift) / 0.01, -1.0, 1.0))).max(axis=2)
        self.start = Entry(any_size(-4.0, 1.0), any_size(-3.0, 0.5), any_size(-1.0, 4.0), draw(2))


def lately(x: Array, t: int) -> Array:
    return np.maximum(x[t], x[max(t - 1, 0)])


def top(slope: float, bend: float, begin: float, end: float) -> float:
    """Largest of slope x + bend x^2 from begin to end, at either or where it is flat in between."""
    at = [begin, end]
    if bend < 0.0 and begin < -0.5 * slope / bend < end:
        at.append(-0.5 * slope / bend)
    return max(slope * x + bend * x**2 for x in at)


def largest(case: Case, t: int, j: int, c: float, b: float) -> float:
    """Of g_j(x) / c + mu_j x^2 over all x = |r_j|."""
    loop, found, assumed = case.loop, case.found, case.assumed
    k, armature = loop.damping[j], loop.armature_lower[j]
    full = np.sqrt(2.0 * assumed.level[t] / armature)
    knee = min(loop.limit[j] / k, full)
    stale = (loop.period + loop.delay) * lately(assumed.acceleration, t)[j] + loop.reference_noise[j]
    beyond = min(knee + stale, full)
    p = GAIN * case.rates.weight[t] * max(loop.armature_lower / loop.damping)
    held, clipped = (1.0 + p) ** 2 * k**2 / (2.0 * b * armature), p * (1.0 + p) * k**2 / (2.0 * b * armature)
    rest = GAIN * sum(found.inertia_error[t, j]) + _DRAG * c * armature - loop.viscous_lower[j]
    mu, noise, smooth = sum(found.inertia[t, j]), k * loop.reference_noise[j], case.smooth[t, j]

    def pieces(push: float) -> float:
        return max(
            top((push + noise) / c, (held + rest - k) / c + mu, 0.0, knee),
            top((push + noise - loop.limit[j]) / c, (held + rest) / c + mu, knee, beyond),
            top((push - loop.limit[j]) / c, (clipped + rest) / c + mu, beyond, full),
        )

    push = found.torque[t, j]
    return min(pieces(push + 2.0 * loop.coulomb_upper[j]), pieces(push) + smooth / c)


def stationary(case: Case, t: int, c: float, share: float) -> tuple[float, float]:
    """V* and the ripple."""
    loop, rate = case.loop, case.rates
    b = max(loop.damping / loop.armature_lower) / (2.0 * share)
    held = 0.5 * b * lately(rate.speed, t) ** 2
    square = loop.delay**2 + loop.delay * loop.period + loop.period**2 / 3.0
    dragged = (GAIN**2 * rate.mismatch[t] * case.assumed.position[t]) ** 2 / (4.0 * _DRAG * c)
    star = sum(largest(case, t, j, c, b) for j in JOINTS) + (held * square + dragged) / c
    return 0.5 * float(star), float(held * loop.period * (loop.period + loop.delay) ** 2)


def decays(case: Case) -> Array:
    return _DECAY * min(case.loop.damping[j] / sum(case.found.inertia[t, j]) for t in range(T) for j in JOINTS)


@pytest.mark.parametrize("seed", range(16))
def test_where_v_comes_to_rest_and_its_ripple(seed: int) -> None:
    case = Case(seed)
    every = decays(case)
    star, ripple = _stationary(case.loop, case.found, case.assumed, case.rates, every)
    for t, (k, c), (m, share) in (
        (t, decay, split) for t in range(T) for decay in [*enumerate(every)][::5] for split in [*enumerate(_SPLIT)][::2]
    ):
        # What smoothing the sign costs was looked for on a grid, and is known to a part in 1e4.
        expected = stationary(case, t, c, share)
        assert star[t, k, m] == pytest.approx(expected[0], rel=1e-4)
        assert ripple[t, 0, m] == pytest.approx(expected[1], rel=1e-7)


@pytest.mark.parametrize("seed", range(16))
def test_errors_along_a_motion(seed: int) -> None:
    case = Case(seed)
    loop, every = case.loop, decays(case)
    star, ripple = _stationary(loop, case.found, case.assumed, case.rates, every)
    found = propagate(loop, case.found, case.assumed, case.rates, EDGES, case.start)
    level, far = case.start.level, case.start.position
    for i in range(T):
        step = EDGES[i + 1] - EDGES[i]
        times = (step, step - (loop.age if i == 0 else 0.0))
        most, last = np.inf, np.inf
        for k, m in np.ndindex(len(every), len(_SPLIT)):
            v, up = star[i, k, m], ripple[i, 0, m]
            after = max(v + (level - v) * np.exp(-2.0 * every[k] * t) for t in times)
            most, last = min(most, max(level, after) + up), min(last, after + up)
        level, pushed = last, np.sqrt(2.0 * most) / GAIN
        after = max(pushed + (far - pushed) * np.exp(-GAIN * t) for t in times)
        assert found.level[i] == pytest.approx(most, rel=1e-7)
        assert found.position[i] == pytest.approx(max(far, after), rel=1e-7)
        far = after


@pytest.mark.parametrize("seed", range(16))
def test_how_fast_r_changes(seed: int) -> None:
    case = Case(seed)
    loop, assumed, low = case.loop, case.assumed, case.loop.armature_lower
    heavy, off = (np.maximum(x, x.swapaxes(1, 2)) for x in (case.found.inertia, case.found.inertia_error))
    found = case.found._replace(inertia=heavy, inertia_error=off)
    rate = rates(loop, found, assumed, case.start)

    def norm(x: Array) -> float:
        return float(np.sqrt(sum(x[j] ** 2 / low[j] for j in JOINTS)))

    for t in range(T):
        delta, weight = (
            np.linalg.eigvalsh(x[t] / np.sqrt(np.outer(low, low)))[-1] for x in (found.inertia_error, found.inertia)
        )
        assert (rate.mismatch[t], rate.weight[t]) == pytest.approx((delta, weight), rel=1e-7)
        size, e = np.sqrt(2.0 * assumed.level[t]), assumed.position[t]
        before = np.sqrt(2.0 * lately(assumed.level, t))
        robust = max(loop.damping / low) * before + norm(loop.damping * loop.reference_noise)
        speed = norm(found.torque[t] + found.held[t] + 2.0 * loop.coulomb_upper) + norm(found.coriolis[t])
        speed += delta * GAIN * (size + GAIN * e) + max(loop.viscous_upper / low) * size
        speed += min(robust, norm(loop.limit))
        speed = max(speed, case.start.speed) if t == 0 else speed
        assert rate.speed[t] == pytest.approx(speed, rel=1e-7)
        x = np.empty(2)
        for j in JOINTS:
            x[j] = found.torque[t, j] + found.held[t, j] + found.coriolis[t, j] + 2.0 * loop.coulomb_upper[j]
            x[j] += loop.viscous_upper[j] * size / np.sqrt(low[j])
            x[j] += sum(found.inertia_error[t, j, k] * GAIN * (size + GAIN * e) / np.sqrt(low[k]) for k in JOINTS)
            x[j] += min(loop.limit[j], loop.damping[j] * (before / np.sqrt(low[j]) + loop.reference_noise[j]))
        for j in JOINTS:
            root = found.inertia_root[t] / low
            alone = min(x[j] / low[j] + root[j] * root[1 - j] * x[1 - j], speed / np.sqrt(low[j]))
            alone = max(alone, case.start.speed / np.sqrt(low[j])) if t == 0 else alone
            assert rate.acceleration[t, j] == pytest.approx(alone, rel=1e-7)
