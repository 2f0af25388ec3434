# SPDX-License-Identifier: Apache-2.0
"""The scripted walker of a humanoid: masses against pinocchio's, and robots that obey with loads nobody told of."""

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinds import spread
from sysid_nodes.rollouts import (
    Command,
    Drive,
    GroundConfig,
    HumanoidPolicy,
    Simulations,
    Variants,
    WalkingConfig,
    WalkingPolicy,
    build_legged_mujoco,
    commanded_policy,
    walk,
)
from sysid_nodes.rollouts.biped_body import BipedBody
from sysid_nodes.rollouts.footsteps import Footsteps, HumanoidMemory, Pendulum
from sysid_nodes.rollouts.rotations import exponential, matrix

ROBOT = load_robot("g1")
BODIES = ROBOT.model.inertias.tolist()[1:]
TORSO = ROBOT.body_index(ROBOT.body)
STIFFNESS = (100.0, 100.0, 100.0, 100.0, 40.0, 40.0, 100.0, 100.0, 100.0, 40.0, 40.0, 40.0, 40.0, 20.0, 20.0, 20.0)
DAMPING = (2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 2.0, 1.5, 1.5, 0.6, 0.6, 0.6, 0.6, 0.4, 0.4, 0.4)
DRIVE = Drive(spread(STIFFNESS, ROBOT, "stiffness"), spread(DAMPING, ROBOT, "damping"))
TROT = 1


def test_centre_soles_and_weights_are_pinocchios():
    rng, posture = np.random.default_rng(0), HumanoidPolicy(ROBOT, DRIVE, WalkingConfig()).posture
    body, n = BipedBody(ROBOT, posture), ROBOT.n
    state = np.zeros((1, 13 + 2 * n))
    state[0, :3], state[0, 3:7] = [0.3, -0.2, 0.8], exponential(np.array([0.2, -0.3, 0.7]))
    state[0, 7 : 7 + n] = posture
    state[0, 7 + body.joints.ravel()] += 0.3 * rng.standard_normal(12)
    state[0, 7 + n : 13 + n] = rng.standard_normal(6)
    state[0, 13 + n + body.joints.ravel()] = rng.standard_normal(12)  # all else stays in its posture
    seen = body.see(state)
    turn = matrix(state[0, 3:7])
    q = np.concatenate([state[0, :3], state[0, [4, 5, 6, 3]], state[0, 7 : 7 + n]])
    v = np.concatenate([turn.T @ state[0, 7 + n : 10 + n], state[0, 10 + n :]])
    data = ROBOT.model.createData()
    pinocchio.centerOfMass(ROBOT.model, data, q, v)
    np.testing.assert_allclose(seen.centre[0], data.com[0], atol=1e-12)
    np.testing.assert_allclose(seen.velocity[0], data.vcom[0], atol=1e-12)
    gravity = pinocchio.computeGeneralizedGravity(ROBOT.model, data, q)[6:]
    np.testing.assert_allclose(seen.weight[0], gravity[body.joints], atol=1e-10)
    jacobian = seen.jacobian(seen.sole)
    for side, ends in enumerate(body.joints[:, -1].tolist()):
        place = data.oMi[ends + 2]
        np.testing.assert_allclose(seen.sole[0, side], place.act(np.array([0.035, 0.0, -0.035])), atol=1e-12)
        pinocchio.computeJointJacobians(ROBOT.model, data, q)
        own = pinocchio.getJointJacobian(ROBOT.model, data, ends + 2, pinocchio.LOCAL_WORLD_ALIGNED)
        moved = pinocchio.SE3(np.eye(3), seen.sole[0, side] - place.translation).toActionMatrixInverse() @ own
        np.testing.assert_allclose(jacobian[0, side], moved[:, 6 + body.joints[side]], atol=1e-12)


def test_each_robot_gets_the_controller_of_its_legs():
    assert isinstance(commanded_policy(ROBOT, DRIVE, WalkingConfig()), HumanoidPolicy)
    go2, drive = load_robot("go2"), Drive(np.full(12, 40.0), np.full(12, 1.0))
    assert isinstance(commanded_policy(go2, drive, WalkingConfig()), WalkingPolicy)
    with pytest.raises(RobotError, match="does not walk on two legs of six joints each"):
        HumanoidPolicy(go2, drive, WalkingConfig())


