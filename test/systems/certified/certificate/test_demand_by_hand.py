# SPDX-License-Identifier: Apache-2.0
"""What the model box asks for, in plain loops: two unlike joints, three unlike intervals, all terms at once.

Taken as they are: the recursion of the bodies, the bounds of shift.py and the coefficients of the inertia, which have
tests of their own. All else is worked out again here, one number at a time. Roundings are allowed for by factors of
some 1e-9, several times over: hence 1e-7.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from sysid_nodes.intervals import Affine, TimeEnclosure
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.robots import MotorConstants
from sysid_nodes.systems.certified.certificate.bodies import Levers, inertia_coefficients
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop
from sysid_nodes.systems.certified.certificate.disturbance import Demand, demand, inertia_bounds, model_torque
from sysid_nodes.systems.certified.certificate.motion import Desired, motion
from sysid_nodes.systems.certified.certificate.recursion import dynamics
from sysid_nodes.systems.certified.certificate.shift import (
    Change,
    Magnitudes,
    coriolis,
    inertia_drift,
    torque_change,
    torque_rate,
)

Array = npt.NDArray[np.float64]

T, N, GAIN, H = 3, 2, 4.0, 0.005
ARM = Tree(
    np.array([-1, 0]), np.tile(np.eye(3), (2, 1, 1)), np.array([[0.0, 0.0, 0.1], [0.4, 0.1, 0.2]]),
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), np.ones(2, dtype=bool), np.array([0.0, 0.0, -9.81]),
)  # fmt: skip
RNG = np.random.default_rng(4)
THETA = np.array([
    [2.0, 0.3, -0.2, 0.1, 0.2, 0.02, 0.3, -0.03, 0.01, 0.4],
    [3.0, -0.4, 0.2, 0.5, 0.5, 0.03, 0.4, 0.02, -0.05, 0.3],
])  # fmt: skip
MOTOR = MotorConstants(*RNG.uniform(0.5, 2.0, (4, N)))
GAINS = Gains(GAIN, np.array([500.0, 300.0]), *RNG.uniform(0.001, 0.003, (2, N)), RNG.uniform(0.1, 0.5, N))
JERK = RNG.uniform(1.0, 9.0, (T, N))


def box(spread: float) -> ModelBox:
    rng = np.random.default_rng(5)
    radius = MotorConstants(*(0.1 * rng.uniform(0.5, 2.0, (4, N))))
    return ModelBox(THETA, spread * rng.uniform(0.5, 1.0, THETA.shape), MOTOR, radius)


def loop_of(bounds: ModelBox, delayed: bool) -> ClosedLoop:
    low = bounds.armature_lower
    ones = np.ones(N)
    return ClosedLoop(
        GAIN, GAINS.damping, 50.0 * ones, 0.9 * ones, 1.2 * ones, ones, low, bounds.armature_upper, 0.01 * ones, 0.01,
        0.002, H - 0.002, delayed,
    )  # fmt: skip


def desired() -> Desired:
    rng = np.random.default_rng(6)
    parts = (
        TimeEnclosure(size * rng.normal(size=(T, N)), *(0.1 * size * rng.uniform(0.5, 1.5, (2, T, N))))
        for size in (0.6, 1.0, 2.0)
    )
    return Desired(np.array([0.0, 0.5, 1.0, np.inf]), *parts)


def assumed() -> Assumed:
    rng = np.random.default_rng(7)
    return Assumed(
        rng.uniform(0.01, 0.04, T), rng.uniform(0.01, 0.04, T), rng.uniform(1.0, 9.0, (T, N)),
        rng.uniform(1.0, 9.0, T), *rng.uniform(0.01, 0.05, (2, T, N)),
    )  # fmt: skip


def aside(terms: Array, boxed: bool) -> float:
    """The largest sum of time, position errors and reference errors times these."""
    if boxed:
        return float(sum(abs(x) for x in terms))
    return float(abs(terms[0]) + np.hypot(terms[1], terms[2]) + np.hypot(terms[3], terms[4]))


def most(form: Affine, boxed: bool) -> Array:
    """Largest |value|, entry by entry."""
    out = np.empty(form.shape)
    for at in np.ndindex(form.shape):
        off = aside(form.terms[(slice(None), *at)], boxed) + form.remainder[at]
        out[at] = abs(form.centre[at]) + off
    return out


def off_middle(form: Affine, boxed: bool) -> Array:
    return most(form, boxed) - np.abs(form.centre)


def inertia_by_hand(pairs: Levers, bounds: ModelBox, boxed: bool) -> tuple[Array, Array, Array]:
    parts = pairs.linear, pairs.angular
    found = inertia_coefficients(pairs, [x.centre for x in parts], [off_middle(x, boxed) for x in parts])
    size, error, root = np.zeros((T, N, N)), np.zeros((T, N, N)), np.zeros((T, N))
    for t in range(T):
        for q, (i, j, k) in enumerate(zip(found.body, found.first, found.second, strict=True)):
            nominal, other, added = 0.0, 0.0, 0.0
            for p in range(10):
                middle, radius = found.centre[t, q, p], found.radius[t, q, p]
                nominal += middle * bounds.theta[i, p]
                other += radius * abs(bounds.theta[i, p])
                added += (abs(middle) + radius) * bounds.theta_radius[i, p]
            for a, b in {(j, k), (k, j)}:
                size[t, a, b] += abs(nominal) + other + added
                error[t, a, b] += added
        root[t] = [np.sqrt(size[t, j, j]) for j in range(N)]
        for j, k in np.ndindex(N, N):
            size[t, j, k] = min(size[t, j, k], root[t, j] * root[t, k])
        for j in range(N):
            size[t, j, j] += MOTOR.armature[j] + bounds.motor_radius.armature[j]
            error[t, j, j] += bounds.motor_radius.armature[j]
    return root, size, error


def lately(x: Array) -> Array:
    return np.array([[max(x[t, j], x[max(t - 1, 0), j]) for j in range(N)] for t in range(T)])


class ByHand:
    """Everything that is demanded, of every interval."""

    def __init__(self, bounds: ModelBox, loop: ClosedLoop) -> None:
        given, wanted = assumed(), desired()
        self.bounds, self.loop, self.given, self.boxed = bounds, loop, given, loop.delayed
        self.tube = given.tube(loop)
        self.state = motion(wanted, self.tube, GAIN)
        self.bodies = dynamics(ARM, self.state.q, self.state.qd, self.state.qd_a, self.state.qdd)
        self.qd, self.qd_a, self.qdd = (most(x, self.boxed) for x in (self.state.qd, self.state.qd_a, self.state.qdd))
        self.root, self.inertia, self.inertia_error = inertia_by_hand(self.bodies.pairs, bounds, self.boxed)
        rate = self.tube.reference + GAIN * self.tube.position
        self.pulled = GAIN * rate
        self.change = Change(
            GAINS.position_error + H * lately(self.qd),
            GAINS.velocity_error + H * lately(self.qdd + self.pulled + given.acceleration),
            GAIN * GAINS.position_error + H * lately(self.qdd + self.pulled),
        )
        self.slope = GAIN * GAINS.velocity_error + H * lately(JERK + GAIN**2 * rate)
        self.turned = H * GAIN * lately(given.acceleration)
        self.size = self.norms()
        self.torques()

    def norms(self) -> Magnitudes:
        """Of the bodies' motions; alpha and s with what is added to the acceleration."""
        parts = (self.bodies.w, self.bodies.u, self.bodies.alpha, self.bodies.s)
        w, u, alpha, s = (np.sqrt((most(x, self.boxed) ** 2).sum(axis=2)) for x in parts)
        pairs, added = self.bodies.pairs, self.pulled + self.slope + self.turned
        levers = [np.sqrt((most(x, self.boxed) ** 2).sum(axis=2)) for x in (pairs.angular, pairs.linear)]
        for t in range(T):
            for p, (i, j) in enumerate(zip(pairs.body, pairs.joint, strict=True)):
                alpha[t, i] += levers[0][t, p] * added[t, j]
                s[t, i] += levers[1][t, p] * added[t, j]
        return Magnitudes(w, u, alpha, s, self.qd_a)

    def torques(self) -> None:
        shifted, pairs = torque_change(ARM, THETA, self.size, self.change), self.bodies.pairs
        coefficient, radius = most(self.bodies.torque, self.boxed), self.bounds.motor_radius
        self.error, self.nominal, self.moved, self.held, self.feedback = np.zeros((5, T, N))
        for t, j in np.ndindex(T, N):
            self.nominal[t, j] = self.fed_forward(t, j)
            self.error[t, j] = radius.viscous[j] * self.qd_a[t, j] + radius.armature[j] * self.qdd[t, j]
            self.error[t, j] += radius.offset[j]
            for p, i in enumerate(pairs.body):
                for k in range(10 if pairs.joint[p] == j else 0):
                    self.error[t, j] += coefficient[t, p, k] * self.bounds.theta_radius[i, k]
            self.moved[t, j] = shifted[t, j] + MOTOR.viscous[j] * self.change.qd_a[t, j]
            for k in range(N):
                self.moved[t, j] += self.inertia[t, j, k] * self.slope[t, k]
                self.held[t, j] += self.inertia[t, j, k] * self.turned[t, k]
            pushes = [self.root[t] * self.tube.reference[t], self.root[t] * self.tube.position[t]]
            r, e = (x.sum() if self.boxed else np.hypot(*x) for x in pushes)
            self.feedback[t, j] = MOTOR.armature[j] * self.pulled[t, j] + GAIN * self.root[t, j] * (r + GAIN * e)

    def fed_forward(self, t: int, j: int) -> float:
        """By the nominal model, but for what errors add to the acceleration, and without dry friction."""
        qd_a, qdd, pairs, found = self.state.qd_a, self.state.qdd, self.bodies.pairs, self.bodies.torque
        drag, armature = MOTOR.viscous[j], MOTOR.armature[j]
        centre = drag * qd_a.centre[t, j] + armature * qdd.centre[t, j] + MOTOR.offset[j]
        terms = drag * qd_a.terms[:, t, j] + armature * qdd.terms[:, t, j]
        rest = drag * qd_a.remainder[t, j] + armature * qdd.remainder[t, j]
        for p, i in enumerate(pairs.body):
            for k in range(10 if pairs.joint[p] == j else 0):
                centre += found.centre[t, p, k] * THETA[i, k]
                terms = terms + found.terms[:, t, p, k] * THETA[i, k]
                rest += found.remainder[t, p, k] * abs(THETA[i, k])
        return float(abs(centre) + aside(terms, self.boxed) + rest)


