# SPDX-License-Identifier: Apache-2.0
"""One body, one joint or two, one term at a time: what the model box and the passing of time can do, and no less.

For a single turning joint the norms of the proof are magnitudes, so that each bound is reached where its term is alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio
import pytest
from shared.pendulum_tree import GRAVITY, PENDULUM, one

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.intervals import TimeEnclosure
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.passivity import passive_inverse_dynamics
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.models.solids import Solid
from sysid_nodes.robots import MotorConstants, load_robot
from sysid_nodes.robots.robot import Primitive
from sysid_nodes.systems.certified.certificate import disturbance
from sysid_nodes.systems.certified.certificate.bodies import inertia_coefficients
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Tube
from sysid_nodes.systems.certified.certificate.disturbance import Demand, _shifts, demand
from sysid_nodes.systems.certified.certificate.judgement import Conduct, Judge
from sysid_nodes.systems.certified.certificate.motion import Desired, deviation, motion
from sysid_nodes.systems.certified.certificate.occupancy import occupancy, self_distance
from sysid_nodes.systems.certified.certificate.own_stop import OwnStop
from sysid_nodes.systems.certified.certificate.recursion import dynamics, place
from sysid_nodes.systems.certified.certificate.shift import Change, Magnitudes, coriolis, norms_of, torque_change

MASS, LEVER, GAIN, K = 2.0, 0.5, 4.0, 1000.0
INERTIA = MASS * LEVER**2
ARMATURE, VISCOUS, COULOMB = 3.0, 5.0, 1.5
H = 0.004


THETA = np.zeros((1, 10))
THETA[0, [0, 1, 6]] = MASS, MASS * LEVER, INERTIA  # along x: gravity's torque is largest at q = 0
MOTOR = MotorConstants(one(0.0), one(0.0), one(ARMATURE), one(0.0))
BOX = ModelBox(THETA, 0.0 * THETA, MOTOR, MotorConstants(*np.zeros((4, 1))))
QUIET = Gains(GAIN, one(K), one(0.0), one(0.0), one(0.0))
EDGES = np.array([0.0, 0.5, 1.0])


def loop_of(*, age: float = 0.0) -> ClosedLoop:
    zero = np.zeros(1)
    return ClosedLoop(
        GAIN, one(K), one(1e3), zero, zero, zero, one(ARMATURE), one(ARMATURE), zero, 0.01, age, 0.0
    )  # fmt: skip


def constant(position: float = 0.0, velocity: float = 0.0, acceleration: float = 0.0) -> Desired:
    """A motion that is in this state at all times of both intervals."""
    parts = (
        TimeEnclosure(np.full((2, 1), value), np.zeros((2, 1)), np.zeros((2, 1)))
        for value in (position, velocity, acceleration)
    )
    return Desired(EDGES, *parts)


def ask(
    state: Desired,
    *,
    box: ModelBox = BOX,
    gains: Gains = QUIET,
    age: float = 0.0,
    e: float = 0.0,
    r: float = 0.0,
    acceleration: float = 0.0,
    jerk: float = 0.0,
) -> Demand:
    assumed = Assumed(
        np.full(2, 0.5 * ARMATURE * r**2), np.full(2, np.sqrt(ARMATURE) * e), np.full((2, 1), acceleration)
    )
    return demand(PENDULUM, state, np.full((2, 1), jerk), box, gains, loop_of(age=age), assumed)


def uncertain(**radius: float) -> ModelBox:
    values = {name: one(radius.get(name, 0.0)) for name in ("coulomb", "viscous", "armature", "offset")}
    return replace(BOX, motor_radius=MotorConstants(**values))


def body(entry: int, radius: float) -> ModelBox:
    spread = np.zeros((1, 10))
    spread[0, entry] = radius
    return replace(BOX, theta_radius=spread)


DISTURBED = {  # state and options, |w|, and the least share of it
    "offset": (constant(), {"box": uncertain(offset=0.7)}, 0.7),
    "coulomb": (constant(), {"box": uncertain(coulomb=0.7)}, 0.7),
    "viscous": (constant(velocity=0.5), {"box": uncertain(viscous=2.0)}, 1.0),
    "viscous at a rate that K_r e adds": (constant(), {"box": uncertain(viscous=2.0), "e": 0.1}, 2.0 * GAIN * 0.1),
    "armature": (constant(acceleration=2.0), {"box": uncertain(armature=0.5)}, 1.0),
    "first moment": (constant(), {"box": body(1, 0.1)}, 0.1 * GRAVITY),
    "inertia": (constant(acceleration=2.0), {"box": body(6, 0.1)}, 0.2),
    "torque error": (constant(), {"gains": QUIET._replace(torque_error=one(0.9))}, 0.9),
    "position error in gravity": (
        constant(position=0.5 * np.pi),
        {"gains": QUIET._replace(position_error=one(0.01))},
        MASS * LEVER * GRAVITY * 0.01,
    ),
    "position error in viscous friction": (
        constant(position=0.0),
        {
            "gains": QUIET._replace(position_error=one(0.01)),
            "box": replace(BOX, theta=0.0 * THETA, motor=replace(MOTOR, viscous=one(VISCOUS))),
        },
        VISCOUS * GAIN * 0.01,
    ),
    "velocity error in K_r de/dt": (
        constant(position=0.5 * np.pi),
        {"gains": QUIET._replace(velocity_error=one(0.02))},
        (ARMATURE + INERTIA) * GAIN * 0.02,
    ),
    "the way during a torque, in gravity": (
        constant(position=0.5 * np.pi, velocity=0.3),
        {"age": H},
        MASS * LEVER * GRAVITY * 0.3 * H,
    ),
    "acceleration during a torque, in viscous friction": (
        constant(acceleration=2.0),
        {"age": H, "box": replace(BOX, theta=0.0 * THETA, motor=replace(MOTOR, viscous=one(VISCOUS)))},
        VISCOUS * 2.0 * H,
    ),
    "jerk during a torque": (
        constant(position=0.5 * np.pi),
        {"age": H, "jerk": 30.0},
        (ARMATURE + INERTIA) * 30.0 * H,
    ),
    "what e moves during a torque, in K_r^2 de/dt": (
        constant(position=0.5 * np.pi),
        {"age": H, "r": 0.1, "box": replace(BOX, theta=1e-9 * THETA)},
        ARMATURE * GAIN**2 * 0.1 * H,
    ),
}


@pytest.mark.parametrize("name", DISTURBED)
def test_what_disturbs(name: str) -> None:
    state, options, torque = DISTURBED[name]
    found = ask(state, **options).disturbance.torque[1, 0]
    assert torque <= found * (1.0 + 1e-9)
    assert torque >= 0.8 * found


def test_what_r_moves_while_the_feedforward_is_held() -> None:
    found = ask(constant(), age=H, acceleration=5.0).disturbance.held[1, 0]
    assert found == pytest.approx((ARMATURE + INERTIA) * GAIN * 5.0 * H, rel=1e-6)


COMMANDED = {
    "gravity": (constant(), {}, MASS * LEVER * GRAVITY),
    "acceleration": (constant(position=0.5 * np.pi, acceleration=2.0), {}, 2.0 * (ARMATURE + INERTIA)),
    "offset": (constant(0.5 * np.pi), {"box": replace(BOX, motor=replace(MOTOR, offset=one(-3.0)))}, 3.0),
    "coulomb": (constant(0.5 * np.pi), {"box": replace(BOX, motor=replace(MOTOR, coulomb=one(COULOMB)))}, COULOMB),
    "K_r r": (constant(0.5 * np.pi), {"r": 0.1}, GAIN * 0.1 * (ARMATURE + INERTIA)),
    "K_r^2 e": (
        constant(0.5 * np.pi),
        {"e": 0.01, "box": replace(BOX, theta=0.0 * THETA)},
        GAIN**2 * 0.01 * ARMATURE,
    ),
    "held": (
        constant(0.5 * np.pi),
        {"age": H, "acceleration": 50.0},
        (ARMATURE + INERTIA) * GAIN * 50.0 * H,
    ),
    "noise": (
        constant(0.5 * np.pi),
        {"gains": QUIET._replace(position_error=one(0.01))},
        MASS * LEVER * GRAVITY * 0.01,
    ),
}


@pytest.mark.parametrize("name", COMMANDED)
def test_what_is_commanded(name: str) -> None:
    state, options, torque = COMMANDED[name]
    found = ask(state, **options).nominal_torque[1, 0]
    assert torque <= found * (1.0 + 1e-9)
    assert torque >= 0.7 * found


# --- The same torque from another state ------------------------------------------------------------------------------


def joints(axes: str, apart: tuple[float, float, float], **entries: float) -> tuple[Chain, np.ndarray]:
    """Joints about the axes x, y or z, each one's origin ``apart`` from the one before; a body at the end only."""
    kinds = {"x": pinocchio.JointModelRX, "y": pinocchio.JointModelRY, "z": pinocchio.JointModelRZ}
    model, last = pinocchio.Model(), 0
    for k, axis in enumerate(axes):
        shift = np.array(apart) if k else np.zeros(3)
        last = model.addJoint(last, kinds[axis](), pinocchio.SE3(np.eye(3), shift), f"j{k}")
    model.gravity.linear = np.zeros(3)
    names = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
    theta = np.zeros((len(axes), 10))
    theta[-1] = [entries.get(name, 0.0) for name in names]
    return Chain.from_model(model), theta