def _torso(mass=0.0, shift=(0.0, 0.0, 0.0)):
    """Ten parameters with a box at its chest or back, and its own mass elsewhere."""
    own = BODIES[TORSO]
    box = pinocchio.Inertia(mass, np.array([-0.1, 0.0, 0.2]), mass * np.diag([0.003, 0.005, 0.006]))
    return (pinocchio.Inertia(own.mass, own.lever + np.array(shift), own.inertia) + box).toDynamicParameters()


def _walks(
    torsos,
    velocity,
    duration,
    *,
    gait=TROT,
    attitude=(0.0, 0.0),
    height=0.72,
    config=None,
    friction=0.8,
    step=0.002,
    push=0.0,
):
    """Each torso with each velocity; `gait` is a number or a function of time."""
    sets, each = len(torsos), len(velocity)
    ones, none = np.ones((sets, ROBOT.n)), np.zeros((sets, ROBOT.n))
    theta, ground = np.array(torsos)[:, None], np.full(sets, friction)
    variants = Variants((TORSO,), theta, ones, none, none, none, none, ground, np.full(sets, 0.01))
    policy = HumanoidPolicy(ROBOT, DRIVE, config or WalkingConfig())
    count = sets * each
    start = np.zeros((count, 13 + 2 * ROBOT.n))
    start[:, 2], start[:, 3], start[:, 7 : 7 + ROBOT.n] = policy.standing_height, 1.0, policy.posture
    asked = np.tile(np.array(velocity, dtype=np.float64), (sets, 1))

    def commands(time):
        now = gait(time) if callable(gait) else gait
        tilt = np.tile(np.array(attitude), (count, 1)) * (time > 1.0)
        return Command(asked, tilt, np.full(count, height), np.full(count, now), np.full(count, 1.7))

    model = build_legged_mujoco(ROBOT, BODIES, (), GroundConfig(), timestep=step)
    simulations = Simulations(model, DRIVE, threads=1, capacity=count)
    return walk(
        simulations,
        policy,
        variants,
        np.repeat(np.arange(sets), each),
        start,
        commands,
        duration,
        every=round(0.02 / step),
    )


def _speed(walks, since):
    """(B, 2) means since a time [s], over whole strides."""
    first = round(since / 0.02)
    whole = len(walks.states[0]) - 1 - first
    return (walks.states[:, -1, :2] - walks.states[:, first, :2]) / (0.02 * whole)


VELOCITIES = ((0.0, 0.0, 0.0), (0.2, 0.0, 0.0), (0.3, 0.0, 0.0), (0.15, 0.0, 0.4))
LOADS = (_torso(), _torso(3.0, (0.02, -0.02, 0.0)))


@pytest.mark.slow
def test_robots_walk_for_twenty_seconds_with_and_without_a_load_that_the_controller_does_not_know():
    walks = _walks(LOADS, VELOCITIES, 20.0, friction=0.6, step=0.001)
    assert not walks.fallen.any()
    assert (walks.torque <= ROBOT.limits.torque).all()
    speed = _speed(walks, 12.0).reshape(2, 4, 2)
    # The speed of a body that sways from side to side, over not quite whole strides.
    np.testing.assert_allclose(speed[:, :3], np.array(VELOCITIES)[None, :3, :2].repeat(2, 0), atol=0.02)
    assert (np.linalg.norm(walks.states[[3, 7], -1, :2], axis=1) < 1.0).all(), "they walk on a circle"


def test_a_load_does_not_let_a_walking_robot_fall_and_turns_are_obeyed():
    walks = _walks((LOADS[1],), VELOCITIES[1:], 4.0)
    assert not walks.fallen.any()
    assert (walks.states[:2, -1, 0] > 0.4).all()
    yaw = 2.0 * np.arctan2(walks.states[:, -1, 6], walks.states[:, -1, 3])
    # 0.4 rad/s over four seconds, less 0.16 as it is taken up at 0.5 rad/s2, and 0.1 by which the body lags.
    assert yaw[2] == pytest.approx(1.35, abs=0.15)
    assert (np.abs(yaw[:2]) < 0.15).all()


def test_what_a_load_shifts_is_learned_from_the_speed():
    asked = ((0.2, 0.0, 0.0),)
    found, without = (
        abs(_speed(_walks((_torso(0.0, (0.05, 0.0, 0.0)),), asked, 5.6, config=config), 4.0)[0, 0] - 0.2)
        for config in (WalkingConfig(), WalkingConfig(integral_gain=0.0))
    )
    assert found < 0.02 < 0.06 < without