@pytest.mark.parametrize("spread", [0.001, 0.3])
@pytest.mark.parametrize("delayed", [False, True])
def test_demand_is_the_sum_of_all_terms(delayed: bool, spread: float) -> None:
    bounds = box(spread)
    radius, loop, given = bounds.motor_radius, loop_of(bounds, delayed), assumed()
    hand, ellipsoids = ByHand(bounds, loop), given.ellipsoids(loop)
    found = demand(ARM, desired(), JERK, bounds, GAINS, loop, given)
    heaviest = np.abs(THETA) + bounds.theta_radius
    expected = {
        "torque": hand.error + radius.coulomb + hand.moved + GAINS.torque_error, "held": hand.held,
        "inertia": hand.inertia, "inertia_error": hand.inertia_error, "inertia_root": hand.root,
        "coriolis": coriolis(ARM, heaviest, hand.size.w, ellipsoids.reference), "reference_shift": hand.change.qd_a,
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found.disturbance, name), value, rtol=1e-7, err_msg=name)
    np.testing.assert_allclose(found.qd, hand.qd, rtol=1e-7)
    commanded = hand.nominal + hand.feedback + hand.moved + hand.held + MOTOR.coulomb
    np.testing.assert_allclose(found.nominal_torque, commanded, rtol=1e-7)
    assert (found.split is not None) == delayed
    if found.split is None:
        return
    pace = Change(hand.qd, hand.qdd + hand.pulled + given.acceleration, hand.qdd + hand.pulled)
    drifting = torque_rate(ARM, bounds.theta_radius, hand.size, pace) + radius.viscous * pace.qd_a
    drifting += np.array([hand.inertia_error[t] @ JERK[t] for t in range(T)])
    fastest = np.array([max(hand.qd[:, j]) for j in range(N)])
    speeds = np.array([given.speed[t] / np.sqrt(loop.metric) for t in range(T)])
    split = {
        "steady": hand.error, "slope": drifting, "rest": radius.coulomb + hand.moved + GAINS.torque_error,
        "drift": inertia_drift(ARM, heaviest, speeds, fastest),
    }  # fmt: skip
    for name, value in split.items():
        np.testing.assert_allclose(getattr(found.split, name), value, rtol=1e-7, err_msg=name)