def sizes(chain: Chain, q: np.ndarray, qd: np.ndarray, qd_a: np.ndarray, qdd: np.ndarray) -> Magnitudes:
    """Norms of the bodies' motions in one state, by the affine recursion without any deviation."""
    from sysid_nodes.intervals import Affine

    forms = [Affine.constant(x[None], symbols=1) for x in (q, qd, qd_a, qdd)]
    found = dynamics(chain.tree, *forms)
    norms = [np.linalg.norm(getattr(found, name).centre, axis=2) for name in ("w", "u", "alpha", "s")]
    return Magnitudes(*norms, np.abs(qd_a)[None])


MOVED = {  # joints, where the second is, its body; q, qd, qd_a, qdd_a; what changes of joint 2; least share
    "a moment turns": ("z", "x", (0, 0, 0), {"Ixz": 0.3}, ((0, np.pi / 2), (0, 0), (0, 0), (0, 2.0)), "q", 0.6),
    "a force turns": ("z", "x", (0.4, 0, 0), {"my": 0.5}, ((0, 0), (0, 0), (0, 0), (0, 2.0)), "q", 0.9),
    "a body turns faster": ("z", "z", (0.4, 0, 0), {"my": 0.5}, ((0, 0), (0, 2), (0, 2), (0, 0)), "qd", 0.9),
    "a body is to turn faster": ("z", "z", (0.4, 0, 0), {"my": 0.5}, ((0, 0), (0, 2), (0, 2), (0, 0)), "qd_a", 0.45),
    "a turning body is swung": ("z", "x", (0, 0, 0), {"Iyz": 0.3}, ((0, 0), (2, 0), (2, 0), (0, 0)), "qd_a", 0.25),
    "a swung body turns": ("z", "x", (0, 0, 0), {"Iyz": 0.3}, ((0, 0), (2, 0), (2, 0), (0, 0)), "qd", 0.2),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_the_passing_of_time_does_to_a_torque(name: str) -> None:
    first, second, apart, entries, state, which, least = MOVED[name]
    chain, theta = joints(first + second, apart, **entries)
    q, qd, qd_a, qdd = (np.array(x, dtype=float) for x in state)
    step = np.array([0.0, 1e-4])
    limits = {key: np.zeros((1, 2)) for key in ("q", "qd", "qd_a")} | {which: step[None]}
    bound = torque_change(chain.tree, theta, sizes(chain, q, qd, qd_a, qdd), Change(**limits))[0, 0]
    here = passive_inverse_dynamics(chain, theta.ravel(), q[None], qd[None], qd_a[None], qdd[None])[0, 0]
    moved = {"q": q, "qd": qd, "qd_a": qd_a}
    moved[which] = moved[which] + step
    there = passive_inverse_dynamics(
        chain, theta.ravel(), moved["q"][None], moved["qd"][None], moved["qd_a"][None], qdd[None]
    )[0, 0]
    assert abs(there - here) <= bound * (1.0 + 1e-3)
    assert abs(there - here) >= least * bound


def test_all_that_is_added_to_the_desired_acceleration_moves_the_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    """K_r de/dt, its measured and aged part, and K_r times what r moved since; no part makes up for another."""
    seen, own = [], disturbance._magnitudes

    def kept(bodies: Any, added: Any, qd_a: Any, *, boxed: bool) -> Any:
        seen.append(added)
        return own(bodies, added, qd_a, boxed=boxed)

    monkeypatch.setattr(disturbance, "_magnitudes", kept)
    r, e, acceleration, jerk, error = 0.05, 0.02, 3.0, 2.0, 0.01
    gains = QUIET._replace(velocity_error=one(error))
    ask(constant(), gains=gains, age=H, r=r, e=e, acceleration=acceleration, jerk=jerk)
    rate = r + GAIN * e
    expected = GAIN * rate + GAIN * error + H * (jerk + GAIN**2 * rate) + H * GAIN * acceleration
    np.testing.assert_allclose(seen[0], np.full((2, 1), expected), rtol=1e-6)


def test_norms_of_a_body_are_those_of_its_tensor() -> None:
    theta = np.array([[-2.0, 1.0, 2.0, -2.0, 0.3, 0.1, 0.5, -0.2, 0.4, 0.7]])
    tensor = np.array([[0.3, 0.1, -0.2], [0.1, 0.5, 0.4], [-0.2, 0.4, 0.7]])
    assert np.concatenate(norms_of(theta)) == pytest.approx([2.0, 3.0, np.linalg.norm(tensor)], rel=1e-12)


def test_what_swings_a_body_that_does_not_turn_itself() -> None:
    """A wrist that turns back what the shoulder turns: its angular acceleration is the elbow's doing alone."""
    chain, theta = joints("zxz", (0.0, 0.0, 0.0), Iyz=0.3)
    q, qd, step = np.zeros(3), np.array([2.0, 0.0, -2.0]), np.array([0.0, 1e-4, 0.0])
    size = sizes(chain, q, qd, qd, q)
    assert size.w[0, 2] == pytest.approx(0.0, abs=1e-12)
    still = np.zeros((1, 3))
    bound = torque_change(chain.tree, theta, size, Change(still, still, step[None]))[0, 0]
    here, there = (
        passive_inverse_dynamics(chain, theta.ravel(), q[None], qd[None], x[None], q[None])[0, 0]
        for x in (qd, qd + step)
    )
    assert abs(there - here) <= bound * (1.0 + 1e-3)
    assert abs(there - here) >= 0.6 * bound


def test_errors_of_a_reading_and_of_its_age_are_told_apart() -> None:
    """Each cause alone: how far position, velocity, K_r e and K_r de/dt are off."""
    ten = np.full((2, 1), 10.0)
    zero = np.zeros((2, 1))
    calm = Assumed(np.zeros(2), np.zeros(2), zero)
    moved = calm._replace(acceleration=ten)
    cases = [
        (QUIET._replace(position_error=one(0.01)), 0.0, calm, zero, zero, zero, zero, (0.01, 0.0, GAIN * 0.01, 0.0)),
        (QUIET._replace(velocity_error=one(0.01)), 0.0, calm, zero, zero, zero, zero, (0.0, 0.01, 0.0, GAIN * 0.01)),
        (QUIET, H, calm, zero, ten, zero, zero, (10.0 * H, 0.0, 0.0, 0.0)),
        (QUIET, H, calm, zero, zero, ten, zero, (0.0, 10.0 * H, 10.0 * H, 0.0)),
        (QUIET, H, moved, zero, zero, zero, zero, (0.0, 10.0 * H, 0.0, 0.0)),
        (QUIET, H, calm, ten, zero, zero, zero, (0.0, 0.0, 0.0, 10.0 * H)),
        (QUIET, H, calm, zero, zero, zero, ten, (0.0, 0.0, 0.0, GAIN**2 * 10.0 * H)),
    ]
    for law, age, assumed, jerk, qd, qdd_a, rate, expected in cases:
        change, slope = _shifts(jerk, law, loop_of(age=age), assumed, qd, qdd_a, rate)
        found = [float(np.broadcast_to(x, (2, 1))[1, 0]) for x in (*change, slope)]
        assert found == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("axes", "apart", "entries", "qd", "r", "least"),
    [
        (("z", "z"), (0.4, 0.0, 0.0), {"my": 0.5}, (0.0, 2.0), (0.0, 1.0), 0.45),
        (("z", "z"), (0.4, 0.0, 0.0), {"my": 0.5}, (2.0, 0.0), (0.0, 1.0), 0.4),
        (("z", "x"), (0.0, 0.0, 0.0), {"Iyz": 0.3}, (2.0, 0.0), (0.0, 1.0), 0.1),
        (("z", "x"), (0.0, 0.0, 0.0), {"Ixy": 0.3}, (0.0, 2.0), (0.0, 1.0), 0.25),
        (("z", "x"), (0.0, 0.0, 0.0), {"Iyz": 0.3}, (0.0, 2.0), (1.0, 0.0), 0.45),
    ],
    ids=str,
)
def test_what_c_r_can_be(axes, apart, entries, qd, r, least) -> None:
    chain, theta = joints("".join(axes), apart, **entries)
    q, qd, r = np.zeros(2), np.array(qd), np.array(r)
    found = coriolis(chain.tree, np.abs(theta), sizes(chain, q, qd, qd, 0.0 * q).w, np.abs(r)[None])[0]
    zero = np.zeros((1, 2))
    true = np.abs(passive_inverse_dynamics(chain, theta.ravel(), zero, qd[None], r[None], zero)[0])
    assert (true <= found * (1.0 + 1e-9)).all()
    assert (true / np.maximum(found, 1e-12)).max() >= least