@pytest.mark.slow
def test_it_stops_and_stands_as_it_is_told():
    walks = _walks(
        (_torso(),),
        ((0.3, 0.0, 0.0),),
        7.0,
        gait=lambda time: TROT if time < 3.0 else 0,
        attitude=(0.1, 0.1),
        height=0.66,
    )
    state = walks.states[0]
    assert not walks.fallen.any()
    assert state[-1, 0] > 0.4
    assert np.abs(state[-50:, :2] - state[-1, :2]).max() < 5e-3, "it stands"
    assert state[-1, 2] == pytest.approx(0.66, abs=5e-3)
    w, x, y, z = state[-1, 3:7]
    assert np.arcsin(2.0 * (w * y - z * x)) == pytest.approx(0.1, abs=0.01)
    assert np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)) == pytest.approx(0.1, abs=0.01)


def test_a_steady_walk_repeats_itself_from_step_to_step():
    """A step on, xi has grown and is from the other foot as this foot's was: they are a step and a width apart."""
    velocity, none, apart = np.array([[0.3, 0.1]]), np.zeros((1, 2)), []
    for grows in (3.0, 5.0):
        lasts, grown = np.array([0.4]), np.array([grows])
        pendulum = Pendulum(np.eye(2)[None], none, none, np.zeros((1, 2, 2)), np.array([3.0]), lasts, grown)
        left, right = (pendulum.steady(velocity, np.array([foot]))[0] for foot in (0, 1))
        assert 0.5 * (grows - 1.0) * (left + right) == pytest.approx(0.4 * velocity[0])
        apart.append(grows * left - right - 0.4 * velocity[0])
    assert apart[0] == pytest.approx(apart[1], abs=1e-12)
    assert apart[0][1] < -0.1


@pytest.mark.parametrize(("time", "walking"), [(0.2, True), (0.4, False)])
def test_it_stops_only_as_a_step_ends(time, walking):
    """In the middle of one a foot is in the air, though xi is where the robot may stand."""
    body, one = BipedBody(ROBOT, HumanoidPolicy(ROBOT, DRIVE, WalkingConfig()).posture), np.ones(1)
    state = np.zeros((1, 13 + 2 * ROBOT.n))
    state[0, 2:4] = 0.72, 1.0
    seen = body.see(state)
    memory = HumanoidMemory.begin(state, seen)
    memory = replace(memory, walking=np.ones(1, dtype=bool), time=time * one)
    soles = np.array([[[0.0, 0.1], [0.0, -0.1]]])
    pendulum = Pendulum(np.eye(2)[None], np.zeros((1, 2)), np.zeros((1, 2)), soles, 3.0 * one, 0.4 * one, 3.3 * one)
    found = Footsteps(body).change(memory, seen, pendulum, Command.standing(1, 0.72))
    assert found.walking[0] == walking


def test_legs_carry_their_own_weight():
    """Nothing learns here: without it the robot would stand lower by its links' 16 kg over the height's gain."""
    walks = _walks((_torso(),), ((0.0, 0.0, 0.0),), 1.6, gait=0, config=WalkingConfig(integral_gain=0.0))
    assert walks.states[0, -1, 2] == pytest.approx(0.72, abs=5e-3)


@pytest.mark.parametrize("failed", [np.nan, np.inf, 1e200])
def test_a_simulation_that_fails_is_one_robot_that_has_fallen(failed):
    policy = HumanoidPolicy(ROBOT, DRIVE, WalkingConfig())
    state = np.zeros((3, 13 + 2 * ROBOT.n))
    state[:, 2], state[:, 3], state[:, 7 : 7 + ROBOT.n] = policy.standing_height, 1.0, policy.posture
    alone = policy.set_points(state[:1], Command.standing(1, 0.72))
    policy.memory = None
    state[1, 2:] = failed
    state[2, 3:5] = 0.0, 1.0  # on its back
    found = policy.set_points(state, Command.standing(3, 0.72))
    assert policy.memory.fallen.tolist() == [False, True, True]
    np.testing.assert_array_equal(found[2], state[2, 7 : 7 + ROBOT.n])
    np.testing.assert_allclose(found[0], alone[0], atol=1e-12)
