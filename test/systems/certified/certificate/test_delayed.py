# SPDX-License-Identifier: Apache-2.0
"""The proof for delayed torques: every term alone, and closed loops against it with old, jittering torques."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from shared.quick_and_slow import mark_slow

from sysid_nodes.results.certificate import Entry
from sysid_nodes.systems.certified.certificate import delayed
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Disturbance
from sysid_nodes.systems.certified.certificate.delayed import (
    DelayedErrors,
    _forces,
    _Loop,
    _positions,
    propagate_delayed,
    steady,
)
from sysid_nodes.systems.certified.certificate.disturbance import Split
from sysid_nodes.systems.certified.certificate.memory import STEADY

Array = npt.NDArray[np.float64]

GAIN, K, DRAG, MASS, H = 2.5, 600.0, 10.0, 7.0, 0.004
STIFF = K + DRAG
RATE = STIFF / MASS
EDGES = np.r_[np.linspace(0.0, 0.4, 9), np.inf]
COUNT = len(EDGES) - 1
CALM = Entry(0.0, 0.0, 0.0, np.zeros(1), 0.0, 0.0, np.zeros(1), np.zeros(1))


def loop_of(n: int = 1, **changes: Any) -> ClosedLoop:
    values: dict[str, Any] = {
        "damping": K, "limit": 1e9, "viscous_lower": DRAG, "viscous_upper": DRAG, "coulomb_upper": 0.0,
        "armature_lower": MASS, "armature_upper": MASS, "reference_noise": 0.0,
    }  # fmt: skip
    arrays = {name: np.full(n, changes.pop(name, value)) for name, value in values.items()}
    return ClosedLoop(GAIN, **arrays, sign_width=0.01, period=0.001, delay=H - 0.001, delayed=True, **changes)


def follow(
    loop: ClosedLoop | None = None,
    *,
    n: int = 1,
    start: Entry | None = None,
    mass: Array | None = None,
    error: Array | None = None,
    coriolis: float = 0.0,
    assumed: dict[str, Any] | None = None,
    root: float = 0.0,
    **parts: Any,
) -> DelayedErrors:
    """Errors that follow where all that is not named is nothing."""
    zero, joint = np.zeros(COUNT), np.zeros((COUNT, n))

    def all_times(x: Any) -> Array:
        return np.broadcast_to(x, (COUNT, *np.shape(x))).astype(float)

    matrix = np.diag(np.full(n, MASS)) if mass is None else mass
    found = Disturbance(
        torque=joint, held=joint, inertia=all_times(np.abs(matrix)),
        inertia_error=all_times(np.zeros((n, n)) if error is None else error), coriolis=joint + coriolis,
        inertia_root=joint + root, reference_shift=joint,
    )  # fmt: skip
    split = Split(*(joint + parts.get(name, 0.0) for name in ("steady", "slope", "rest", "drift")), None, None)  # type: ignore[arg-type]
    given = {"level": zero, "position": zero, "acceleration": joint, "speed": zero, "position_error": joint}
    given |= {"reference_error": joint}
    given |= {name: given[name] + value for name, value in (assumed or {}).items()}
    begin = start or replace(CALM, jerk=np.zeros(n), position_error=np.zeros(n), reference_error=np.zeros(n))
    return propagate_delayed(loop or loop_of(n), found, split, Assumed(**given), EDGES, begin, np.zeros((n, 10)))


MOMENT = 0.5 * RATE * H**2 + H + 1.0 / RATE
TERMS: dict[str, tuple[dict[str, Any], float]] = {  # inputs, and what r settles at
    "matched": ({"steady": 5.0}, 5.0 / STIFF),
    "unmatched": ({"rest": 5.0}, 5.0 / STIFF),
    "coriolis": ({"coriolis": 5.0}, 5.0 / STIFF),
    "friction": ({"loop": loop_of(coulomb_upper=0.4)}, 0.8 / STIFF),
    "noise": ({"loop": loop_of(reference_noise=0.01)}, K * 0.01 / STIFF),
    "uncertain drag": (
        {"loop": loop_of(viscous_lower=DRAG - 2.0, viscous_upper=DRAG + 2.0), "assumed": {"reference_error": 0.1}},
        0.2 / STIFF,
    ),
    "old r in the drag and in K_r M0": (
        {"assumed": {"acceleration": 3.0, "speed": 3.0 * MASS**0.5}},
        H * 3.0 * (DRAG + GAIN * MASS) / STIFF,
    ),
    "inertia times r": (
        {"error": np.eye(1), "assumed": {"reference_error": 0.1, "level": 0.5 * MASS * 0.01}},
        GAIN * 0.1 / STIFF,
    ),
    "inertia times e": (
        {"error": np.eye(1), "assumed": {"position_error": 0.1, "position": MASS**0.5 * 0.1}},
        GAIN**2 * 0.1 / STIFF,
    ),
    "slope": ({"slope": 5.0}, 5.0 * (2.0 * H + 1.0 / RATE) / STIFF),
    "drift of the inertia": ({"drift": 5.0}, 5.0 * MOMENT / STIFF),
}


@pytest.mark.parametrize("name", TERMS)
def test_each_term_alone_gives_what_it_gives(name: str) -> None:
    inputs, expected = TERMS[name]
    found = follow(**inputs)
    assert found.errors.reference_error[-1, 0] == pytest.approx(expected, rel=1e-6)
    assert found.errors.position_error[-1, 0] == pytest.approx(expected / GAIN, rel=1e-6)
    assert found.errors.level[-1] >= 0.5 * MASS * expected**2 * (1.0 - 1e-6)
    noise = inputs.get("loop", loop_of()).reference_noise[0]
    assert found.robust[-1, 0] == pytest.approx(K * (expected + noise), rel=1e-6)


def test_a_constant_force_is_answered_without_overshoot_from_rest_and_forgotten_from_elsewhere() -> None:
    from_rest = follow(steady=5.0)
    np.testing.assert_allclose(from_rest.errors.reference_error[:, 0], 5.0 / STIFF, rtol=1e-6)
    away = replace(CALM, level=0.5 * MASS * 0.04, reference_norm=0.2 * MASS**0.5, reference_error=np.full(1, 0.2))
    found = follow(steady=5.0, start=away).errors.reference_error[:, 0]
    assert found[0] == pytest.approx(0.2)
    at = EDGES[2] - H
    assert found[2] == pytest.approx((5.0 + np.exp(-RATE * at) * (5.0 + 0.2 * STIFF)) / STIFF, rel=1e-6)
    # Close to what it settles at by a former proof.
    near = replace(away, apart_norm=0.01 * MASS**0.5, apart_error=np.full(1, 0.01))
    found = follow(steady=5.0, start=near).errors.reference_error[:, 0]
    assert found[2] == pytest.approx(5.0 / STIFF + np.exp(-RATE * at) * 0.01, rel=1e-6)


def test_nothing_pulls_e_back_until_the_first_torque_acts() -> None:
    norm = 0.3 * MASS**0.5
    errors = follow(start=replace(CALM, position=norm, position_norm=norm, position_error=np.full(1, 0.3))).errors
    expected = 0.3 * np.exp(-GAIN * (EDGES[1] - H))
    assert errors.position_error[:2, 0] == pytest.approx([0.3, expected], rel=1e-6)
    assert errors.position[:2] == pytest.approx([norm, expected * MASS**0.5], rel=1e-6)


def test_what_passes_before_the_first_torque_counts() -> None:
    still, moved = (follow(start=replace(CALM, speed=speed)) for speed in (0.0, 4.0))
    assert still.errors.reference_error[0, 0] < 1e-12
    assert moved.errors.reference_error[0, 0] == pytest.approx(H * 4.0 / MASS**0.5, rel=1e-6)
    assert moved.errors.speed[0] >= 4.0 and moved.errors.acceleration[0, 0] >= 4.0 / MASS**0.5
    # What w_s changes by within one age as well.
    time = 3.0 * H + (1.0 - np.exp(-RATE * (EDGES[1] - H))) / RATE
    assert follow(slope=5.0).errors.reference_error[0, 0] == pytest.approx(5.0 * time / STIFF, rel=1e-6)


def test_acceleration_is_what_force_is_left() -> None:
    found = follow(rest=5.0)
    # The force itself, and the answer to the same force at its worst a moment ago.
    assert found.errors.acceleration[-1, 0] == pytest.approx(10.0 / MASS, rel=1e-6)
    assert found.errors.speed[-1] == pytest.approx(10.0 / MASS**0.5, rel=1e-6)
    assert follow(steady=5.0).errors.acceleration[-1, 0] < 1e-9
    assert follow(steady=5.0).errors.acceleration[0, 0] == pytest.approx(5.0 / MASS, rel=1e-6)
    sloped = follow(slope=5.0)
    assert sloped.errors.acceleration[-1, 0] == pytest.approx(5.0 * (3.0 * H + 1.0 / RATE) / MASS, rel=1e-6)


def test_other_joints_accelerate_this_one() -> None:
    mass = np.array([[8.0, 2.0], [2.0, 9.0]])
    given = {"acceleration": np.array([0.0, 3.0]), "speed": 100.0}
    found, held = (follow(n=2, mass=x, rest=50.0, assumed=given) for x in (mass, np.diag([8.0, 9.0])))
    gap = found.errors.reference_error[-1] - held.errors.reference_error[-1]
    # M0 K_r holds the same entry.
    assert gap[0] == pytest.approx(2.0 * 3.0 * (1.0 + GAIN * H) / STIFF, rel=1e-6) and gap[1] == pytest.approx(0.0)
    # M is at most w diag(metric).
    assert np.linalg.eigvalsh(found.weight * np.diag(loop_of(2).metric) - mass).min() >= -1e-6


def test_fast_modes_of_heavy_joints_weigh_on_the_norm() -> None:
    light, heavy = follow(rest=5.0), follow(rest=5.0, mass=np.full((1, 1), 21.0))
    share = 1.0 + H * RATE
    assert light.errors.level[-1] == pytest.approx(0.5 * MASS * (share * 5.0 / STIFF) ** 2, rel=1e-6)
    assert heavy.errors.reference_error[-1, 0] == pytest.approx(5.0 / STIFF, rel=1e-6)
    assert heavy.weight == pytest.approx(3.0, rel=1e-6)
    assert heavy.errors.level[-1] > 1.2 * light.errors.level[-1]


def test_stiffness_beyond_the_delay_is_refused() -> None:
    assert steady(loop_of())
    assert not steady(loop_of(damping=K * 1.1 / (H * RATE * np.e)))
    limit = replace(loop_of(damping=STEADY, viscous_lower=0.0, viscous_upper=0.0, armature_lower=1.0), period=1.0)
    assert steady(replace(limit, delay=0.0))  # at the limit itself the lemma holds


@pytest.mark.parametrize("smart", [True, False])
@pytest.mark.parametrize("n", mark_slow([1, 4], but=[4]))
def test_no_adversary_with_old_torques_leaves_the_bounds(n: int, smart: bool) -> None:
    rng = np.random.default_rng(n)
    lever = rng.normal(size=(n, n))
    mass = MASS * np.eye(n) + 2.0 * lever @ lever.T / n
    closed = loop_of(n, coulomb_upper=0.3, reference_noise=1e-3)
    w, rest = rng.choice([-8.0, 8.0], n), 1.0
    given = Assumed(*(np.zeros(s) for s in ((COUNT,), (COUNT,), (COUNT, n), (COUNT,), (COUNT, n), (COUNT, n))))
    calm = replace(CALM, jerk=np.zeros(n), position_error=np.zeros(n), reference_error=np.zeros(n))
    for _ in range(40):
        found = follow(
            closed, n=n, mass=mass, error=0.2 * np.abs(mass - MASS * np.eye(n)), start=calm,
            root=float(np.sqrt(np.diag(mass)).max()), steady=np.abs(w), rest=rest, assumed=given._asdict(),
        )  # fmt: skip
        if all((a < b).all() for a, b in zip(found.errors, given, strict=True)):
            break
        given = Assumed(*(1.05 * x + 1e-6 for x in found.errors))
    else:
        raise AssertionError("no errors prove themselves")
    nominal = mass - 0.2 * np.sign(mass - MASS * np.eye(n)) * np.abs(mass - MASS * np.eye(n))
    step, r, e = 5e-5, np.zeros(n), np.zeros(n)
    past = [(r, e)] * round(H / step)
    held, until, pulled, reached = np.zeros(n), 0, np.zeros(n), 0.0
    sign = np.ones(n)
    for k in range(round(0.8 / step)):
        if k % 200 == 0 and not smart:
            sign = rng.choice([-1.0, 1.0], n)
        push = np.where(r >= 0.0, 1.0, -1.0) * np.sign(w * (r + 1e-12 * w)) if smart else sign
        if k >= until:
            # A state as old as may be by the time that the next torque acts.
            late = int(rng.integers(len(past) - 40, len(past) - 20)) if not smart else len(past) - 20
            old_r, old_e = past[-late]
            held = K * (old_r - push * 1e-3)
            pulled = nominal @ (GAIN * (old_r - GAIN * old_e))
            until = k + 20
        force = w + push * rest + mass @ (GAIN * (r - GAIN * e)) - pulled + 0.6 * push - held - DRAG * r
        r, e = r + step * np.linalg.solve(mass, force), e + step * (r - GAIN * e)
        past = [*past[1:], (r, e)]
        i = min(int(k * step / 0.05), COUNT - 1)
        assert (np.abs(r) <= found.errors.reference_error[i]).all()
        assert (np.abs(e) <= found.errors.position_error[i]).all()
        assert r @ (closed.metric * r) <= 2.0 * found.errors.level[i]
        reached = max(reached, float((np.abs(r) / found.errors.reference_error[i]).max()))
    assert reached > 0.5


def test_what_w_s_changes_by_while_the_start_fades_is_added() -> None:
    """Above what the same slope does to a start that has settled, by as much as can be left of a changing r_bar."""
    slope = 5.0 / STIFF
    away = replace(CALM, level=50.0, reference_norm=0.2 * MASS**0.5, reference_error=np.full(1, 0.2))
    still, sloped = (follow(steady=100.0, slope=x, start=away).errors for x in (0.0, 5.0))
    passing = slope / (np.e * RATE)
    least = 3.0 * H * slope + (1.0 - np.exp(-RATE * (EDGES[1] - H))) / RATE * slope
    gap = sloped.reference_error[0, 0] - still.reference_error[0, 0]
    assert gap == pytest.approx(least + passing, rel=1e-5)
    norms = [np.sqrt(2.0 * x.level[0]) for x in (sloped, still)]
    assert norms[0] - norms[1] >= (least + passing) * MASS**0.5 * (1.0 - 1e-6)


def test_modes_may_take_the_start_and_the_end_apart() -> None:
    """The norm of r is that of both together, since each mode may still be here or there already."""
    away = replace(CALM, level=50.0, reference_norm=0.2 * MASS**0.5, reference_error=np.full(1, 0.2))
    found = follow(steady=0.15 * STIFF, start=away).errors
    assert np.sqrt(2.0 * found.level[0]) == pytest.approx(MASS**0.5 * np.hypot(0.2, 0.15), rel=1e-6)
    assert found.reference_error[0, 0] == pytest.approx(0.2, rel=1e-6)


def test_the_drift_within_one_age_counts_for_what_torques_answer() -> None:
    found = follow(drift=5.0).errors
    fast = RATE * H
    mass, first = 1.0 + fast, 0.5 * RATE * H**2 + H + 1.0 / RATE
    # dr/dt by the norm: what z may be one age ago, with the inertia of now.
    norm = 5.0 / STIFF * MASS**0.5 * (first + H * mass) * RATE
    joint = 5.0 / STIFF * first * RATE * MASS**0.5
    assert found.speed[-1] == pytest.approx(min(norm, joint), rel=1e-5)


def test_errors_at_the_start_hold_until_a_torque_acts() -> None:
    """What settles at nothing at once was still there at first."""
    away = replace(CALM, level=50.0, reference_norm=0.2 * MASS**0.5, reference_error=np.full(1, 0.2))
    near = replace(away, apart_norm=0.0, apart_error=np.zeros(1))
    found = follow(start=near).errors
    assert found.reference_error[0, 0] == pytest.approx(0.2, rel=1e-6)
    assert found.level[0] == pytest.approx(0.5 * MASS * 0.04, rel=1e-6)
    assert found.reference_error[1, 0] < 1e-9


def test_of_a_start_known_by_its_level_alone_r_is_no_larger_than_that_allows() -> None:
    away = replace(CALM, level=0.5 * MASS * 0.04, reference_norm=np.inf, reference_error=np.full(1, np.inf))
    found = follow(start=away).errors
    assert found.level[0] == pytest.approx(0.5 * MASS * 0.04, rel=1e-6)
    assert found.reference_error[0, 0] == pytest.approx(0.2, rel=1e-6)


def test_torques_in_force_may_be_of_the_interval_before() -> None:
    away = replace(CALM, level=50.0, reference_norm=0.2 * MASS**0.5, reference_error=np.full(1, 0.2))
    found = follow(start=away)
    assert found.robust[1, 0] == pytest.approx(K * 0.2, rel=1e-6)
    assert found.robust[2, 0] == pytest.approx(K * found.errors.reference_error[1, 0], rel=1e-6)


def test_a_new_nominal_model_moves_what_r_settles_at() -> None:
    class Jump:
        def jump(self, change: Array) -> Array:
            return 5.0 * np.abs(change[:, 0])

    near = replace(
        CALM, level=50.0, reference_norm=9.0, reference_error=np.full(1, 9.0), apart_norm=0.01 * MASS**0.5,
        apart_error=np.full(1, 0.01), theta=np.zeros((1, 10)), speed=0.5,
    )  # fmt: skip
    loop, none, joint = loop_of(), np.zeros(COUNT), np.zeros((COUNT, 1))
    found = Disturbance(joint, joint, joint[..., None] + MASS, joint[..., None], joint, joint, joint)

    class Parts(NamedTuple):
        steady: Array = joint
        slope: Array = joint
        rest: Array = joint
        drift: Array = joint
        jump: Any = Jump().jump

    theta = np.zeros((1, 10))
    theta[0, 0] = 2.0
    settled = Assumed(none, none, joint, none, joint, joint)
    after = propagate_delayed(loop, found, Parts(), settled, EDGES, near, theta)  # type: ignore[arg-type]
    varied = H * 0.5 / MASS**0.5
    assert after.apart_error[0, 0] == pytest.approx(0.01 + 10.0 / STIFF + 2.0 * varied, rel=1e-6)
    expected = MASS**0.5 * (0.01 + 10.0 / STIFF + varied + varied * (1.0 + RATE * H))
    assert after.apart_norm[0] == pytest.approx(expected, rel=1e-2)


def test_forces_on_two_joints_are_the_lesser_of_norms_and_joints() -> None:
    """All terms at once, in plain loops; the metric is not the armature, nor the same for both joints."""
    rng = np.random.default_rng(2)
    loop = replace(
        loop_of(2), damping=np.array([600.0, 300.0]), viscous_lower=np.array([8.0, 4.0]),
        viscous_upper=np.array([12.0, 5.0]), coulomb_upper=np.array([0.4, 0.3]), reference_noise=np.array([0.01, 0.02]),
    )  # fmt: skip
    inertia, error = np.array([[9.0, 1.0], [1.0, 8.0]]), np.array([[0.5, 0.2], [0.2, 0.4]])
    zero = np.zeros((1, 2))
    split = Split(zero, zero, rng.uniform(1.0, 2.0, (1, 2)), zero, None, None)  # type: ignore[arg-type]
    found = Disturbance(zero, zero, inertia[None], error[None], rng.uniform(1.0, 2.0, (1, 2)), zero, zero)
    metric = (loop.damping + np.array([10.0, 4.5])) / (610.0 / 7.0)
    drag, fast = np.array([10.0, 4.5]), 610.0 / 7.0

    def norm(torque: Array) -> float:
        return float(np.sqrt((torque**2 / metric).sum())) / fast

    def times(size: Array, most: float, each: Array) -> Array:
        return np.array([min(np.sqrt((size[j] ** 2 / metric).sum()) * most, size[j] @ each) for j in range(2)])

    for wide in (1.0, 1e3):  # errors by joint, or of all together, that tell less than the other
        each, together = rng.uniform(0.1, 0.2, (3, 2)) * wide, rng.uniform(0.1, 0.2, 3) / wide
        assumed = Assumed(
            np.array([0.5 * together[0] ** 2]), together[1:2], each[:1], together[2:], each[1:2], each[2:]
        )
        r, e, rate = together
        feedback = GAIN * times(error, r, each[2]) + GAIN**2 * times(error, e, each[1])
        held = GAIN * times(inertia, H * rate, H * each[0])
        dragged = drag * np.minimum(H * each[0], H * rate / np.sqrt(metric))
        other = split.rest[0] + found.coriolis[0] + np.array([0.8, 0.6]) + loop.damping * loop.reference_noise
        other = other + np.array([2.0, 0.5]) * each[2]
        spectral, weight = (np.linalg.norm(x / np.sqrt(np.outer(metric, metric)), 2) for x in (error, inertia))
        forces = _forces(_Loop(loop, found), found, split, assumed)
        np.testing.assert_allclose(forces.joint[0], other + feedback + held + dragged, rtol=1e-7)
        expected = norm(other) + min(norm(feedback), GAIN * spectral * (r + GAIN * e) / fast)
        expected += min(norm(held), GAIN * H * rate * weight / fast) + norm(dragged)
        assert forces.norm[0] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("mass", [MASS, 3.0 * MASS])
def test_what_passed_before_the_first_torque_acts_for_two_ages_and_no_longer(
    mass: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a push in the first interval what fades is left two ages after it; were it pushed on, all of it would be."""
    monkeypatch.setitem(globals(), "EDGES", np.r_[0.0, 2.5 * H, 4.5 * H, np.linspace(0.1, 0.4, 6), np.inf])
    found = follow(start=replace(CALM, speed=4.0), mass=np.full((1, 1), mass)).errors
    full = H * 4.0 / MASS**0.5
    left = full * np.exp(-STIFF / mass * H) * (1.0 + 1e-6)
    assert found.reference_error[1, 0] == pytest.approx(full, rel=1e-6)
    assert found.reference_error[2, 0] <= left
    if mass == MASS:  # a heavier joint has faster modes to fear
        assert found.level[2] <= 0.5 * MASS * left**2


