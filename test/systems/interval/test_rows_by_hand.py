# SPDX-License-Identifier: Apache-2.0
"""Rows and their radii, worked out joint by joint and window by window in plain loops, and the limits of their gate.

Containment alone does not notice a bound that is twice what it has to be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.row_scene import random_tree, spinner

from sysid_nodes.data import Bounds, JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.models.regressors import momentum_regressors
from sysid_nodes.systems.interval import measured_windows, row_builder
from sysid_nodes.systems.interval.error_radius import (
    BODY_CAUSES,
    body_coefficients,
)
from sysid_nodes.systems.interval.momentum_rows import (
    CAUSES,
    FRICTION_SIGN,
    ROUNDING,
    TORQUE_ABSOLUTE,
    TORQUE_RATE,
    TORQUE_RELATIVE,
    body_norms,
)
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.positions import bound_positions
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque
from sysid_nodes.systems.interval.unknowns import identify_body

Array = np.ndarray

T = np.cumsum([1.0, 0.003, 0.005, 0.004, 0.002, 0.007])
QD = np.array([0.5, 0.52, 0.49, 0.004, -0.02, -0.03])[:, None]
TAU = np.array([3.0, -2.0, 5.0, 4.0, -6.0, 1.0])[:, None]
EDGES = np.array([[0, 2], [2, 5]], dtype=np.intp)
DT, STAMP = np.diff(T), 1e-4
NOISE: dict[str, Any] = {
    "torque_relative": 0.02, "torque_absolute": 0.03, "position": 0.05, "velocity": 0.004, "acceleration": 6.0,
    "jerk": 50.0, "torque_rate": 70.0, "torque_curvature": 0.0,
}  # fmt: skip


def builder(known: dict[str, Any] | None = None, **changes: Any) -> RowBuilder:
    arm = spinner(0.2)
    motor = {"viscous": (5.0,), "coulomb": (2.0,), "armature": (0.3,), "offset": (0.0,)}
    stated = KnownRobotConfig(**{**motor, "gain": (1.5,), "gain_relative": (0.1,), **(known or {})})
    centre, radius = known_box(arm, stated)
    unknowns = identify_body(1, 0, centre, radius, Bounds(centre[:10] - 1e-9, centre[:10] + 1e-9))
    values = {"stamp": STAMP, "hold": False, "itemised": True, **NOISE, **changes}
    noise = Noise(**{name: np.full(1, x) if name in NOISE else x for name, x in values.items()})
    chain = Chain.from_robot(arm)
    return RowBuilder(chain, Reach(chain, np.zeros(1)), noise, unknowns)


def of_windows(values: Array) -> Array:
    return np.array([values[a:b].sum() for a, b in EDGES])


@pytest.mark.parametrize("hold", ["no", "hold", "until"])
@pytest.mark.parametrize(("jerk", "curvature"), [(0.0, 0.0), (50.0, 0.0), (0.0, 9e3), (0.0, 4e4)])
def test_shares_of_the_motor_and_of_the_motion(
    hold: str, jerk: float, curvature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the curvatures one tells more than the rate in both steps of certain signs, one in the shorter alone."""
    seen = {}

    def kept(q: Array, qd: Array, dt: Array, edges: Array, error: Array, creep: Array) -> Any:
        seen.update(error=error, creep=creep)
        return bound_positions(q, qd, dt, edges, error, creep)

    monkeypatch.setattr(measured_windows, "bound_positions", kept)
    samples = JointSamples(spinner(0.2).joint_names, T, 0.0 * QD, QD, TAU)
    made = builder(jerk=jerk, torque_curvature=curvature, hold=hold != "no", until=hold == "until")
    draft = made.draft(samples, EDGES)
    stamp = STAMP + np.spacing(T[-1])
    dv, size, e = 0.004 + 6.0 * stamp, np.abs(QD[:, 0]), TAU[:, 0]
    certain = np.array([True, True, False, False, False])  # of the sign: too slow, turns, could turn
    smooth = certain & (jerk > 0.0)
    duration = np.array([T[b] - T[a] for a, b in EDGES])
    motion = draft.motion
    rough, cube = np.where(smooth, 8.0 * stamp * DT, DT**2), np.where(smooth, DT**3, 0.0)
    np.testing.assert_allclose(motion.duration, duration)
    np.testing.assert_allclose(motion.rough, of_windows(rough), rtol=1e-12)
    np.testing.assert_allclose(motion.smooth, of_windows(cube), rtol=1e-12)
    np.testing.assert_allclose(motion.cube, of_windows(DT**3), rtol=1e-12)
    np.testing.assert_allclose(motion.dv, np.full((2, 1), dv), rtol=1e-12)
    top = np.array([size[a : b + 1].max() + 0.004 + 6.0 * (stamp + 0.5 * DT[a:b].max()) for a, b in EDGES])
    np.testing.assert_allclose(motion.speed[:, 0], top, rtol=1e-12)
    np.testing.assert_allclose(seen["error"][:, 0], 0.05 + top * stamp, rtol=1e-12)
    np.testing.assert_allclose(seen["creep"][:, 0], DT * dv + 6.0 * rough / 4.0 + jerk * cube / 12.0, rtol=1e-12)
    gain, armature, coulomb = 1.5 * 1.1, 0.3 * 1.05, 2.0 * 1.05
    load, error = 0.5 * (np.abs(e[1:]) + np.abs(e[:-1])), 0.02 * np.abs(e) + 0.03
    steep, bent = 70.0 * DT**2 / 4.0, curvature * DT**3 / 12.0 + 2.0 * 70.0 * stamp * DT
    assert (bent < steep)[:2].tolist() == {0.0: [True, True], 9e3: [True, True], 4e4: [True, False]}[curvature]
    between = of_windows(np.where(certain & (curvature > 0.0), np.minimum(steep, bent), steep))
    between = between + 70.0 * stamp * duration
    if hold != "no":
        load = np.abs(e[1:] if hold == "until" else e[:-1])
        between = stamp * of_windows(np.abs(np.diff(e)) + error[1:] + error[:-1])
    expected = {
        TORQUE_RELATIVE: gain * 0.02 * of_windows(load * DT),
        TORQUE_ABSOLUTE: gain * 0.03 * duration,
        TORQUE_RATE: gain * between,
        FRICTION_SIGN: (2.0 if hold == "no" else 1.0) * coulomb * of_windows(np.where(certain, 0.0, DT)),
        "velocity error": np.full(2, 2.0 * dv * armature),
        "position error": draft.positions.travel_error[:, 0] * 5.0 * 1.05,
    }
    for cause, value in expected.items():
        np.testing.assert_allclose(draft.rows.radius[:, 0, CAUSES.index(cause)], value, rtol=1e-9, err_msg=cause)
    np.testing.assert_allclose(draft.rows.radius.sum(axis=2)[:, 0], sum(expected.values()), rtol=1e-9)


