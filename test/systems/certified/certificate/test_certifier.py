# SPDX-License-Identifier: Apache-2.0
"""Certificates: nothing that can happen exceeds their margins, and what is not proven is refused with a reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from shared.certified_arm import SCENE, START, box, certifier, draw_in_ball, model, plan, robot, shapes
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError, RobotError
from sysid_nodes.models.bezier import Bezier, brake
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.passivity import passive_regressor
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw, gains
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts.contact_watch import ContactWatch
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.error_proof import Claim

EMPTY = Scene(())
CONTROL = RobustControlConfig()
ENGINE = 2e-6  # [m] error of the engine's distances


@pytest.fixture(scope="module")
def judge():
    return certifier()


def certify(judge, wanted, share=0.1, scene=SCENE, entry=None):
    return judge.certify(wanted, box(share), entry or judge.at_rest(box(share)), scene)


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_a_sane_motion_is_certified(judge, share):
    found = certify(judge, plan(0.2), share)
    assert found.certified and found.verdict is Verdict.CERTIFIED
    assert found.margins.worst()[0] is Verdict.CERTIFIED
    assert (found.torque <= robot().limits.torque).all()
    assert (found.robust_limit > 0.0).all()
    assert len(found.envelope.level) == 65 and found.envelope.edges[-1] == np.inf
    # By energies V and e are bounded in the norms of M and I_a themselves.
    assert found.proof == "energy" and found.envelope.weight == 1.0


def test_less_is_known_more_can_happen(judge):
    wide, tight = (certify(judge, plan(0.2), share) for share in (1.0, 0.1))
    assert (tight.envelope.level[10:] < 0.5 * wide.envelope.level[10:]).all()
    assert (tight.margins.torque > wide.margins.torque).all()


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_no_sample_exceeds_a_margin(judge, share):
    rng, wanted = np.random.default_rng(7), plan(0.4 if share < 1.0 else 0.2, seed=3)
    found = certify(judge, wanted, share)
    assert found.envelope is not None
    limits, bounds, envelope = robot().limits, box(share), found.envelope
    law = RobustLaw(robot(), bounds.theta, bounds.motor, CONTROL)
    noise = gains(robot(), CONTROL)
    pairs = self_collision_pairs(robot(), shapes()).kept
    watch = ContactWatch(robot(), shapes(), SCENE.obstacles, pairs)
    largest = limits.torque - found.margins.torque
    for k in range(300):
        t = rng.uniform(0.0, 3.3)
        i, desired = envelope.interval(t), wanted(t)
        e = draw_in_ball(rng, 1, 7)[0] * envelope.position_error[i]
        r = draw_in_ball(rng, 1, 7)[0] * envelope.reference_error[i]
        q = desired.q - e
        qd = desired.qd + 4.0 * e - r
        seen = q + rng.choice([-1.0, 1.0], 7) * noise.position_error
        seen_qd = qd + rng.choice([-1.0, 1.0], 7) * noise.velocity_error
        torque = law.command(seen, seen_qd, desired, found.robust_limit).torque
        assert (np.abs(torque) <= largest).all() and (largest <= found.torque * (1.0 + 1e-12)).all()
        assert (np.abs(qd) <= limits.velocity - found.margins.velocity).all()
        assert (limits.position_upper - q >= found.margins.position).all()
        assert (q - limits.position_lower >= found.margins.position).all()
        if k % 4 == 0:
            assert watch.to_obstacles(q).distance >= found.margins.obstacle - ENGINE
            assert watch.to_itself(q).distance >= found.margins.self_distance - ENGINE


def energy(theta, motor, q, r):
    made = robot().model.copy()
    for i, row in enumerate(theta):
        made.inertias[i + 1] = pinocchio.Inertia.FromDynamicParameters(row)
    made.armature = motor.armature
    mass = np.triu(pinocchio.crba(made, made.createData(), q))
    mass = mass + np.triu(mass, 1).T
    return 0.5 * r @ mass @ r


def follow(arm, law, truth, wanted, found, bounds, until, *, start=0.0):
    """Drives the arm along a certified plan and checks every state; the largest share of each bound that was used."""
    used = np.zeros(3)
    least = bounds.armature_lower
    for k in range(round((until - start) / 1e-3)):
        t = start + k * 1e-3
        desired, i = wanted(t), found.envelope.interval(t)
        e, r = desired.q - arm.q, desired.qd - arm.qd + 4.0 * (desired.q - arm.q)
        if k % 5 == 0:
            level = energy(*truth, arm.q, r)
            position = np.sqrt((least * e**2).sum())
            # V and the norm of e in I_a are what a delayed proof says of the metric, times its weight.
            most = (
                found.envelope.weight * found.envelope.level[i],
                found.envelope.weight**0.5 * found.envelope.position[i],
            )
            assert level <= most[0] and position <= most[1]
            used[:2] = np.maximum(used[:2], [level / most[0], position / most[1]])
        assert (np.abs(e) <= found.envelope.position_error[i]).all()
        assert (np.abs(r) <= found.envelope.reference_error[i]).all()
        reading = arm.reading()
        q = reading.position + 2.0 * np.pi * np.round((arm.q - reading.position) / (2.0 * np.pi))
        torque = law.command(q, reading.velocity, desired, found.robust_limit).torque
        assert (np.abs(torque) <= found.torque).all()
        used[2] = max(used[2], float((np.abs(torque) / found.torque).max()))
        assert arm.command(torque, arm.now)
        arm.step()
        assert not arm.saturated.any()
    return used


@pytest.mark.parametrize(
    ("share", "k", "seed", "joint"),
    mark_slow(
        [(1.0, 0.2, 1, 1), (1.0, 0.2, 2, 3), (1.0, 0.3, 3, 5), (0.1, 0.5, 4, None)],
        but=[(0.1, 0.5, 4, None)],
    ),
)
def test_a_robot_at_the_edge_of_the_box_keeps_what_was_certified(judge, share, k, seed, joint):
    """The whole loop: physics, stiction, encoder steps and held torques, the model at a corner of the box.

    The corner is random, or the one that weighs on a joint most where the motion starts.
    """
    rng, bounds, wanted = np.random.default_rng(seed), box(share), plan(k, seed=seed)
    found = certify(judge, wanted, share, EMPTY)
    assert found.certified
    still = np.zeros((1, 7))
    rows = passive_regressor(Chain.from_robot(robot()), wanted.q0[None], still, still, still)[0]
    truth = model(bounds, rng, against=None if joint is None else rows[joint].reshape(7, 10))
    # Encoders at their worst are half a step off, velocities anything within their error.
    config = HardwareConfig(delay=0.0, velocity_error=1e-4)
    arm = SimulatedArm(robot(), None, config, rng, wanted.q0, truth=TrueRobot.from_parameters(*truth))
    law = RobustLaw(robot(), bounds.theta, bounds.motor, CONTROL)
    used = follow(arm, law, truth, wanted, found, bounds, 3.1)
    assert used[2] > 0.2  # of the largest torque: the robot did work


def test_plans_follow_one_another(judge):
    """A plan takes over from another one in full motion, with other bounds, and the errors stay certified."""
    rng, wide, tight = np.random.default_rng(5), box(0.3), box(0.1)
    truth = model(tight, rng)
    assert wide.contains(*truth)
    first = plan(0.4, seed=5)
    one = judge.certify(first, wide, judge.at_rest(wide), EMPTY)
    split = first.split(1.5)
    second = Bezier(split.q, split.qd, split.qdd, rng.uniform(-0.3, 0.3, 7), 3.0)
    two = judge.certify(second, tight, one.envelope.entry(1.5), EMPTY)
    assert one.certified and two.certified
    config = HardwareConfig(delay=0.0, velocity_error=1e-4)
    arm = SimulatedArm(robot(), None, config, rng, first.q0, truth=TrueRobot.from_parameters(*truth))
    laws = [RobustLaw(robot(), b.theta, b.motor, CONTROL) for b in (wide, tight)]
    follow(arm, laws[0], truth, first, one, wide, 1.5)
    follow(arm, laws[1], truth, second, two, tight, 3.05)


def test_a_delay_costs_and_is_survived():
    control = RobustControlConfig(delay=0.001)
    slow, bounds, wanted = certifier(control), box(0.1), plan(0.3, seed=6)
    found = certify(slow, wanted, 0.1, EMPTY)
    assert found.certified and found.proof == "delayed"
    slower = certify(certifier(replace(control, delay=0.003)), wanted, 0.1, EMPTY)
    assert (slower.envelope.reference_error[-1] > found.envelope.reference_error[-1]).all()
    rng = np.random.default_rng(6)
    truth = model(bounds, rng)
    config = HardwareConfig(delay=0.001, velocity_error=1e-4)
    arm = SimulatedArm(robot(), None, config, rng, wanted.q0, truth=TrueRobot.from_parameters(*truth))
    follow(arm, RobustLaw(robot(), bounds.theta, bounds.motor, control), truth, wanted, found, bounds, 1.0)


def through(point):
    return Scene((Obstacle("wall", "box", tuple(point), size=(0.4, 0.4, 0.4)),))


def test_refusals_name_their_reason(judge):
    tip = pinocchio.Data(robot().model)
    pinocchio.forwardKinematics(robot().model, tip, START)
    bend = np.eye(7)[1] * 2.5  # joint 2 stops at 2.24
    calm = plan(0.1)
    cases = [
        (calm, 0.1, through(tip.oMi[7].translation), Verdict.OBSTACLE, "and 'wall', -"),
        (Bezier(START, np.zeros(7), np.zeros(7), bend, 3.0), 0.1, EMPTY, Verdict.POSITION, "limit of joint_2 by"),
        (Bezier(START, np.zeros(7), np.zeros(7), bend, 0.5), 0.1, EMPTY, Verdict.POSITION, "limit of joint_2 by"),
        (plan(1.2, duration=0.8), 0.1, EMPTY, Verdict.VELOCITY, "limit of joint_"),
        (plan(1.5, seed=2), 1.0, EMPTY, Verdict.TRACKING, "errors grow without bound"),
    ]
    for wanted, share, scene, verdict, words in cases:
        found = certify(judge, wanted, share, scene)
        assert found.verdict is verdict and words in found.binding
        assert not found.certified


def test_the_proof_counts_with_what_the_watches_let_pass():
    """Periods with the rounding of stamps, the delay, and both until the first torque acts."""
    control = RobustControlConfig(period=0.0015, delay=0.002)
    made, bounds, wanted = certifier(control, torque_margin=3.0), box(0.1), plan(0.1)
    before = replace(made.at_rest(bounds), speed=2.0)
    problem = made._problem(wanted, bounds, before)
    assert (problem.loop.period, problem.loop.delay) == (control.longest_period, control.delay)
    assert problem.loop.age == control.age > 0.0035
    grown = np.sqrt(2.0 * problem.start.level) - np.sqrt(2.0 * before.level)
    assert grown >= control.age * before.speed
    np.testing.assert_array_equal(problem.torque_limit, robot().limits.torque - 3.0)


@pytest.mark.parametrize("prover", ["compiled", "reference"])
def test_a_claim_holds_on_a_machine_with_the_other_kernel(judge, prover, monkeypatch):
    pytest.importorskip("sysid_nodes.kernel._affine_dynamics", reason="the C++ kernel is not built")
    bounds, wanted = box(0.1), plan(0.2)
    entry = judge.at_rest(bounds)
    monkeypatch.setenv("SYSID_KERNEL", prover)
    found = judge.certify(wanted, bounds, entry, EMPTY)
    errors = Assumed(found.envelope.level, found.envelope.position, found.envelope.acceleration)
    monkeypatch.setenv("SYSID_KERNEL", {"compiled": "reference", "reference": "compiled"}[prover])
    assert judge.certify(wanted, bounds, entry, EMPTY, Claim(errors, found.robust_limit)).certified


def test_claims_are_proven_as_they_are_or_not_at_all(judge):
    bounds, wanted = box(0.1), plan(0.2)
    entry = judge.at_rest(bounds)
    found = judge.certify(wanted, bounds, entry, EMPTY)
    errors = Assumed(found.envelope.level, found.envelope.position, found.envelope.acceleration)
    checked = judge.certify(wanted, bounds, entry, EMPTY, Claim(errors, found.robust_limit))
    assert checked.certified and checked.iterations == 1
    np.testing.assert_array_equal(checked.robust_limit, found.robust_limit)
    for kind in ("torque", "velocity", "position"):
        assert (getattr(checked.margins, kind) >= getattr(found.margins, kind) - 1e-9).all()
    # The motors leave a little more for errors that are a little less, and no more than that.
    small = Claim(errors, 0.9 * found.robust_limit)
    assert judge.certify(wanted, bounds, entry, EMPTY, small).certified
    for wrong in (
        Claim(errors, 1.2 * found.robust_limit + 5.0),
        Claim(errors, 0.0 * found.robust_limit),
        Claim(errors, np.full(7, np.nan)),
        Claim(errors._replace(level=0.5 * errors.level), found.robust_limit),
        Claim(errors._replace(position=0.5 * errors.position), found.robust_limit),
        Claim(errors._replace(acceleration=0.5 * errors.acceleration), found.robust_limit),
        Claim(errors._replace(level=np.full_like(errors.level, np.inf)), found.robust_limit),
        Claim(errors._replace(level=errors.level[:-1]), found.robust_limit),
        Claim(errors._replace(acceleration=-errors.acceleration), found.robust_limit),
    ):
        refused = judge.certify(wanted, bounds, entry, EMPTY, wrong)
        assert refused.verdict is Verdict.TRACKING and refused.envelope is None


def test_torque_limits_are_kept(judge):
    weak = replace(robot(), limits=replace(robot().limits, torque=np.full(7, 25.0)))
    found = Certifier(weak, shapes(), CONTROL, CertifierConfig()).certify(
        plan(0.2), box(0.1), judge.at_rest(box(0.1)), EMPTY
    )
    assert found.verdict in (Verdict.TRACKING, Verdict.TORQUE)


def test_folding_onto_itself_is_refused(judge):
    folded = START.copy()
    folded[[1, 3, 5]] = [0.0, -2.5, -2.0]
    found = certify(judge, Bezier(START, np.zeros(7), np.zeros(7), folded - START, 3.0), 0.1, EMPTY)
    assert found.verdict is Verdict.SELF_COLLISION and "moves" in found.binding


def test_margins_that_are_asked_for_are_kept_free():
    wanted = plan(0.2)
    plain, careful = certifier(), certifier(distance_margin=0.02, torque_margin=5.0)
    a, b = (certify(c, wanted, 0.1) for c in (plain, careful))
    assert b.margins.obstacle == pytest.approx(a.margins.obstacle - 0.015, abs=2e-3)
    assert (b.margins.torque < a.margins.torque).all()


def test_a_certificate_of_a_start_in_motion_ends_at_rest(judge):
    moving = brake(START, np.full(7, 0.2), np.zeros(7), 1.5)
    found = certify(judge, moving, 0.1, EMPTY)
    assert found.certified
    assert found.envelope.level[-1] < 0.01


def test_few_intervals_are_looser_but_never_wrong():
    wanted = plan(0.3)
    coarse, fine = (certify(certifier(intervals=n), wanted, 0.1, EMPTY) for n in (16, 128))
    assert (coarse.margins.velocity <= fine.margins.velocity + 1e-9).all()


def test_short_trajectories_get_fewer_intervals_and_too_short_ones_none(judge):
    still = np.zeros(7)
    short = certify(judge, Bezier(START, still, still, still, 0.01), 0.1, EMPTY)
    assert len(short.envelope.level) == 10
    with pytest.raises(ConfigError, match="shorter than a torque may act"):
        certify(judge, Bezier(START, still, still, still, 0.0005))


def test_misuse(judge):
    with pytest.raises(ConfigError, match="the trajectory is for 6 joints, 'kinova_gen3' has 7"):
        certify(judge, Bezier(np.zeros(6), np.zeros(6), np.zeros(6), np.zeros(6), 3.0))
    small = replace(box(0.1), theta=np.zeros((6, 10)))
    with pytest.raises(ConfigError, match="the model box is for 6 joints, 'kinova_gen3' has 7"):
        judge.at_rest(small)
    with pytest.raises(ConfigError, match=r"'control\.damping' must be positive"):
        certifier(RobustControlConfig(damping=(0.0,)))
    with pytest.raises(RobotError, match="no joint 'hand'"):
        Certifier(robot(), (replace(shapes()[0], frame="hand"),), CONTROL, CertifierConfig())


def test_other_robots_or_a_clear_no():
    ur10 = load_robot("ur10")
    with pytest.raises(ConfigError, match=r"'control\.damping' needs 1 or 6 numbers, got 7"):
        Certifier(ur10, (), CONTROL, CertifierConfig())
    made = Certifier(ur10, (), RobustControlConfig(damping=(500.0,), position_error=(1e-5,)), CertifierConfig())
    known = KnownRobotConfig(armature=(3.0,), viscous=(5.0,), coulomb=(1.0,))
    nominal = ur10.inertial_parameters()[-1]
    bounds = model_box(ur10, known, Bounds(nominal - 1e-3, nominal + 1e-3), ur10.body_index())
    calm = Bezier(np.full(6, -0.5), np.zeros(6), np.zeros(6), np.full(6, 0.1), 3.0)
    assert made.certify(calm, bounds, made.at_rest(bounds), EMPTY).certified
    with pytest.raises(RobotError, match="floating base"):
        Certifier(load_robot("go2"), (), CONTROL, CertifierConfig())


def test_sliding_joints_are_refused():
    model_ = pinocchio.Model()
    joint = model_.addJoint(0, pinocchio.JointModelPX(), pinocchio.SE3.Identity(), "rail")
    model_.appendBodyToJoint(joint, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    rail = replace(load_robot("ur10"), model=model_)
    with pytest.raises(
        ConfigError, match=r"'.*' is a sliding joint; trajectories are certified for turning joints only"
    ):
        Certifier(rail, (), RobustControlConfig(damping=(1.0,)), CertifierConfig())