def test_accelerations_of_coupled_joints() -> None:
    """I_a^-1 is no less than M^-1, whose other entries are products of roots at most."""
    root = np.array([0.5, 0.7])
    found, alone = (follow(n=2, rest=50.0, root=x) for x in (root, 0.0))
    free = alone.errors.acceleration[-1]
    gap = found.errors.acceleration[-1] - free
    together = free * MASS  # the force left on each joint
    assert gap == pytest.approx(root * root[::-1] * together[::-1] / MASS**2, rel=1e-6)
    assert together[0] > 50.0


def test_every_bound_is_rounded_outward(monkeypatch: pytest.MonkeyPatch) -> None:
    """What makes up for roundings comes on top at every step: the larger it is, the larger each bound."""
    start = Entry(
        0.4, 0.3, 0.2, np.ones(2), 0.2, 0.5, np.full(2, 0.3), np.full(2, 0.4), 0.4, np.full(2, 0.3)
    )  # fmt: skip
    rest = {"mass": np.array([[8.0, 2.0], [2.0, 9.0]]), "error": np.eye(2), "steady": 3.0, "slope": 2.0, "rest": 1.0}
    inertia = np.broadcast_to(np.diag([8.0, 9.0]), (COUNT, 2, 2))
    joint = np.ones((COUNT, 2))
    found = Disturbance(joint, joint, inertia, inertia, joint, joint, joint)

    calm = replace(CALM, jerk=np.zeros(2), position_error=np.zeros(2), reference_error=np.zeros(2))

    def bounds() -> list[Array]:
        own = _Loop(loop_of(2), found)
        helpers = own.norm(joint), own.spectral(inertia), own.times(inertia, joint[:, 0], joint)
        after = follow(n=2, start=start, drift=0.5, coriolis=0.2, root=0.5, **rest)
        assumed = Assumed(joint[:, 0], joint[:, 0], joint, joint[:, 0], joint, joint)
        split = Split(joint, joint, joint, joint, None, None)  # type: ignore[arg-type]
        forces = _forces(own, found, split, assumed)
        return [*helpers, own.joint_fast, 1.0 / own.joint_slow, *after.errors, after.robust, np.array(after.weight),
                after.apart_norm, after.apart_error, *forces]  # fmt: skip

    def falling() -> Array:
        """|e| that decays freely: rounded once more in every interval."""
        own, none = _Loop(loop_of(2), found), np.zeros((COUNT, 2))
        return np.column_stack(_positions(own, none[:, 0], none, EDGES, start))[:-1]

    def pushed() -> Array:
        return np.column_stack(_positions(_Loop(loop_of(2), found), joint[:, 0], joint, EDGES, calm))[-1]

    inflated, exact, decayed, driven = 1.1, bounds(), falling(), pushed()
    monkeypatch.setattr(delayed, "INFLATE", inflated)
    for k, (before, after) in enumerate(zip(exact, bounds(), strict=True)):
        assert (after >= inflated * before * (1.0 - 1e-6)).all(), k
    powers = inflated ** np.arange(2, COUNT + 1)[:, None]
    np.testing.assert_array_less(powers * decayed * (1.0 - 1e-6), falling())
    np.testing.assert_array_less(inflated**2 * driven * (1.0 - 1e-6), pushed())