def test_a_jump_of_the_nominal_model_is_that_of_the_first_interval() -> None:
    bounds = box(0.1)
    found: Demand = demand(ARM, desired(), JERK, bounds, GAINS, loop_of(bounds, True), assumed())
    assert found.split is not None
    change = np.random.default_rng(8).normal(size=THETA.shape)
    pairs, coefficients, jump = found.split.pairs, found.split.coefficients, found.split.jump(change)
    assert jump.shape == (N,)
    for j in range(N):
        centre, terms, rest = 0.0, np.zeros(5), 0.0
        for p, i in enumerate(pairs.body):
            if pairs.joint[p] == j:
                centre += coefficients.centre[0, p] @ change[i]
                terms = terms + coefficients.terms[:, 0, p] @ change[i]
                rest += coefficients.remainder[0, p] @ np.abs(change[i])
        assert jump[j] == pytest.approx(abs(centre) + np.abs(terms).sum() + rest, rel=1e-7)


def test_what_is_left_of_an_inertia_that_cancels_are_its_roundings() -> None:
    """Two parameters whose shares of the inertia are each other's negative: a part in 1e14 of both."""
    lever = Affine.constant(np.array([[[0.0, 0.0, 0.0]]]), symbols=3)
    axis = Affine.constant(np.array([[[1.0, 1.0, 0.0]]]), symbols=3)
    theta = np.zeros((1, 10))
    theta[0, [4, 6]] = 5.0, -5.0
    none = MotorConstants(*np.zeros((4, 1)))
    one = np.zeros(1, dtype=np.intp)
    box = ModelBox(theta, 0.0 * theta, none, none)
    _, size, error = inertia_bounds(Levers(one, one, lever, axis), box, boxed=False)
    # The coefficients' own, of products of 1, beside those of the sum.
    assert size[0, 0, 0] == pytest.approx(2e-14 * 10.0, rel=1e-6)
    assert error[0, 0, 0] == 0.0