def test_a_radius_found_by_calibration_is_that_of_torque_and_friction_alone() -> None:
    samples = JointSamples(spinner(0.2).joint_names, T, 0.0 * QD, QD, TAU)
    radius = builder(itemised=False).build(samples, EDGES).radius[:, 0]
    told = [CAUSES.index(cause) for cause in (TORQUE_RELATIVE, TORQUE_ABSOLUTE, FRICTION_SIGN)]
    assert (radius[:, told[:2]] > 0.0).all() and (np.delete(radius, told, axis=1) < 1e-9).all()
    assert (radius >= 0.0).all()


def test_torque_jumps_up_to_what_rate_errors_and_friction_allow() -> None:
    """70 N m/s for a step and for the stamps of both samples, both readings' errors; 2 F_c where friction may flip."""
    stamp, flip = STAMP + np.spacing(T[-1]), np.where(QD[1:, 0] > 0.4, 0.0, 2.0 * 2.0 * 1.05 / (1.5 * 0.9))
    for k, share in [(k, share) for k in range(5) for share in (0.999, 1.001)]:
        tau = np.zeros_like(TAU)
        jump = (70.0 * (DT[k] + 2.0 * stamp) + 2.0 * 0.03 + flip[k]) / (1.0 - 0.02)
        tau[k + 1 :, 0] = share * jump
        tau[k + 2 :, 0] = 0.0  # a way back that is as large is another jump
        samples = JointSamples(spinner(0.2).joint_names, T, 0.0 * QD, QD, tau)
        window = np.array([[k, k + 1]], dtype=np.intp)
        found = builder().violations(samples, window)["torque rate above its bound"]
        assert found[0] == (share > 1.0)


def two_joints(seed: int, *, load: bool, body: int) -> tuple[RowBuilder, JointSamples, Chain, Any]:
    """Rows of a random arm of two turning joints, whose drives lose a share of what they transmit."""
    rng = np.random.default_rng(seed)
    arm = next(x for x in (random_tree(rng, 2) for _ in range(99)) if Chain.from_robot(x).tree.revolute.all())
    centre, radius = known_box(arm, KnownRobotConfig(gain_relative=(0.1,)))
    centre, radius = (np.append(x, y) if load else x for x, y in ((centre, [0.2, 0.3]), (radius, [0.05, 0.07])))
    own = centre[10 * body : 10 * body + 10]
    unknowns = identify_body(2, body, centre, radius, Bounds(own - 0.3, own + 0.5))
    drives = TransmittedTorque(*rng.uniform(0.5, 1.5, (4, 2)), np.array([0.7, 1.0]))
    noise = Noise(**{name: np.full(2, x) for name, x in NOISE.items()}, stamp=STAMP, hold=False, itemised=True)
    chain = Chain.from_robot(arm)
    made = RowBuilder(chain, Reach(chain, np.zeros(2)), noise, unknowns, None, drives if load else None)
    q, tau = 0.3 * rng.normal(size=(6, 2)) + np.outer(T - 1.0, [0.5, 0.8]), rng.normal(size=(6, 2))
    qd = np.hstack([QD, [[-0.5], [-0.6], [0.5], [0.4], [0.5], [0.6]]])
    return made, JointSamples(arm.joint_names, T, q, qd, tau), chain, (drives, unknowns)