def test_every_entry_of_a_body_s_inertia_makes_its_own_part_of_the_mass_matrix() -> None:
    """Against pinocchio, one of the ten parameters at a time."""
    robot = load_robot("kinova_gen3")
    from sysid_nodes.intervals import Affine

    q = np.array([0.3, -0.8, 1.1, 0.7, -0.4, 0.9, 0.2])
    chain = Chain.from_robot(robot)
    zero = Affine.constant(np.zeros((1, 7)), symbols=1)
    pairs = dynamics(chain.tree, Affine.constant(q[None], symbols=1), zero, zero, zero).pairs
    parts = pairs.linear, pairs.angular
    found = inertia_coefficients(pairs, [x.centre for x in parts], [deviation(x) for x in parts])
    for entry in range(10):
        theta = np.zeros((7, 10))
        theta[6, entry] = 1.0
        mass = np.zeros((7, 7))
        for pair, (j, k) in enumerate(zip(found.first, found.second, strict=True)):
            mass[j, k] += found.centre[0, pair] @ theta[found.body[pair]]
        still, rows = np.zeros((7, 7)), np.eye(7)
        true = passive_inverse_dynamics(replace_gravity(chain), theta.ravel(), np.tile(q, (7, 1)), still, still, rows)
        np.testing.assert_allclose(np.triu(mass), np.triu(true), atol=1e-12)


