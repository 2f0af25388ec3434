# SPDX-License-Identifier: Apache-2.0
"""The joint's law and its rollout: derivatives by finite differences, both kernels alike, and what physics demands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.quick_and_slow import mark_slow

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.kernel import joint_rollout as kernel
from sysid_nodes.kernel.joint_law import (
    ARMATURE,
    BACKLASH,
    BIAS,
    COMMAND,
    COMMAND_RATE,
    COMMAND_SLOPE,
    DAMPING,
    DEAD_ZONE,
    DELAY,
    GAIN,
    INERTIA,
    LAW,
    LIMIT,
    LOAD,
    NO_LOAD,
    OFFSET,
    RATE_SLOPE,
    SIGNALS,
    STIFFNESS,
    STRIBECK,
    STRIBECK_SPEED,
    TORQUE,
    TORQUE_SLOPE,
    VISCOUS,
    joint_law,
)
from sysid_nodes.kernel.joint_rollout import joint_adjoint, joint_rollout
from sysid_nodes.kernel.joint_rollout_reference import THETA

STEP = 1e-3
LEVELS = 2
START = np.array([[0.3, -1.0], [-0.1, 0.5], [0.0, 0.0]])
FIRST = np.array([0, 100, 250])
COUNT = len(LAW) + LEVELS
EVERY = np.arange(COUNT)
PLAIN = np.array([ARMATURE, DELAY, GAIN, BIAS, VISCOUS, *EVERY[len(LAW) :]])
compiled = pytest.mark.skipif(kernel._joint_rollout is None, reason="the kernel is not built")


def law_of(rng: np.random.Generator) -> np.ndarray:
    """In the law's order, then two levels."""
    low = [0.005, 0.0, 0.7, -0.05, -0.3, 0.002, 0.05, 2.0, 5.0, 0.0, 0.0, 0.05, 0.05, 0.05]
    high = [0.05, 0.02, 1.5, 0.05, 0.3, 0.03, 0.5, 8.0, 20.0, 0.5, 0.3, 0.3, 0.5, 0.5]
    return rng.uniform(low, high)


def signals_of(delay: float, count: int = 400) -> np.ndarray:
    t = (np.arange(count) + 0.5) * STEP - delay
    rows = np.zeros((count, SIGNALS + LEVELS))
    rows[:, COMMAND], rows[:, COMMAND_SLOPE] = 0.5 * np.sin(20.0 * t), -10.0 * np.cos(20.0 * t)
    rows[:, COMMAND_RATE], rows[:, RATE_SLOPE] = 10.0 * np.cos(20.0 * t), 200.0 * np.sin(20.0 * t)
    rows[:, TORQUE], rows[:, TORQUE_SLOPE] = 0.4 * np.cos(9.0 * t), 3.6 * np.sin(9.0 * t)
    rows[:, STIFFNESS], rows[:, DAMPING] = 20.0, 1.0
    still = (np.arange(count) + 0.5) * STEP
    rows[:, INERTIA], rows[:, LOAD] = 0.02 + 0.005 * np.sin(5.0 * still), 0.5 * np.cos(7.0 * still)
    rows[:, SIGNALS], rows[:, SIGNALS + 1] = 1.0, np.abs(np.sin(3.0 * still))
    return rows


def roll(
    law: np.ndarray, start: np.ndarray = START, *, hard: bool = False, name: str = "", active: np.ndarray = EVERY
) -> kernel.Rollout:
    return joint_rollout(
        signals_of(float(law[DELAY])), law, FIRST, start, active,
        step=STEP, stride=5, smoothing=0.05, hard=hard, kernel=name,
    )  # fmt: skip


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_laws_derivatives_are_those_of_finite_differences(seed: int, hard: bool) -> None:
    rng = np.random.default_rng(seed)
    law, rows = law_of(rng), signals_of(0.003)[rng.integers(0, 400, 20)]
    q, w = rng.normal(0.0, 0.3, 20), rng.normal(0.0, 3.0, 20)

    def torque(q: np.ndarray, w: np.ndarray, law: np.ndarray, delay: float = 0.0) -> np.ndarray:
        moved = rows.copy()
        moved[:, COMMAND] += delay * rows[:, COMMAND_SLOPE]
        moved[:, COMMAND_RATE] += delay * rows[:, RATE_SLOPE]
        moved[:, TORQUE] += delay * rows[:, TORQUE_SLOPE]
        return joint_law(q, w, moved, law, 0.05, hard).torque

    found = joint_law(q, w, rows, law, 0.05, hard)
    e = 1e-7
    by_q = (torque(q + e, w, law) - torque(q - e, w, law)) / (2 * e)
    by_w = (torque(q, w + e, law) - torque(q, w - e, law)) / (2 * e)
    # The law has corners (at its limit, where the direction turns): a difference across one says nothing.
    second_q = np.abs(torque(q + e, w, law) + torque(q - e, w, law) - 2.0 * found.torque)
    second_w = np.abs(torque(q, w + e, law) + torque(q, w - e, law) - 2.0 * found.torque)
    smooth = (second_q < 1e-8) & (second_w < 1e-8)
    assert smooth.sum() >= 10
    np.testing.assert_allclose(found.by_position[smooth], by_q[smooth], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found.by_velocity[smooth], by_w[smooth], rtol=1e-5, atol=1e-4)
    for k in range(COUNT):
        change = e * np.eye(COUNT)[k]
        if k == ARMATURE:
            assert (found.by_parameters[:, k] == 0.0).all()
        elif k == DELAY:
            by_p = (torque(q, w, law, e) - torque(q, w, law, -e)) / (2 * e)
            np.testing.assert_allclose(found.by_parameters[smooth, k], by_p[smooth], rtol=1e-4, atol=1e-3)
        else:
            by_p = (torque(q, w, law + change) - torque(q, w, law - change)) / (2 * e)
            np.testing.assert_allclose(found.by_parameters[smooth, k], by_p[smooth], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [pytest.param("compiled", marks=compiled), "reference"])