def transmitted(drives: TransmittedTorque, samples: JointSamples, k: int, j: int) -> float:
    """Between two samples, half of either."""

    def at(i: int) -> float:
        v = samples.qd[i, j]
        friction = drives.coulomb[j] * np.sign(v) + drives.viscous[j] * np.sign(v) * abs(v) ** drives.viscous_power[j]
        return float(abs(drives.gain[j] * samples.tau[i, j] - friction - drives.offset[j]))

    return 0.5 * (at(k) + at(k + 1))


CERTAIN = np.array([[True, True], [True, False], [False, True], [False, True], [False, True]])
"""Whether either joint's velocity keeps its sign between two samples: too slow, turns, could turn, turns fast."""


@pytest.mark.parametrize("load", [False, True])
def test_rows_are_integrals_over_their_windows(load: bool) -> None:
    made, samples, chain, (drives, unknowns) = two_joints(3, load=load, body=1)
    draft = made.draft(samples, EDGES)
    found, radius, place = draft.rows.coefficients, draft.rows.radius, draft.positions
    v, tau, size = samples.qd, samples.tau, unknowns.known_magnitude
    for w, (first, last) in enumerate(EDGES):
        q = place.q[place.edges[w, 0] : place.edges[w, 1] + 1]
        momentum, rate = momentum_regressors(chain, q, v[first : last + 1])
        steps = range(first, last)
        body = momentum[-1] - momentum[0]
        for k in steps:
            body = body - 0.5 * DT[k] * (rate[k - first] + rate[k - first + 1])
        np.testing.assert_allclose(found[w, :, :20], body, rtol=1e-9, atol=1e-12)
        for j in range(2):
            signed = [np.sign(v[k + 1, j]) * DT[k] if CERTAIN[k, j] else 0.0 for k in steps]
            unsure = [0.0 if CERTAIN[k, j] else DT[k] for k in steps]
            lost = [transmitted(drives, samples, k, j) for k in steps]
            columns = [
                sum(signed), q[-1, j] - q[0, j], v[last, j] - v[first, j], T[last] - T[first],
                -sum(0.5 * DT[k] * (tau[k, j] + tau[k + 1, j]) for k in steps),
                *([sum(a * b for a, b in zip(signed, lost, strict=True))] if load else []),
            ]  # fmt: skip
            row = found[w, j, 20:].reshape(-1, 2)
            np.testing.assert_allclose(row[:, j], columns, rtol=1e-9)
            assert not row[:, 1 - j].any()
            flips = size[20 + j] * sum(unsure)
            flips += size[30 + j] * sum(a * b for a, b in zip(unsure, lost, strict=True)) if load else 0.0
            assert radius[w, j, CAUSES.index(FRICTION_SIGN)] == pytest.approx(2.0 * flips, rel=1e-9)
            added = np.abs(found[w, j]) @ (np.abs(unknowns.centre) + np.abs(unknowns.basis).sum(axis=1))
            assert radius[w, j, CAUSES.index(ROUNDING)] == pytest.approx(1e-11 * added, rel=1e-9)
    np.testing.assert_array_equal(draft.rows.t, T[EDGES])
    np.testing.assert_array_equal(draft.rows.about, unknowns.prior.centre)
    assert draft.rows.body_radius.shape == (2, 2, 3, 3) and not draft.rows.body_radius.any()


