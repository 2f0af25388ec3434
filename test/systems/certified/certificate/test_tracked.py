# SPDX-License-Identifier: Apache-2.0
"""Certificates for a position controller: nothing within the measured errors exceeds a margin, and gaps are told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from shared.certified_arm import SCENE, START, box, certifier, model, plan, robot, shapes

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.rollouts.contact_watch import ContactWatch
from sysid_nodes.systems.certified.certificate.config import TrackingConfig
from sysid_nodes.systems.certified.certificate.tracked import known_errors

POSITION = (0.02, 0.02, 0.015, 0.02, 0.01, 0.01, 0.01)
TRACKING = TrackingConfig(position_error=POSITION, velocity_error=(0.08,), acceleration_error=(0.5,))
ENGINE = 2e-6  # [m] error of the engine's distances


@pytest.fixture(scope="module")
def judge():
    return certifier()


@pytest.mark.parametrize("tracking", [TRACKING, replace(TRACKING, acceleration_error=())])
def test_no_sample_within_the_errors_exceeds_a_margin(judge, tracking):
    """Corners of the box of errors, and of the box of models; without acceleration errors where none are known."""
    rng, wanted, bounds = np.random.default_rng(5), plan(0.7, seed=2, moving=0.3), box(0.1)
    found = judge.certify_tracked(wanted, bounds, tracking, SCENE)
    assert found.certified
    limits, known = robot().limits, known_errors(tracking, 7)
    widest = known.acceleration if known.acceleration is not None else np.zeros(7)
    chain = Chain.from_robot(robot())
    watch = ContactWatch(robot(), shapes(), SCENE.obstacles, self_collision_pairs(robot(), shapes()).kept)
    for k in range(200):
        desired = wanted(rng.uniform(0.0, 3.3))
        signs = rng.choice([-1.0, 1.0], (3, 7))
        if k % 2:
            signs *= rng.uniform(0.0, 1.0, (3, 7))
        q, qd = desired.q + signs[0] * known.position, desired.qd + signs[1] * known.velocity
        qdd = desired.qdd + signs[2] * widest
        theta, motor = model(bounds, rng)
        torque = (
            standard_regressor(chain, q[None], qd[None], qdd[None])[0] @ theta.ravel()
            + motor.viscous * qd
            + motor.armature * qdd
        )
        torque = torque + motor.offset + motor.coulomb * rng.choice([-1.0, 1.0], 7)
        assert (np.abs(torque) <= limits.torque - found.margins.torque).all()
        assert (np.abs(qd) <= limits.velocity - found.margins.velocity).all()
        assert (limits.position_upper - q >= found.margins.position).all()
        assert (q - limits.position_lower >= found.margins.position).all()
        if k % 4 == 0:
            assert watch.to_obstacles(q).distance >= found.margins.obstacle - ENGINE
            assert watch.to_itself(q).distance >= found.margins.self_distance - ENGINE


def test_drives_are_told_more_than_acts(judge):
    """What they may lose counts against their limits like what the motion takes, each joint's own."""
    error = 0.5 * np.arange(1.0, 8.0)
    lossy = certifier(RobustControlConfig(torque_error=tuple(error)))
    for tracking in (TRACKING, replace(TRACKING, acceleration_error=())):
        one, two = (x.certify_tracked(plan(0.3), box(0.1), tracking, SCENE) for x in (judge, lossy))
        np.testing.assert_allclose(one.margins.torque - two.margins.torque, error, rtol=1e-6)
        np.testing.assert_allclose(two.torque - one.torque, error, rtol=1e-6)
    much = certifier(RobustControlConfig(torque_error=tuple(np.where(error == 2.0, one.margins.torque + 0.01, 0.0))))
    assert much.certify_tracked(plan(0.3), box(0.1), tracking, SCENE).verdict is Verdict.TORQUE


def test_torque_without_acceleration_errors_is_told_to_be_unproven(judge):
    proven = judge.certify_tracked(plan(0.3), box(0.1), TRACKING, SCENE)
    told = judge.certify_tracked(plan(0.3), box(0.1), replace(TRACKING, acceleration_error=()), SCENE)
    assert proven.unproven == () and "not proven" not in proven.binding
    assert told.unproven == (Verdict.TORQUE,) and "torque is not proven" in told.binding
    assert np.isfinite(told.margins.torque).all()
    assert (told.margins.torque > proven.margins.torque).all()


