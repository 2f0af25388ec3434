# SPDX-License-Identifier: Apache-2.0
"""The recorded forces obey Newton's and Coulomb's laws; flags, gaps, torques and the shows' figures agree with them."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

GRAVITY = np.array([0.0, 0.0, -9.81])


def momenta(run):
    """(N, 3) linear momentum, (N, 3) angular momentum about the world's origin and (N, 3) centre of mass."""
    model = run.sim.robot.model.copy()
    for k, theta in enumerate(run.sim.truth.parameters):
        model.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(theta)
    data = model.createData()
    linear, angular, centre = [], [], []
    for q, v in zip(run.truth.q, run.truth.v, strict=True):
        about_com = pinocchio.computeCentroidalMomentum(model, data, q, v)
        linear.append(about_com.linear.copy())
        centre.append(data.com[0].copy())
        angular.append(about_com.angular + np.cross(data.com[0], about_com.linear))
    return np.array(linear), np.array(angular), np.array(centre)


@pytest.fixture(scope="module", params=["go2_show", pytest.param("g1_show", marks=pytest.mark.slow)])
def show(request):
    return request.getfixturevalue(request.param)


def test_forces_change_the_momentum(show):
    """Impulse and change of momentum agree, tick by tick and over the whole run.

    Armature is a motor's inertia about its joint only, so the momentum of the links is all there is. The integrator
    freezes the configuration over a step of 1 ms: the balance is off by a step's turn of the velocity, which is below
    1 % of the weight but in the few ticks of an impact, and averages out.
    """
    truth, mass = show.truth, show.sim.truth.total_mass
    linear, angular, centre = momenta(show)
    force = truth.force_mean.sum(axis=1) + truth.other_mean + mass * GRAVITY
    rate = np.diff(linear, axis=0) / truth.duration
    error = np.linalg.norm(rate - force[:-1], axis=1)
    weight = mass * 9.81
    assert np.quantile(error, 0.95) < 0.01 * weight
    np.testing.assert_allclose(linear[-1] - linear[0], truth.duration * force[:-1].sum(axis=0), atol=1.5)  # [N s]
    moment = np.cross(truth.position, truth.force_mean).sum(axis=1) + np.cross(centre, mass * GRAVITY)
    turning = np.diff(angular, axis=0) / truth.duration
    assert np.quantile(np.linalg.norm(turning - moment[:-1], axis=1), 0.95) < 0.02 * weight * 0.3  # lever of 0.3 m


def test_the_ground_carries_the_weight(show):
    """Standing still at first, the mean vertical force is the weight."""
    mass = show.sim.truth.total_mass
    quiet = show.truth.time < 0.3
    mean = show.truth.force_mean[quiet].sum(axis=1)[:, 2].mean()
    assert mean == pytest.approx(mass * 9.81, rel=0.05)  # it settles by a few centimetres meanwhile
    assert not show.truth.other_mean.any()


def test_forces_stay_in_the_friction_cone(show):
    for force in (show.truth.force, show.truth.force_mean):
        tangential = np.linalg.norm(force[..., :2], axis=-1)
        assert (force[..., 2] >= 0.0).all()
        # MuJoCo's solver meets the cone to its tolerance.
        assert (tangential <= show.sim.truth.friction * force[..., 2] * (1.0 + 1e-6) + 1e-6).all()


def test_contacts_agree_with_gaps_and_forces(show):
    truth = show.truth
    pressed = truth.force[..., 2] > 0.0
    assert not pressed[truth.gap > 0.0].any()
    assert pressed[truth.gap < -2e-4].mean() > 0.98  # a foot that springs back may leave without force
    # A tick in which the point is in contact all the time has force, one without contact has none.
    assert not truth.force_mean[truth.contact == 0.0].any()
    assert (truth.force_mean[truth.contact == 1.0][:, 2] > 0.0).all()
    touches = truth.contact >= 0.5
    assert touches.any(axis=0).all()
    assert not touches.all(axis=0).any()