def test_how_fast_r_changed_before_the_start_counts_for_light_joints() -> None:
    """|dr/dt| is the start's speed over the root of the armature, which is more than the speed below 1 kg m2."""
    light, share = 0.25, 0.25 / MASS
    scaled = {"damping": K * share, "viscous_lower": DRAG * share, "viscous_upper": DRAG * share}
    loop = loop_of(armature_lower=light, armature_upper=light, **scaled)
    found = follow(loop, mass=np.eye(1) * light, start=replace(CALM, speed=4.0, jerk=np.zeros(1)))
    assert found.errors.acceleration[0, 0] >= 4.0 / light**0.5


def test_what_the_start_varies_by_is_of_the_first_interval() -> None:
    """A slope that comes later is none of the start's, and one that is there only at the start is."""
    away = replace(CALM, level=50.0, reference_norm=0.2 * MASS**0.5, reference_error=np.full(1, 0.2))
    early, later = np.zeros((COUNT, 1)), np.zeros((COUNT, 1))
    early[0], later[-1] = 5.0, 5.0
    none, first, last = (follow(steady=100.0, slope=x, start=away).errors for x in (0.0, early, later))
    assert first.reference_error[0, 0] - none.reference_error[0, 0] >= 3.0 * H * 5.0 / STIFF
    assert last.reference_error[0, 0] == pytest.approx(none.reference_error[0, 0], rel=1e-12)
    assert last.level[0] == pytest.approx(none.level[0], rel=1e-12)