@pytest.mark.parametrize("seed", mark_slow(range(3), but=[0]))
def test_sensitivities_are_those_of_finite_differences(name: str, seed: int) -> None:
    """With tanh's smooth limit: a hard one has corners that a rollout crosses at times that depend on everything."""
    law = law_of(np.random.default_rng(seed))
    found = roll(law, name=name).slopes
    for k in range(COUNT):
        e = 1e-7 if k in (ARMATURE, DELAY) else 1e-5 * max(abs(law[k]), 0.1)
        change = e * np.eye(COUNT)[k]
        slope = (roll(law + change, name=name).position - roll(law - change, name=name).position) / (2.0 * e)
        np.testing.assert_allclose(found[:, k], slope, rtol=1e-4, atol=2e-4 * max(np.abs(slope).max(), 1e-3))
    for k in range(2):
        change = 1e-6 * np.eye(2)[k]
        slope = (roll(law, START + change, name=name).position - roll(law, START - change, name=name).position) / 2e-6
        np.testing.assert_allclose(found[:, COUNT + k], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", [pytest.param("compiled", marks=compiled), "reference"])
def test_an_added_torque_does_what_an_offset_does(name: str) -> None:
    law = law_of(np.random.default_rng(1))
    rows = np.concatenate([signals_of(float(law[DELAY])), np.ones((400, 1))], axis=1)
    found = joint_rollout(
        rows, law, FIRST, START, np.array([OFFSET]), step=STEP, stride=5, smoothing=0.05, kernel=name
    ).slopes
    assert found.shape[1] == 4
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    np.testing.assert_allclose(found[:, 2:], roll(law, name=name).slopes[:, -2:])


@compiled
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans(), st.booleans())
def test_both_kernels_give_the_same_numbers(seed: int, hard: bool, unlimited: bool, tight: bool) -> None:
    law = law_of(np.random.default_rng(seed))
    if unlimited:
        law[LIMIT], law[NO_LOAD], law[STRIBECK] = np.inf, np.inf, 0.0
    if tight:
        law[BACKLASH], law[DEAD_ZONE] = 0.0, 0.0
    active = PLAIN if unlimited and tight else EVERY
    one, other = (roll(law, hard=hard, name=name, active=active) for name in ("compiled", "reference"))
    np.testing.assert_allclose(one.position, other.position, atol=1e-11)
    np.testing.assert_allclose(one.velocity, other.velocity, atol=1e-9)
    scale = np.abs(other.slopes).max(axis=0) + 1e-9
    np.testing.assert_allclose(one.slopes / scale, other.slopes / scale, atol=1e-6)


@pytest.mark.parametrize("name", ["reference", pytest.param("compiled", marks=compiled)])
def test_the_adjoint_says_what_the_sensitivities_say(name: str) -> None:
    """One segment, a sample a step: a loss of the positions, by viscous and Coulomb friction."""
    rng = np.random.default_rng(4)
    law = law_of(rng)
    rows, active = signals_of(float(law[DELAY])), np.array([VISCOUS, len(LAW)])
    found = joint_rollout(rows, law, FIRST[:1], START[:1], active, step=STEP, stride=1, smoothing=0.05, kernel=name)
    within, span = np.diff(found.position) / STEP, THETA * STEP
    value = joint_law(found.position[:-1] + span * within, within, rows, law, 0.05, False)
    by_span = (rows[:, INERTIA] + law[ARMATURE]) / span
    stiff = by_span - value.by_position * span - value.by_velocity
    to_position = rng.standard_normal(len(rows) + 1)
    to_w = joint_adjoint(
        (value.by_position / stiff)[None], (by_span / stiff)[None], to_position[None], np.zeros((1, len(rows) + 1)),
        step=STEP, kernel=name,
    )  # fmt: skip
    by_active = (to_w[0] / stiff) @ value.by_parameters[:, active]
    np.testing.assert_allclose(by_active, to_position @ found.slopes[:, :2], rtol=1e-5)