def replace_gravity(chain: Chain) -> Chain:
    return replace(chain, tree=chain.tree._replace(gravity=np.zeros(3)))


# --- Margins ---------------------------------------------------------------------------------------------------------

ROBOT = load_robot("kinova_gen3", variant="bare")


def conduct(q: np.ndarray, velocity: np.ndarray, *, e: float = 0.0, rate: float = 0.0) -> Conduct:
    """Two intervals at one position and velocity (7,)."""
    still = np.zeros((2, 7))
    desired = Desired(
        EDGES,
        TimeEnclosure(np.tile(q, (2, 1)), still, still),
        TimeEnclosure(np.tile(velocity, (2, 1)), still, still),
        TimeEnclosure(still, still, still),
    )
    errors = np.full((2, 7), e)
    state = motion(desired, Tube(errors, still), GAIN)
    qd = np.abs(np.tile(velocity, (2, 1))) * np.array([[1.0], [0.5]]) + rate
    return Conduct(desired, errors, np.full((2, 7), rate), qd, np.arange(1.0, 8.0), state.q, boxed=False)


@pytest.mark.parametrize("speed", [0.5, -0.5, 0.0])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_positions_keep_their_distance_on_both_sides(side: float, speed: float) -> None:
    """Nearer to one limit of joint 2 than to the other, with a stop that goes the way the joint moves."""
    limit = ROBOT.limits.position_upper[1]
    q = np.eye(7)[1] * side * (limit - 0.6)
    stop = OwnStop(np.full(7, 2.0), reaction=0.0, acceleration=0.0, travel=0.01)
    for own, way in ((None, 0.0), (stop, 0.01 + (speed**2 / 4.0 if speed * side > 0.0 else 0.0))):
        judge = Judge(ROBOT, Chain.from_robot(ROBOT).tree, (), keep=0.0, torque_margin=1.5, stop=own)
        margins = judge.compare(conduct(q, np.eye(7)[1] * speed, e=0.02), Scene(())).margins
        assert margins.position[1] == pytest.approx(0.6 - 0.02 - way, rel=1e-6)
        assert np.isinf(margins.position[0])
        np.testing.assert_allclose(margins.torque, ROBOT.limits.torque - 1.5 - np.arange(1.0, 8.0))
        assert margins.velocity[1] == pytest.approx(ROBOT.limits.velocity[1] - abs(speed))