@pytest.mark.parametrize("body", [0, 1])
def test_errors_of_the_motion_are_those_of_the_nominal_body_and_of_what_is_unsure(
    body: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two bounds for a nominal body the lesser in all, one in either row, and norms for how far it may be off."""
    made, samples, chain, (_, unknowns) = two_joints(4, load=False, body=body)
    draft, about = made.draft(samples, EDGES), unknowns.prior.centre + 0.1
    windows, motion, place = draft.windows, draft.motion, draft.positions
    times = T[place.index]
    levers = Reach(chain, np.zeros(2)).levers(times, place.q, place.edges, motion.speed, place.error)
    by_body = body_coefficients(levers, motion).sum(axis=0)
    theta = unknowns.known_centre[:20].reshape(2, 10).copy()
    theta[body] += about
    radius = np.abs(unknowns.basis[:20, 10:]).sum(axis=1).reshape(2, 10)
    names = [CAUSES.index(cause) for cause in BODY_CAUSES]
    nominal, spread = (
        np.array([
            [[sum(by_body[c, w, k, i] @ body_norms(x[i], x[i]) for i in range(2)) for k in range(2)] for w in range(2)]
            for c in range(3)
        ])
        for x in (theta, radius)
    )  # fmt: skip
    other = nominal * np.array([[0.5, 2.0], [2.0, 0.5]]) * np.array([0.9, 1.0, 1.05])[:, None, None]
    seen = []

    def told(*given: Any) -> Array:
        seen.extend(given)
        return np.tile(other, (4, 1, 1, 1))

    monkeypatch.setattr(row_builder, "nominal_radius", told)
    rows = made.finish(draft, about)
    lesser = np.where(other.sum(axis=0) < nominal.sum(axis=0), other, nominal)
    assert seen[0] is chain and seen[2:6] == [windows, draft.roughness, place, motion]
    np.testing.assert_allclose(seen[1], theta.ravel(), rtol=1e-12)
    np.testing.assert_allclose(seen[6].lam, levers.lam, rtol=1e-12)
    own = draft.rows.radius[:, :, names]
    np.testing.assert_allclose(rows.radius[:, :, names], own + np.moveaxis(lesser + spread, 0, -1), rtol=1e-9)
    rest = [k for k in range(len(CAUSES)) if k not in names]
    np.testing.assert_array_equal(rows.radius[:, :, rest], draft.rows.radius[:, :, rest])
    np.testing.assert_allclose(rows.body_radius, np.moveaxis(by_body[:, :, :, body, :], 0, 2), rtol=1e-12)
    assert rows.about is about
    # What a body in a box adds is by the norms of the largest difference.
    low, high = about - 0.2, about + np.linspace(0.1, 0.4, 10)
    norms = body_norms(low - about, high - about)
    total = rows.radius.sum(axis=2) + np.einsum("wkcs,s->wk", rows.body_radius, norms)
    np.testing.assert_allclose(rows.total_radius(Bounds(low, high)), total, rtol=1e-12)


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_velocities_jump_by_acceleration_and_both_readings_errors(share: float) -> None:
    stamp = STAMP + np.spacing(T[-1])
    for k in range(5):
        qd = np.zeros((6, 1))
        qd[k + 1 :] = 0.9 + share * (6.0 * DT[k] + 2.0 * (0.004 + 6.0 * stamp))
        qd[: k + 1] = 0.9
        samples = JointSamples(spinner(0.2).joint_names, T, 0.9 * (T - 1.0)[:, None], qd, 0.0 * TAU)
        found = builder().violations(samples, np.array([[k, k + 1]], dtype=np.intp))["acceleration above its bound"]
        assert found[0] == (share > 1.0)


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_a_sign_is_certain_where_no_reading_in_its_error_turns_on_the_way(share: float) -> None:
    """Half of the acceleration's way, and the error of a reading, below the mean of both speeds."""
    stamp = STAMP + np.spacing(T[-1])
    dv = 0.004 + 6.0 * stamp
    for first, last in ((dv + 3.0 * DT[0], dv + 3.0 * DT[0]), (1.001 * dv, dv + 6.0 * DT[0])):
        qd = -share * np.array([first, last] + [last] * 4)[:, None]
        samples = JointSamples(spinner(0.2).joint_names, T, 0.0 * QD, qd, 0.0 * TAU)
        found = builder().draft(samples, np.array([[0, 1]], dtype=np.intp)).rows
        assert bool(found.radius[0, 0, CAUSES.index(FRICTION_SIGN)]) == (share < 1.0)
        assert found.coefficients[0, 0, 10] == pytest.approx(-DT[0] if share > 1.0 else 0.0, rel=1e-12)


@pytest.mark.parametrize(("gain", "relative", "least"), [(0.5, 0.1, 0.45), (0.5, 1.5, 1e-9)])
def test_friction_that_flips_moves_readings_by_the_least_gain(gain: float, relative: float, least: float) -> None:
    """2 F_c over the least gain that there may be; of one that may be none anything goes."""
    tau = np.zeros((6, 1))
    flip = 2.0 * 2.0 * 1.05 / least
    for share in (0.99, 1.01):
        tau[1:] = share * (flip + 70.0 * (DT[0] + 2.0 * STAMP) + 2.0 * 0.03) / (1.0 - 0.02)
        samples = JointSamples(spinner(0.2).joint_names, T, 0.0 * QD, 0.0 * QD, tau)
        made = builder(known={"gain": (gain,), "gain_relative": (relative,)})
        found = made.violations(samples, np.array([[0, 1]], dtype=np.intp))["torque rate above its bound"]
        assert found[0] == (share > 1.0)