def test_contact_points_are_the_spheres_lowest_points(show):
    robot, truth = show.sim.robot, show.truth
    data = robot.model.createData()
    for tick in (0, len(truth.time) // 2, len(truth.time) - 1):
        pinocchio.forwardKinematics(robot.model, data, truth.q[tick])
        for k, point in enumerate(robot.contacts):
            centre = data.oMi[robot.model.getJointId(point.joint)].act(point.position)
            np.testing.assert_allclose(truth.position[tick, k], centre - [0.0, 0.0, point.radius], atol=1e-9)
    np.testing.assert_array_equal(truth.gap, truth.position[..., 2])


def test_standing_feet_hardly_creep(go2_show):
    """The material point on the ground stays where it is, unlike with MuJoCo's default friction (3 mm/s)."""
    robot, truth = go2_show.sim.robot, go2_show.truth
    data, speeds = robot.model.createData(), []
    for tick in np.flatnonzero((truth.time > 1.0) & (truth.time < 3.0))[::5]:
        pinocchio.forwardKinematics(robot.model, data, truth.q[tick], truth.v[tick])
        for point in robot.contacts:
            joint = robot.model.getJointId(point.joint)
            rotation, twist = data.oMi[joint].rotation, data.v[joint]
            lever = rotation @ point.position - [0.0, 0.0, point.radius]
            speeds.append((rotation @ twist.linear + np.cross(rotation @ twist.angular, lever))[:2])
    assert np.sqrt(np.mean(np.square(speeds))) < 1e-3


def test_torques_keep_the_motors_limits(show):
    limit = show.sim.robot.limits.torque
    assert (np.abs(show.truth.torque) <= limit).all()
    assert np.abs(show.truth.torque).max() > 10.0  # the robot does something
    # No joint runs into its stop: a stop's torque would be in the motion, but in no motor.
    joints, limits = show.truth.q[:, 7:], show.sim.robot.limits
    assert ((limits.position_lower < joints) & (joints < limits.position_upper)).all()


def test_a_push_is_in_the_balance(run):
    """Other forces are recorded: a push knocks the robot over, and it lies on its body."""
    fallen = run(2.0, motion="stand", push__start=0.5, push__duration=0.2, push__force=(0.0, 300.0, 0.0))
    truth = fallen.truth
    pushed = (truth.time >= 0.5 - 1e-9) & (truth.time < 0.7 - 1e-9)
    np.testing.assert_allclose(truth.other_mean[pushed][:40, 1], 300.0)
    linear, _, _ = momenta(fallen)
    force = truth.force_mean.sum(axis=1) + truth.other_mean + fallen.sim.truth.total_mass * GRAVITY
    np.testing.assert_allclose(linear[-1] - linear[0], truth.duration * force[:-1].sum(axis=0), atol=1.5)
    assert fallen.sim.fallen
    # At rest on its trunk, the ground carries the weight there and at the feet.
    support = (truth.force_mean.sum(axis=1) + truth.other_mean)[-100:, 2].mean()
    assert support == pytest.approx(fallen.sim.truth.total_mass * 9.81, rel=0.05)


def test_go2_rotates_trots_and_hops(go2_show):
    truth = go2_show.truth
    standing = truth.time < 4.0
    roll = 2.0 * truth.q[standing, 3]  # small angles
    assert np.ptp(roll) > 0.3
    assert np.ptp(truth.q[standing, 2]) > 0.05
    assert truth.contact[standing].mean() > 0.999
    trotting = (truth.time > 4.2) & (truth.time < 6.7)
    on_ground = truth.contact[trotting] >= 0.5
    assert 0.5 < on_ground.mean() < 0.7  # the duty of the gait
    diagonal = on_ground[:, [0, 1]] == on_ground[:, [3, 2]]
    assert diagonal.mean() > 0.9
    assert truth.q[trotting][-1, 0] - truth.q[trotting][0, 0] > 0.4
    flights = np.flatnonzero(np.diff((truth.gap.min(axis=1) > 0.02).astype(int)) == 1)
    assert len(flights) == 3


def test_g1_sways_steps_and_rocks(g1_show):
    truth = g1_show.truth
    assert not g1_show.sim.fallen
    left, right = truth.gap[:, :4], truth.gap[:, 4:]
    assert ((left > 0.04).all(axis=1) & (right < 1e-3).all(axis=1)).any()  # left foot lifted off, right one down
    assert ((right > 0.03).all(axis=1) & (left < 1e-3).all(axis=1)).any()
    heel_up = (right[:, :2] > 0.03).all(axis=1) & (right[:, 2:] < 2e-3).all(axis=1)
    toes_up = (left[:, 2:] > 0.02).all(axis=1) & (left[:, :2] < 2e-3).all(axis=1)
    assert heel_up.any()
    assert toes_up.any()
    assert np.ptp(truth.q[:, 1]) > 0.15
    arms = [k for k, name in enumerate(g1_show.sim.robot.joint_names) if "shoulder_pitch" in name]
    assert (np.ptp(truth.q[:, 7:][:, arms], axis=0) > 0.5).all()