def test_what_a_position_moves_by_within_an_interval_counts_toward_both_limits() -> None:
    """Its slope over the interval and what the enclosure leaves over, beside the error."""
    limit = ROBOT.limits.position_upper[1]
    judge = Judge(ROBOT, Chain.from_robot(ROBOT).tree, (), keep=0.0, torque_margin=0.0, stop=None)
    for side in (1.0, -1.0):
        still = conduct(np.eye(7)[1] * side * (limit - 0.6), np.zeros(7), e=0.02)
        place = replace(still.desired.position, slope_term=np.full((2, 7), -0.1), remainder=np.full((2, 7), 0.04))
        moving = replace(still, desired=replace(still.desired, position=place))
        assert judge.compare(moving, Scene(())).margins.position[1] == pytest.approx(0.6 - 0.02 - 0.1 - 0.04, rel=1e-6)


def test_the_speed_of_an_error_is_part_of_a_stop_s_way() -> None:
    limit = ROBOT.limits.position_upper[1]
    stop = OwnStop(np.full(7, 2.0), reaction=0.0, acceleration=0.0, travel=0.0)
    judge = Judge(ROBOT, Chain.from_robot(ROBOT).tree, (), keep=0.0, torque_margin=0.0, stop=stop)
    found = judge.compare(conduct(np.eye(7)[1] * (limit - 0.6), np.eye(7)[1] * 0.5, rate=0.3), Scene(()))
    assert found.margins.position[1] == pytest.approx(0.6 - 0.8**2 / 4.0, rel=1e-6)


