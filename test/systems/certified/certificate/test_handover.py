# SPDX-License-Identifier: Apache-2.0
"""Errors where a trajectory begins: at rest, and taken over from another one."""

import numpy as np
import pinocchio
import pytest
from shared.certified_arm import START, box, model, plan, robot

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results.certificate import Entry
from sysid_nodes.systems.certified.certificate.handover import _still_inertia, at_rest, handover_entry
from sysid_nodes.systems.certified.certificate.motion import jerk_bound

TREE = Chain.from_robot(robot()).tree
LAW = gains(robot(), RobustControlConfig())


def mass_matrix(theta, motor, q):
    made = robot().model.copy()
    for i, row in enumerate(theta):
        made.inertias[i + 1] = pinocchio.Inertia.FromDynamicParameters(row)
    made.armature = motor.armature
    mass = np.triu(pinocchio.crba(made, made.createData(), q))
    return mass + np.triu(mass, 1).T


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_no_posture_and_no_model_is_heavier(share):
    rng, bounds = np.random.default_rng(0), box(share)
    heavy = np.diag(_still_inertia(TREE, bounds))
    for _ in range(50):
        mass = mass_matrix(*model(bounds, rng), rng.uniform(-3.0, 3.0, 7))
        assert np.linalg.eigvalsh(heavy - mass)[0] > 0.0


def test_rest_covers_what_was_measured_wrong():
    rng, bounds = np.random.default_rng(1), box(0.1)
    entry = at_rest(TREE, bounds, LAW, 0.003, 0.0005)
    for _ in range(50):
        theta, motor = model(bounds, rng)
        # The trajectory starts an encoder step and more off where the robot is, which creeps.
        e = rng.choice([-1.0, 1.0], 7) * (2.0 * LAW.position_error + 0.0005)
        r = LAW.position_gain * e - rng.choice([-1.0, 1.0], 7) * 0.003
        assert 0.5 * r @ mass_matrix(theta, motor, START) @ r <= entry.level
        assert np.sqrt((motor.armature * e**2).sum()) <= entry.position


def test_rest_is_no_worse_than_what_was_measured_wrong():
    bounds = box(0.1)
    entry = at_rest(TREE, bounds, LAW, 0.003, 0.0005)
    error = 2.0 * LAW.position_error + 0.0005
    r, armature, heavy = LAW.position_gain * error + 0.003, bounds.armature_upper, _still_inertia(TREE, bounds)
    for found, least in (
        (entry.position_error, error),
        (entry.reference_error, r),
        (entry.position_norm, np.sqrt((armature * error**2).sum())),
        (entry.position, np.sqrt((armature * error**2).sum())),
        (entry.reference_norm, np.sqrt((armature * r**2).sum())),
        (entry.level, 0.5 * (heavy * r**2).sum()),
        (entry.speed, LAW.position_gain * np.sqrt((heavy * 0.003**2).sum())),
    ):
        np.testing.assert_allclose(found, least, rtol=1e-6)
        assert (found >= least).all()
    assert not entry.jerk.any()


@pytest.mark.parametrize("rate", [0.0, 1e-3, 0.7])
def test_what_still_holds_a_resting_robot_may_move_it(rate):
    """A controller answers to errors: until the new torque acts, dr/dt is what its certificate says."""
    bounds, age = box(0.1), 0.002
    free = at_rest(TREE, bounds, LAW, 0.003, 0.0005)
    held = at_rest(TREE, bounds, LAW, 0.003, 0.0005, rate)
    assert held.speed == max(free.speed, rate)
    assert (held.level, held.position) == (free.level, free.position)
    later = handover_entry(TREE, bounds, held, np.zeros(7), LAW.position_gain, age)
    # sqrt(2 V) grows by the rate over an age, e by what r is then.
    assert np.sqrt(2.0 * later.level) >= np.sqrt(2.0 * free.level) + age * rate
    assert later.position >= free.position + age * np.sqrt(2.0 * later.level)