def test_an_adjoint_needs_a_state_more_than_steps() -> None:
    with pytest.raises(SamplesError, match="do not fit"):
        joint_adjoint(*np.zeros((4, 2, 5)), step=STEP)


def test_a_segment_begins_at_its_own_state_and_feels_nothing_of_the_one_before() -> None:
    law = law_of(np.random.default_rng(1))
    moved = START.copy()
    moved[0] += 1.0
    one, other = roll(law), roll(law, moved)
    np.testing.assert_array_equal(one.position[20:], other.position[20:])
    assert abs(one.position[:20] - other.position[:20]).max() > 0.1
    np.testing.assert_allclose(one.position[FIRST // 5], START[:, 0])
    np.testing.assert_allclose(one.slopes[FIRST // 5, -2:], np.tile([1.0, 0.0], (3, 1)))


def still(count: int, load: float) -> np.ndarray:
    rows = np.zeros((count, SIGNALS + 1))
    rows[:, INERTIA], rows[:, LOAD], rows[:, SIGNALS] = 0.02, load, 1.0
    return rows


def dry(coulomb: float) -> np.ndarray:
    law = np.zeros(len(LAW) + 1)
    law[GAIN], law[LIMIT], law[NO_LOAD], law[STRIBECK_SPEED], law[-1] = 1.0, np.inf, np.inf, 0.1, coulomb
    return law


def test_dry_friction_holds_a_load_below_it_and_yields_to_one_above() -> None:
    """Sharp friction, F_c / (inertia x smoothing speed) = 5e4 per second, at steps of a millisecond."""
    options = {"step": STEP, "stride": 1, "smoothing": 1e-3}
    rest = joint_rollout(still(2000, 0.9), dry(1.0), np.array([0]), np.zeros((1, 2)), np.arange(1), **options)
    # The smoothed sign is 0.9 at 2.06 smoothing speeds: it creeps that fast and no faster.
    np.testing.assert_allclose(np.diff(rest.position[-100:]) / STEP, -2.065e-3, rtol=1e-3)
    slides = joint_rollout(still(2000, 1.1), dry(1.0), np.array([0]), np.zeros((1, 2)), np.arange(1), **options)
    np.testing.assert_allclose(slides.velocity[-1], -0.1 / 0.02 * 2.0, rtol=5e-3)


def test_a_free_fall_has_a_parabolas_path() -> None:
    found = joint_rollout(
        still(1000, 0.2), dry(0.0), np.array([0]), np.array([[0.0, 3.0]]), np.arange(1), step=STEP, stride=10,
        smoothing=0.01,
    )  # fmt: skip
    t = 0.01 * np.arange(101)
    # Exact but for theta - 1/2 of a step: 0.01 ms times the change of velocity.
    np.testing.assert_allclose(found.position, 3.0 * t - 5.0 * t**2, atol=0.01e-3 * 10.0 * 1.01)


def test_a_shorter_step_changes_a_rollout_by_less_than_a_fiftieth_of_a_step() -> None:
    """The error left over is (theta - 1/2) step times the velocity, 0.01 ms, and as much for what is square in it."""
    law = law_of(np.random.default_rng(3))
    law[[BACKLASH, DEAD_ZONE]] = 0.0  # crossing a corner within a step is of first order
    rows = signals_of(0.0)
    fine = np.repeat(rows, 8, axis=0)
    offsets = np.tile((np.arange(8) + 0.5) / 8 - 0.5, len(rows)) * STEP
    t = np.repeat((np.arange(len(rows)) + 0.5) * STEP, 8) + offsets
    for column in range(rows.shape[1]):
        fine[:, column] = np.interp(t, (np.arange(len(rows)) + 0.5) * STEP, rows[:, column])
    options = {"smoothing": 0.05, "hard": False}
    coarse = joint_rollout(rows, law, np.array([0]), START[:1], np.arange(1), step=STEP, stride=5, **options)
    exact = joint_rollout(fine, law, np.array([0]), START[:1], np.arange(1), step=STEP / 8, stride=40, **options)
    assert np.abs(coarse.position - exact.position).max() < 0.02e-3 * np.abs(exact.velocity).max()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"signals": np.zeros((10, 5))}, "do not fit a law"),
        ({"law": np.zeros(4)}, "do not fit a law"),
        ({"stride": 3}, "no whole number of samples"),
        ({"step": 0.0}, "no whole number of samples"),
        ({"first": np.array([5])}, "the first at 0"),
        ({"first": np.array([0, 7])}, "increasing samples"),
        ({"start": np.zeros((2, 2))}, "as many start states"),
        ({"active": np.array([14])}, "must lie in 0..12"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(change: dict[str, object], message: str) -> None:
    given_ = {
        "signals": still(10, 0.0), "law": dry(1.0), "first": np.array([0]), "start": np.zeros((1, 2)),
        "active": np.array([0]), "step": STEP, "stride": 5, "smoothing": 0.01,
    }  # fmt: skip
    with pytest.raises(SamplesError, match=message):
        joint_rollout(**(given_ | change))  # type: ignore[arg-type]