def test_torque_that_the_motion_alone_takes_refuses_even_where_it_is_unproven(judge):
    """2.6 rad in 0.9 s: 5.8 k / t^2 is 18 rad/s2, more than the wrists' 45 N m give with the widest payload."""
    fast = Bezier(START, np.zeros(7), np.zeros(7), np.array([0.0, 0.6, 0.0, 0.6, 0.0, 0.0, 0.0]), 0.6)
    found = judge.certify_tracked(fast, box(1.0), replace(TRACKING, acceleration_error=()), Scene(()))
    assert found.verdict in (Verdict.TORQUE, Verdict.VELOCITY)
    assert (found.margins.torque < 0.0).any() or (found.margins.velocity < 0.0).any()


def test_larger_errors_leave_less(judge):
    small, large = (
        judge.certify_tracked(
            plan(0.3), box(0.1), replace(TRACKING, position_error=(e,), velocity_error=(5 * e,)), SCENE
        )
        for e in (0.0, 0.02)
    )
    assert small.margins.position - 0.02 == pytest.approx(large.margins.position, abs=1e-6)
    assert small.margins.velocity - 0.1 == pytest.approx(large.margins.velocity, abs=1e-6)
    assert small.margins.self_distance > large.margins.self_distance
    assert (large.envelope.position_error == 0.02).all()
    assert np.isinf(large.envelope.level).all()


def test_an_obstacle_in_the_way_of_the_errors_alone_refuses(judge):
    """A ball above the hand that standing still clears by 10 to 20 mm, but not with errors of 0.03 rad."""
    still, none = plan(0.0), TrackingConfig(position_error=(0.0,), velocity_error=(0.0,))
    data = robot().model.createData()
    pinocchio.forwardKinematics(robot().model, data, START)
    x, y, z = data.oMi[7].translation
    balls = [Scene((Obstacle("ball", "sphere", (x, y, z + h), (0.05,)),)) for h in np.arange(0.6, 0.0, -0.01)]
    near = next(
        scene
        for scene in balls
        if ContactWatch(robot(), shapes(), scene.obstacles, ()).to_obstacles(START).distance < 0.02
    )
    assert judge.certify_tracked(still, box(0.1), none, near).certified
    wide = replace(none, position_error=(0.03,))
    assert judge.certify_tracked(still, box(0.1), wide, near).verdict is Verdict.OBSTACLE


@pytest.mark.parametrize(("name", "word"), [("fastest", "faster"), ("hardest", "harder")])
def test_what_the_log_has_not_shown_is_refused(judge, name, word):
    wanted = plan(0.7)
    t = np.linspace(0.0, 3.0, 3001)
    state = wanted(t)
    most = np.abs(state.qd if name == "fastest" else state.qdd).max(axis=0)
    # The enclosure of 64 intervals is wider than 3001 samples, by less than a hundredth.
    assert judge.certify_tracked(wanted, box(0.1), replace(TRACKING, **{name: tuple(1.01 * most)}), SCENE).certified
    less = most.copy()
    less[3] *= 0.99
    found = judge.certify_tracked(wanted, box(0.1), replace(TRACKING, **{name: tuple(less)}), SCENE)
    assert found.verdict is Verdict.TRACKING and found.envelope is None
    assert f"joint_4 would move {word} than the tracking errors were measured with" in found.binding


@pytest.mark.parametrize(
    ("tracking", "line"),
    [
        (TrackingConfig(), r"'tracking.position_error' is needed .* 'sysid tracking' measures it"),
        (TrackingConfig(position_error=(0.1,)), "'tracking.velocity_error' is needed"),
        (replace(TRACKING, position_error=(0.1, 0.2)), "'tracking.position_error' needs 1 or 7 numbers, got 2"),
        (replace(TRACKING, velocity_error=(np.inf,)), "'tracking.velocity_error' must be finite and not negative"),
        (replace(TRACKING, hardest=(-1.0,)), "'tracking.hardest' must be finite and not negative"),
    ],
)
def test_errors_that_make_no_sense(judge, tracking, line):
    with pytest.raises(ConfigError, match=line):
        judge.certify_tracked(plan(0.3), box(0.1), tracking, SCENE)


def test_position_beyond_a_limit_by_the_error_alone_is_refused(judge):
    upper = robot().limits.position_upper[3]
    q = START.copy()
    q[3] = upper - 0.01
    still = Bezier(q, np.zeros(7), np.zeros(7), np.zeros(7), 3.0)
    assert judge.certify_tracked(still, box(0.1), TRACKING, Scene(())).verdict is Verdict.POSITION


def test_obstacle_names_are_told(judge):
    scene = Scene((Obstacle("wall", "box", (0.0, 0.0, 0.6), size=(0.5, 0.5, 0.2)),))
    found = judge.certify_tracked(plan(0.1), box(0.1), TRACKING, scene)
    assert found.verdict is Verdict.OBSTACLE and "'wall'" in found.binding
