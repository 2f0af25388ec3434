# SPDX-License-Identifier: Apache-2.0
"""Torque between samples: whatever it does within its rate and curvature, the integral is within its radius."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared.row_scene import silent

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.systems.interval.torque_integrals import TorqueIntegrals, integrate_torque
from sysid_nodes.systems.interval.windowed_samples import WindowedSamples

Array = npt.NDArray[np.float64]

STEP, RATE, CURVATURE = 2e-3, 80.0, 3e4
PATTERNS = ("bowl", "ramp", "zigzag", "random")


def torque(rng: np.random.Generator, kinks: Array, ends: tuple[float, float], pattern: str) -> tuple[Array, float]:
    """A torque whose rate jumps at the kinks alone: its values there, and its exact integral between the ends.

    Patterns: `bowl` bends one way, as a trapezoid likes least; `ramp` has the largest rate all along, as late readings
    like least; `zigzag` turns over at every kink; `random` bends this way and that.
    """
    knots = np.unique([*np.linspace(min(kinks[0], ends[0]), max(kinks[-1], ends[1]), 6 * kinks.size), *kinks, *ends])
    turns, readings = set(kinks.tolist()), []
    value = integral = slope = 0.0
    longest = float(np.diff(kinks).max())
    for start, stop in pairwise([*knots.tolist(), knots[-1] + STEP]):
        if start in turns:
            readings.append(value)
            slope = {"bowl": -0.5 * CURVATURE * longest, "ramp": RATE, "zigzag": RATE * (-1.0) ** len(readings),
                     "random": rng.uniform(-RATE, RATE)}[pattern]  # fmt: skip
        bend = {"bowl": 1.0, "ramp": 0.0, "zigzag": 0.0, "random": rng.choice([-1.0, 1.0])}[pattern]
        step, after = stop - start, float(np.clip(slope + CURVATURE * bend * (stop - start), -RATE, RATE))
        middle, end = value + step * (3.0 * slope + after) / 8.0, value + step * (slope + after) / 2.0
        if ends[0] <= start and stop <= ends[1]:
            integral += step * (value + 4.0 * middle + end) / 6.0  # Simpson's rule is exact for a parabola
        value, slope = end, after
    return np.array(readings), integral


def integrals(
    stamps: Array, readings: Array, stamp: float, *, certain: bool = True, **bounds: float
) -> TorqueIntegrals:
    """Of one window and one joint beside another, whose velocity may turn where `certain` is false."""
    noise = replace(silent(2), stamp=stamp, **{name: np.full(2, value) for name, value in bounds.items()})
    columns = np.repeat(readings[:, None], 2, axis=1)
    signs = np.ones((len(stamps) - 1, 2), dtype=bool)
    signs[:, 1] = certain
    samples = JointSamples(("a", "b"), stamps, columns, columns, columns)
    edges = np.array([[0, len(stamps) - 1]], dtype=np.intp)
    return integrate_torque(WindowedSamples(samples, edges, stamp, signs), noise)


@given(
    seed=st.integers(0, 2**32 - 1),
    pattern=st.sampled_from(PATTERNS),
    stamp=st.sampled_from([0.0, 5e-5, 6e-4]),
    late=st.sampled_from(["all", "none", "random"]),
)
def test_whatever_torque_does_between_samples_is_within_the_radius(
    seed: int, pattern: str, stamp: float, late: str
) -> None:
    """Steps of .75 to 1 of the longest; readings in time, or off by the stamp's error in any order."""
    rng = np.random.default_rng(seed)
    stamps = 1.0 + np.cumsum(rng.uniform(0.75, 1.0, 12) * STEP)
    shift = {"all": 1.0, "none": -1.0, "random": rng.uniform(-1.0, 1.0, stamps.size)}[late]
    readings, exact = torque(rng, stamps + stamp * shift, (stamps[0], stamps[-1]), pattern)
    found = integrals(stamps, readings, stamp, torque_rate=RATE, torque_curvature=CURVATURE)
    # 1e-13: sums of torques of .1 N m over .02 s in double precision, a thousandth of the least radius
    assert abs(found.impulse[0, 0] - exact) <= found.between[0, 0] * (1.0 + 1e-9) + 1e-13


def test_a_torque_that_always_bends_the_same_way_reaches_the_radius() -> None:
    stamps = 1.0 + STEP * np.arange(11)
    readings, exact = torque(np.random.default_rng(1), stamps, (stamps[0], stamps[-1]), "bowl")
    found = integrals(stamps, readings, 0.0, torque_rate=RATE, torque_curvature=CURVATURE)
    assert found.impulse[0, 0] - exact == pytest.approx(found.between[0, 0], rel=1e-6)
    assert found.between[0, 0] == pytest.approx(10 * CURVATURE * STEP**3 / 12.0)


@pytest.mark.parametrize(("certain", "curvature"), [(False, CURVATURE), (True, 0.0), (True, 1e9)])
def test_the_rate_alone_counts_where_another_joint_may_reverse_or_curvature_tells_less(
    certain: bool, curvature: float
) -> None:
    stamps = 1.0 + STEP * np.arange(11)
    found = integrals(stamps, np.zeros(11), 1e-5, certain=certain, torque_rate=RATE, torque_curvature=curvature)
    expected = RATE * (10 * STEP**2 / 4.0 + 1e-5 * 10 * STEP)
    np.testing.assert_allclose(found.between, np.full((1, 2), expected), rtol=1e-9)


def test_curvature_counts_of_the_joints_of_which_it_is_known_however_small_it_is() -> None:
    """0 means that nothing is known of the other joint's."""
    stamps, small = 1.0 + STEP * np.arange(11), 0.5
    noise = replace(silent(2), torque_rate=np.full(2, RATE), torque_curvature=np.array([small, 0.0]))
    still, signs = np.zeros((11, 2)), np.ones((10, 2), dtype=bool)
    samples = JointSamples(("a", "b"), stamps, still, still, still)
    windows = WindowedSamples(samples, np.array([[0, 10]], dtype=np.intp), 0.0, signs)
    expected = [[10 * small * STEP**3 / 12.0, RATE * 10 * STEP**2 / 4.0]]
    np.testing.assert_allclose(integrate_torque(windows, noise).between, expected, rtol=1e-9)