BALL = Primitive("joint_1", "sphere", np.array([0.5, 0.0, 0.0]), np.eye(3), np.array([0.05]))
HIGH = Primitive("universe", "sphere", np.array([0.5, 0.0, 0.6]), np.eye(3), np.array([0.04]))


@pytest.mark.parametrize("keep", [0.0, 0.03])
def test_distances_are_less_what_is_kept_free(keep: float) -> None:
    """A ball on joint 1, one of the base's and an obstacle above and beside it, both radii counted."""
    robot = replace(ROBOT, may_overlap=())
    tree = Chain.from_robot(robot).tree
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, np.zeros(7))
    ball = data.oMi[1].act(BALL.position)
    other = replace(HIGH, position=ball + 0.2 * np.eye(3)[2])
    scene = Scene((Obstacle("post", "sphere", tuple((ball - 0.15 * np.eye(3)[2]).tolist()), size=(0.02,)),))
    judge = Judge(robot, tree, (BALL, other), keep=keep, torque_margin=0.0, stop=None)
    margins = judge.compare(conduct(np.zeros(7), np.zeros(7)), scene).margins
    assert margins.self_distance == pytest.approx(0.2 - 0.09 - keep, abs=1e-6)
    assert margins.obstacle == pytest.approx(0.15 - 0.07 - keep, abs=1e-6)