def test_the_new_motion_parts_from_the_old_one_no_faster_than_the_jerks_allow():
    bounds, age, gain = box(0.1), 0.02, LAW.position_gain
    old = plan(0.8, moving=0.3)
    split = old.split(1.5)
    new = type(old)(split.q, split.qd, split.qdd, np.full(7, -0.4), 3.0)
    before = Entry(0.0, 0.0, 0.0, np.abs(old.jerk(np.linspace(1.5, 1.6, 50))).max(axis=0))
    jerk = jerk_bound(new, np.linspace(0.0, 3.0, 65))[0]
    entry = handover_entry(TREE, bounds, before, jerk, gain, age)
    theta, motor = model(bounds, np.random.default_rng(2))
    mass = mass_matrix(theta, motor, split.q)
    # The robot follows the old motion exactly; what is left are the new one's errors.
    for t in np.linspace(0.0, age, 30):
        one, two = new(t), old(1.5 + t)
        e, rate, slope = one.q - two.q, one.qd - two.qd, one.qdd - two.qdd
        r, rd = rate + gain * e, slope + gain * rate
        assert 0.5 * r @ mass @ r <= entry.level
        assert np.sqrt((motor.armature * e**2).sum()) <= entry.position
        assert np.sqrt(rd @ mass @ rd) <= entry.speed


def test_errors_grow_with_the_time_old_torques_act():
    bounds, before = box(0.1), Entry(0.01, 0.02, 5.0, np.ones(7))
    quick, slow = (handover_entry(TREE, bounds, before, np.ones(7), 4.0, age) for age in (1e-6, 0.01))
    assert quick.level == pytest.approx(before.level, rel=1e-3)
    # sqrt(2 V) grows by 0.05, and e by that over 0.01 s.
    assert np.sqrt(2.0 * slow.level) >= np.sqrt(0.02) + 0.05
    assert slow.position > quick.position


def test_what_a_delayed_proof_knows_joint_by_joint_grows_until_a_torque_acts() -> None:
    bounds, age, gain = box(0.1), 0.004, 4.0
    jerk, one = np.full(7, 2.0), np.ones(7)
    before = Entry(0.01, 0.02, 5.0, np.ones(7), 0.02, 0.1, 0.003 * one, 0.01 * one)
    after = handover_entry(TREE, bounds, before, jerk, gain, age)
    apart = 3.0 * age**2 * (0.5 + gain * age / 6.0)
    reference = 0.01 + age * 5.0 / np.sqrt(bounds.armature_lower) + apart
    np.testing.assert_allclose(after.reference_error, reference, rtol=1e-6)
    np.testing.assert_allclose(after.position_error, 0.003 + age * reference + 3.0 * age**3 / 6.0, rtol=1e-6)
    # No less, not even by a rounding.
    assert (after.reference_error >= reference).all()
    assert (after.position_error >= 0.003 + age * reference + 3.0 * age**3 / 6.0).all()
    assert after.reference_norm >= 0.1 + age * 5.0 + apart * np.sqrt(bounds.armature_lower.sum())
    assert after.position_norm >= 0.02 + age * after.reference_norm
    # Motions that part in nothing but their jerks: V and e by their own terms.
    alike = handover_entry(TREE, bounds, Entry(0.0, 0.0, 0.0, np.zeros(7)), 1e4 * jerk, gain, age)
    heavy = _still_inertia(TREE, bounds)
    r, e = (np.sqrt((heavy * x**2).sum()) for x in (1e4 * apart / 1.5, 1e4 * 2.0 * age**3 / 6.0 * one))
    assert alike.level == pytest.approx(0.5 * r**2, rel=1e-6)
    assert alike.position == pytest.approx(age * r + e, rel=1e-6)
    # Of nothing but a level nothing more is known.
    unknown = handover_entry(TREE, bounds, Entry(0.01, 0.02, 5.0, np.ones(7)), jerk, gain, age)
    assert np.isinf(unknown.reference_norm) and np.isinf(unknown.reference_error).all()