def test_entries_off_the_diagonal_are_no_more_than_the_roots_of_those_on_it() -> None:
    joints, none = np.arange(2), MotorConstants(*np.zeros((4, 2)))
    axes = Affine.constant(np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), symbols=5)
    theta, radius = np.zeros((2, 10)), np.zeros((2, 10))
    theta[1, [4, 6]], radius[1, 5] = (4.0, 9.0), 7.0
    pairs = Levers(np.ones(2, dtype=np.intp), joints, 0.0 * axes, axes)
    root, size, error = inertia_bounds(pairs, ModelBox(theta, radius, none, none), boxed=False)
    np.testing.assert_allclose(root, [[2.0, 3.0]], rtol=1e-7)
    np.testing.assert_allclose(size, [[[4.0, 6.0], [6.0, 9.0]]], rtol=1e-7)
    np.testing.assert_allclose(error, [[[0.0, 7.0], [7.0, 0.0]]], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("boxed", [False, True])
def test_the_nominal_torque_is_that_of_the_middle_of_the_box(boxed: bool) -> None:
    bounds, wanted = box(0.1), desired()
    state = motion(wanted, assumed().tube(loop_of(bounds, boxed)), GAIN)
    bodies = dynamics(ARM, state.q, state.qd, state.qd_a, state.qdd)
    heavier = replace(bounds, theta=2.0 * THETA)
    one, two = (model_torque(bodies.torque, bodies.pairs, x, boxed=boxed) for x in (bounds, heavier))
    np.testing.assert_allclose(two[0].centre, 2.0 * one[0].centre, rtol=1e-12)
    np.testing.assert_array_equal(two[1], one[1])