@pytest.mark.parametrize("long", [0.0, 0.3])
def test_a_shape_goes_as_near_as_its_joint_s_error_takes_it(long: float) -> None:
    """A ball, or the far end of a beam, on a joint that may be off by e: the way is the lever times that, nearly."""
    e, lever = 0.02, 0.4
    tree = PENDULUM._replace(axis=np.array([[0.0, 0.0, 1.0]]))
    tube = Tube(np.full((2, 1), e), np.zeros((2, 1)))
    placed = place(tree, motion(constant(), tube, GAIN).q)
    beam = Solid(np.array([lever - long, 0.0, 0.0]), np.array([[long, 0.0, 0.0]]), 0.01)
    # One of the wall's own axes is the way to it: the first bound, from such directions, is as good as the last.
    wall = Solid(np.array([lever, 0.12, 0.0]), np.array([[0.0, 0.02, 0.0], [0.0, 0.0, 0.2]]), 0.02)
    shapes = [occupancy(placed, 0, beam), occupancy(placed, -1, wall)]
    found = self_distance(shapes, np.array([[0, 1]])).min()
    angles = np.linspace(-e, e, 2001)
    along = np.linspace(lever - 2.0 * long, lever, 401)[:, None]
    true = np.hypot(along * np.cos(angles) - lever, along * np.sin(angles) - 0.1).min() - 0.03
    assert found <= true + 1e-9
    assert found >= true - 0.1 * lever * e


SPLIT = {  # of a delayed loop: state and options, the part, and what it is
    "offset is steady": (constant(), {"box": uncertain(offset=0.7)}, "steady", 0.7),
    "coulomb is not": (constant(), {"box": uncertain(coulomb=0.7)}, "rest", 0.7),
    "torque error is not": (constant(), {"gains": QUIET._replace(torque_error=one(0.9))}, "rest", 0.9),
    "viscous follows the velocity": (constant(velocity=0.5), {"box": uncertain(viscous=2.0)}, "steady", 1.0),
    "and the acceleration": (constant(acceleration=0.5), {"box": uncertain(viscous=2.0)}, "slope", 1.0),
    "armature follows the jerk": (constant(), {"box": uncertain(armature=0.5), "jerk": 4.0}, "slope", 2.0),
    "gravity is steady": (constant(), {"box": body(1, 0.1)}, "steady", 0.1 * GRAVITY),
    "and moves with the joint": (constant(velocity=0.5), {"box": body(1, 0.1)}, "slope", 0.5 * 0.1 * GRAVITY),
}


@pytest.mark.parametrize("name", SPLIT)
def test_slow_and_other_disturbances_of_a_delayed_loop(name: str) -> None:
    state, options, part, expected = SPLIT[name]
    given: dict[str, Any] = {"box": BOX, "gains": QUIET, "jerk": 0.0} | options  # type: ignore[operator]
    none, joint = np.zeros(2), np.zeros((2, 1))
    found = demand(
        PENDULUM,
        state,
        joint + given["jerk"],
        given["box"],
        given["gains"],
        replace(loop_of(), delayed=True),
        Assumed(none, none, joint, none, joint, joint),
    )
    assert found.split is not None
    value = float(getattr(found.split, part)[0, 0])
    # A slope is bounded by norms, whichever way they point.
    assert expected * (1.0 - 1e-6) <= value <= (1.6 if part == "slope" else 1.05) * expected
    if part == "rest":
        assert found.split.steady[0, 0] < 1e-6
