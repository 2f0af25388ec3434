# SPDX-License-Identifier: Apache-2.0
"""sysid check's findings: right on every joint of real logs whatever was done to them, and silent on good data."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from shared.payload_problem import Problem, gen3_problem

from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.joint_vector import spread
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.robots import load_robot
from sysid_nodes.signals.driver import DriverSignals, SignalsConfig
from sysid_nodes.signals.finding import Finding
from sysid_nodes.simulation.arm import gen3_excitation
from sysid_nodes.systems.interval.check.angles import angle_units
from sysid_nodes.systems.interval.check.arm_check import check_arm
from sysid_nodes.systems.interval.check.arm_fit import SURE, ArmFit
from sysid_nodes.systems.interval.check.joint_fit import JointFit, fit_joint
from sysid_nodes.systems.interval.check.mending import parameter_lines
from sysid_nodes.systems.interval.check.noise_levels import noise_levels
from sysid_nodes.systems.interval.check.rounds import check_in_rounds
from sysid_nodes.systems.interval.check.signal_record import SignalRecord, Signals
from sysid_nodes.systems.interval.check.torque_findings import LIKELY_SIGN, sign_and_unit
from sysid_nodes.systems.interval.check.unexplained_torque import row_builder, unexplained_torque
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.stream_watch import dead_signals
from sysid_nodes.systems.interval.unknowns import stated_unknowns

DEGREE = np.pi / 180.0
LOGS = ("joint_sensor_1", "joint_sensor_2", "joint_sensor_3")


@pytest.fixture(scope="module")
def gen3() -> Problem:
    return gen3_problem(np.random.default_rng(5), KnownRobotConfig())


def simulated(problem: Problem, noise: float = 0.0) -> Signals:
    samples = problem.samples(np.arange(1000) / 200.0)
    torque = samples.tau + noise * np.random.default_rng(1).normal(size=samples.tau.shape)
    return Signals(samples.t, samples.q, samples.qd, torque)


def kinds(findings: tuple[Finding, ...]) -> set[str]:
    return {finding.kind for finding in findings}


def test_good_data_have_no_finding(gen3: Problem) -> None:
    check = check_arm(gen3.robot, IntervalIdentifierConfig(), simulated(gen3))
    assert check.findings == ()
    assert check.delay is not None and abs(check.delay.delay) < 1e-3
    assert check.fit is not None and check.fit.body[0] == pytest.approx(gen3.theta[0], abs=0.1)


@pytest.mark.parametrize(
    ("pace", "joint", "told"), [(0.976, 1.0, True), (1.0, 1.1, False), (0.976, 1.1, False), (0.995, 1.0, False)]
)
def test_a_clock_that_runs_wrong_is_told_from_one_joint_s_velocity(
    gen3: Problem, pace: float, joint: float, told: bool
) -> None:
    """Stamps of a real Panda's log were 2.4 % too close: all joints moved faster than their velocities said.

    Where one of them differs by more than that, velocities have scales of their own, and nothing is said of a clock.
    """
    good = simulated(gen3)
    velocity = good.qd * np.array([joint, *np.ones(6)])
    found = check_arm(gen3.robot, IntervalIdentifierConfig(), replace(good, t=good.t * pace, qd=velocity)).findings
    clock = [finding.message for finding in found if finding.kind == "clock"]
    assert bool(clock) is told
    assert not told or "1.025 times as fast" in clock[0]


def test_a_stop_and_the_rest_after_it_are_no_finding(gen3: Problem) -> None:
    """A brake holds the arm, whatever torque the drives had; by 17 N m of that offset and armature were once found."""
    good = simulated(gen3)
    rest = good.t[-1] + 0.005 * np.arange(1, 2001)
    stay = np.ones((len(rest), 1))
    stopped = Signals(
        np.concatenate([good.t, rest]),
        np.vstack([good.q, stay * good.q[-1]]),
        np.vstack([good.qd, 0.0 * stay * good.qd[-1]]),
        np.vstack([good.tau, stay * (good.tau[-1] + np.array([5.0, -5.0, 5.0, -5.0, 17.0, -17.0, 5.0]))]),
        stride=2,
    )
    assert check_arm(gen3.robot, IntervalIdentifierConfig(), stopped, thorough=False).findings == ()


def test_links_as_wrong_as_stated_are_no_offset_of_a_short_motion() -> None:
    """What they weigh too much looks like one, or like friction, as long as the arm stays about one posture."""
    problem = gen3_problem(np.random.default_rng(7), KnownRobotConfig())  # a draw where it does
    all_of_it = simulated(problem)
    short = Signals(*(values[:440] for values in (all_of_it.t, all_of_it.q, all_of_it.qd, all_of_it.tau)))
    assert check_arm(problem.robot, IntervalIdentifierConfig(), short, thorough=False).findings == ()


def test_only_what_no_stated_error_explains_is_a_finding(gen3: Problem) -> None:
    """Velocities that read badly, of joints that turn round, as stated; and a torque that comes and goes besides."""
    good, robot = simulated(gen3), gen3.robot
    read = replace(good, qd=good.qd + np.random.default_rng(3).uniform(-0.005, 0.005, good.qd.shape))
    config = IntervalIdentifierConfig()
    config = replace(config, noise=replace(config.noise, velocity_error=(0.0051,)))
    assert check_arm(robot, config, read).findings == ()
    unknowns = stated_unknowns(robot, config)
    builder, edges = row_builder(robot, config, unknowns), 40 * np.arange(24)[:, None] + np.array([0, 40])
    push = 8.0 * np.sign(np.sin(8.0 * read.t))[:, None] * (np.arange(robot.n) == 6)
    for size in (0.0, 1.0):
        samples = JointSamples(robot.joint_names, read.t, read.q, read.qd, read.tau + size * push)
        found = unexplained_torque(builder.build(samples, edges), unknowns)
        assert found[:6].max() < 1e-6
        assert size <= found[6] <= 8.0 * size + 1e-6
    pushed = check_arm(robot, config, replace(read, tau=read.tau + push)).findings
    assert any(finding.kind == "noise" and finding.subject == "joint_7" for finding in pushed)


def test_an_idle_motor_that_brakes_is_not_connected_the_wrong_way_round(gen3: Problem) -> None:
    """As on a real double pendulum: others swing the joint, and the little that is read of its torque brakes."""
    good = simulated(gen3)
    idle = good.tau.copy()
    idle[:, 1] = -0.3 * good.qd[:, 1]
    check = check_arm(gen3.robot, IntervalIdentifierConfig(), replace(good, tau=idle), thorough=False)
    assert check.fit is not None and check.fit.joints[1].evidence == 0.0
    assert not kinds(check.findings) & {"torque_sign", LIKELY_SIGN}


def test_two_wrong_velocities_in_a_row_are_no_acceleration(gen3: Problem) -> None:
    good = simulated(gen3)
    wrong = good.qd.copy()
    wrong[500:502, 2] += np.array([3.0, -7.0])
    clean, found = (
        noise_levels(JointSamples(gen3.robot.joint_names, good.t, good.q, velocity, good.tau), 0.05).acceleration
        for velocity in (good.qd, wrong)
    )
    assert np.all(found <= 2.0 * clean)  # hundreds without the median, which may be the sample two beside
    largest = np.abs(np.diff(good.qd, axis=0) / np.diff(good.t)[:, None]).max(axis=0)
    np.testing.assert_allclose(clean, largest, rtol=0.01)  # where velocities rise or fall, all of them stay


def test_a_delay_is_measured(gen3: Problem) -> None:
    good = simulated(gen3)
    late = replace(good, tau=np.column_stack([np.interp(good.t - 0.015, good.t, x) for x in good.tau.T]))
    window = replace(IntervalIdentifierConfig().noise, model="window", torque_absolute=(20.0,))
    check = check_arm(gen3.robot, replace(IntervalIdentifierConfig(), noise=window), late)
    (finding,) = check.findings
    assert finding.kind == "delay"
    assert finding.mends[0].option == "signals.torque_delay"
    assert finding.mends[0].value == pytest.approx(0.015, abs=0.001)


def test_motor_currents_are_told_from_torques_by_their_constants(gen3: Problem) -> None:
    good = simulated(gen3)
    rounds = check_in_rounds(gen3.robot, IntervalIdentifierConfig(), replace(good, tau=good.tau / 13.0))
    signals = rounds.config.signals
    heavy = [k for k, unit in enumerate(spread(signals.torque_unit, 7, "")) if unit == "A"]
    assert {1, 3} <= set(heavy)
    # An unknown load and an unknown constant scale together; only the order of magnitude is certain.
    assert (np.abs(np.log(np.array(signals.torque_constant)[[1, 3]] / 13.0)) < np.log(3.0)).all()


@pytest.mark.parametrize(
    ("stated", "constant", "scale", "told", "mended"),
    [
        ("N mm", 1.0, 1.0, "seems to be in N m instead of N mm", ("N m", 1.0)),
        ("N mm", 1.0, 0.05, "is far below what gravity needs: motor current", ("A", 20.0)),
        ("A", 2.0, 10.0, "is far above what gravity needs: its torque constant is another", ("A", 0.1)),
    ],
)
def test_a_unit_that_is_stated_wrong_is_told_from_what_is_stated(
    gen3: Problem, stated: str, constant: float, scale: float, told: str, mended: tuple[str, float]
) -> None:
    """The lines that are printed turn the driver's number into N m, whatever stood there before."""
    good = simulated(gen3)
    units = tuple(stated if k == 1 else "A" for k in range(7))
    constants = tuple(constant if k == 1 else 1.0 for k in range(7))
    config = IntervalIdentifierConfig(signals=SignalsConfig(torque_unit=units, torque_constant=constants))
    tau = good.tau * np.where(np.arange(7) == 1, scale, 1.0)
    rounds = check_in_rounds(gen3.robot, config, replace(good, tau=tau))
    (finding,) = (finding for finding in rounds.findings if finding.kind == "torque_unit")
    assert finding.message.startswith(f"effort of 'joint_2' {told}")
    unit, factor = rounds.config.signals.torque_unit[1], np.array(rounds.config.signals.torque_constant)[1]
    assert unit == mended[0]
    if unit == "A":  # as above, only the order of magnitude is certain
        assert abs(np.log(factor / mended[1])) < np.log(3.0)
    assert rounds.is_mended


def test_a_missing_gripper_and_friction_of_the_other_side(shared_data: Path) -> None:
    """The paper's numbers, of motors' sides and with a gripper, on a log of joint sensors without one."""
    raw = read(shared_data, "joint_sensor_2")
    config = IntervalIdentifierConfig()
    rounds = check_in_rounds(load_robot("kinova_gen3"), config, raw)
    assert {"torque_sign", "mass", "viscous", "armature", "offset", "noise"} <= kinds(rounds.findings)
    text = " ".join(finding.message for finding in rounds.findings)
    assert "no gripper?" in text
    assert "what is stated is of the motors' side of the gears" in text
    assert rounds.is_mended  # with the lines that it prints
    assert "signals:" in parameter_lines(rounds.values)
    payload = replace(config, target="payload")
    assert check_in_rounds(load_robot("kinova_gen3"), payload, raw).values["variant"] == "bare"


def read(shared_data: Path, log: str) -> Signals:
    data = np.load(shared_data / "kinova_gen3_real" / f"{log}.npz")
    return Signals(data["t"], data["q"], data["qd"], data["tau"])


@pytest.mark.real_data
@pytest.mark.slow  # of simulated logs: above
@pytest.mark.parametrize("log", LOGS)
def test_whatever_was_done_to_a_real_log_is_found_on_every_joint(
    shared_data: Path, project_root: Path, log: str
) -> None:
    """Any joint flipped, and any subset of joints flipped, in N mm, or with positions and velocities in degrees; and
    nothing else is found."""
    robot = load_robot("kinova_gen3", variant="bare")
    config = load_yaml(IntervalIdentifierConfig, project_root / "config" / "kinova_gen3.yaml")
    good, rng = read(shared_data, log), np.random.default_rng(int(log[-1]))
    assert check_in_rounds(robot, config, good).findings == ()
    single, none = np.eye(7, dtype=bool), np.zeros((3, 7), dtype=bool)
    for spoils in [*(np.vstack([joint, none]) for joint in single), *(rng.random((5, 4, 7)) < 0.4)]:
        flip, mm, deg, deg_s = spoils
        spoilt = replace(
            good,
            q=np.where(deg, good.q / DEGREE, good.q),
            qd=np.where(deg_s, good.qd / DEGREE, good.qd),
            tau=good.tau * np.where(flip, -1.0, 1.0) * np.where(mm, 1000.0, 1.0),
        )
        rounds = check_in_rounds(robot, config, spoilt)
        found = rounds.config.signals
        assert spread(found.torque_sign, 7, "") == np.where(flip, 1.0, -1.0).tolist()
        assert spread(found.torque_unit, 7, "") == np.where(mm, "N mm", "N m").tolist()
        assert spread(found.position_unit, 7, "") == np.where(deg, "deg", "rad").tolist()
        assert spread(found.velocity_unit, 7, "") == np.where(deg_s, "deg/s", "rad/s").tolist()
        assert rounds.is_mended
        assert all("sign" in kind or "unit" in kind for kind in kinds(rounds.findings))


@pytest.mark.real_data
@pytest.mark.parametrize("log", LOGS)
def test_half_a_real_log_invents_nothing(shared_data: Path, project_root: Path, log: str) -> None:
    """Neither a delay that only one part of a run would have, nor an offset of a joint that turns one way."""
    robot = load_robot("kinova_gen3", variant="bare")
    config = load_yaml(IntervalIdentifierConfig, project_root / "config" / "kinova_gen3.yaml")
    whole = read(shared_data, log)
    count = len(whole)
    for part in (slice(0, count // 2), slice(count // 2, count), slice(count // 3, 2 * count // 3)):
        signals = Signals(whole.t[part], whole.q[part], whole.qd[part], whole.tau[part])
        found = check_in_rounds(robot, config, signals).findings
        assert [finding for finding in found if finding.kind != LIKELY_SIGN] == []


@pytest.mark.real_data
@pytest.mark.parametrize("run", ["jointwise_motion/ur-20_01_22-joint_2", "validation/ur-20_01_17-p2"])
def test_joints_at_rest_invent_nothing(shared_data: Path, project_root: Path, run: str) -> None:
    """One joint at a time, or none: encoders flicker, and friction holds what it likes of the weight."""
    folder = shared_data / "ur10e_payload"
    robot = load_robot("urdf", urdf=folder / "ur10e.urdf")
    config = load_yaml(IntervalIdentifierConfig, project_root / "config" / "ur10e.yaml")
    table = np.genfromtxt(folder / f"{run}.csv", delimiter=",", max_rows=2800)
    table = table[np.concatenate([[True], np.diff(np.maximum.accumulate(table[:, 0])) > 0.0])]
    drives = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])
    signals = Signals(table[:, 0], table[:, 1:7], table[:, 7:13], table[:, 13:19] * drives)
    assert dead_signals(robot, signals) == []
    assert check_arm(robot, config, signals).findings == ()


@pytest.mark.parametrize(
    ("weak", "all_of_them"), [((1.4, 1.1, 1.2), True), ((1.4, 1.1, -0.2), False), ((2.8, 1.9, -0.9), False)]
)
def test_a_sure_joint_and_others_that_say_the_same_are_all_joints(weak: tuple[float, ...], all_of_them: bool) -> None:
    """Evidence against the sign: of the first joint for sure, of the others each by itself not."""
    nothing = np.zeros(3)
    joints = tuple(
        JointFit(-1 if x > 0.0 else 1, abs(x), 1.0, 0.1, nothing, nothing, 0.0, 0.1, nothing) for x in (4.2, *weak)
    )
    names = tuple("abcd")
    found = sign_and_unit(
        ArmFit(joints, np.zeros(10), np.zeros(10), np.ones(4)), IntervalIdentifierConfig(), names, 0.0
    )
    assert [finding.subject for finding in found] == ["a", *["all joints"] * all_of_them]
    assert {mend.joint for finding in found for mend in finding.mends} == set(names if all_of_them else "a")


def test_friction_of_a_joint_that_turns_one_way_is_not_told_from_its_offset() -> None:
    rng, count = np.random.default_rng(0), 50
    t = 0.1 * np.arange(count)[:, None] + np.array([0.0, 0.1])
    motion = np.column_stack([np.ones(count), 0.5 + 0.2 * rng.random(count), rng.normal(size=count)])
    motion[:, 0] -= 1e-16 * rng.random(count)
    rigid = rng.normal(size=count)
    found = fit_joint(t, rigid + 0.3 * motion[:, 1] + 2.0, rigid, motion)
    assert found.offset == pytest.approx(2.0, abs=0.01)
    assert found.friction[0] == 0.0


def test_a_light_joint_that_turns_one_way_does_not_tell_its_sign() -> None:
    """An error that grows along the way looks like friction that gives energy; a load would tell."""
    rng, count = np.random.default_rng(0), 50
    t = 0.1 * np.arange(count)[:, None] + np.array([0.0, 0.1])
    speed = 0.5 + 0.01 * np.arange(count)
    motion = np.column_stack([np.ones(count), speed, np.full(count, 0.1)])
    reading = -0.3 * speed + 0.01 * rng.normal(size=count)
    assert fit_joint(t, reading, np.zeros(count), motion).evidence > SURE
    assert fit_joint(t, reading, np.zeros(count), motion, carries=False).evidence == 0.0
    motion[:, :2] *= np.where(np.arange(count) // 10 % 2, 1.0, -1.0)[:, None]
    turning = fit_joint(t, 0.3 * motion[:, 0] + 0.05 * rng.normal(size=count), np.zeros(count), motion, carries=False)
    assert turning.sign == 1
    assert turning.evidence > SURE


def test_an_arm_at_rest_is_no_contradiction(gen3: Problem) -> None:
    """Noise of positions and velocities has no common sign, and what holds the arm up is no offset."""
    rng, good = np.random.default_rng(2), simulated(gen3)
    rest = Signals(
        good.t,
        good.q[0] + 1e-5 * rng.normal(size=good.q.shape),
        1e-4 * rng.normal(size=good.q.shape),
        good.tau[0] + 0.05 * rng.normal(size=good.q.shape),
    )
    check = check_arm(gen3.robot, IntervalIdentifierConfig(), rest)
    assert check.findings == ()
    assert all(unit is not None and np.isnan(unit.ratio) for unit in check.units)


def test_a_joint_state_that_comes_late_is_left_out_and_a_clock_set_back_begins_anew() -> None:
    def kept(stamps: list[float]) -> list[float]:
        record = SignalRecord(("a",), DriverSignals(SignalsConfig(), 1))
        for stamp in stamps:
            record.take(RawJointState(stamp, ("a",), np.zeros(1), np.zeros(1), np.zeros(1)))
        return record.signals().t.tolist()

    assert kept([1.0, 2.0, 4.0, 3.0, 5.0]) == [1.0, 2.0, 4.0, 5.0]
    assert kept([8.0, 9.0, *np.arange(1.0, 2.1, 0.1)]) == pytest.approx(np.arange(1.0, 2.1, 0.1))


def test_the_signals_of_the_default_are_the_paper_s() -> None:
    assert IntervalIdentifierConfig().signals == SignalsConfig()


@pytest.mark.parametrize(("limit", "degrees"), [(20.0, False), (6.3, True), (np.inf, True)])
def test_a_joint_that_is_described_to_turn_several_times_does(limit: float, degrees: bool) -> None:
    """16 rad: within its limit as on a real pendulum, else no arm's joint gets there."""
    t = np.arange(2000) / 200.0
    q, close = 16.0 * np.sin(t), np.ones(len(t) - 1, dtype=bool)
    assert angle_units(t, q, 16.0 * np.cos(t), close, limit=limit, top_speed=30.0).degrees is degrees


def test_a_joint_that_creeps_over_its_encoders_steps_is_not_taken_for_one_in_degrees() -> None:
    """Single samples move by no step or by one, and those by one move 57 times as fast as the joint does."""
    t = np.arange(20000) / 1000.0
    speed = 3.5e-4 / 1e-3 / 57.0
    for unit in (1.0, 1.0 / DEGREE):
        q = unit * 3.5e-4 * np.floor(speed * t / 3.5e-4)
        found = angle_units(t, q, np.full_like(t, speed), np.full(len(t) - 1, True), limit=np.inf, top_speed=2.0)
        assert (found.degrees, found.ratio) == (unit > 1.0, pytest.approx(unit, rel=0.1))


def test_no_moment_of_an_honest_motion_tells_a_wrong_sign(project_root: Path) -> None:
    """A Gen3 with the motor side's friction and rotors, whose wrist mostly takes more to speed up than to hold.

    By gravity alone 42 of 200 such moments, of 0.3 to 1.5 s, told a wrong sign of joint 2, 4 or 6.
    """
    robot, motion = load_robot("kinova_gen3"), gen3_excitation()
    config, motor = load_yaml(IntervalIdentifierConfig, project_root / "config/kinova_gen3_simulated.yaml"), robot.motor
    for start, length in itertools.product(np.arange(1.5, 13.0, 1.0), (0.3, 1.0)):
        t = start + np.arange(0.0, length, 0.005)
        q, qd, qdd = motion(t)
        rigid = [
            pinocchio.rnea(robot.model, robot.model.createData(), *state) for state in zip(q, qd, qdd, strict=True)
        ]
        tau = np.array(rigid) + motor.coulomb * np.sign(qd) + motor.viscous * qd + motor.armature * qdd
        found = check_arm(robot, config, Signals(t, q, qd, tau), thorough=False).findings
        assert not found, (start, length, found)


def test_rest_tells_no_sign_however_long_it_lasts(gen3: Problem) -> None:
    """Signs are judged from two seconds of motion on, and not from the motion's first moments after a rest."""
    moving = simulated(gen3)
    wrong = moving.tau * np.array([1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    for motion, told in ((300, False), (1000, True)):  # 1.5 and 5 s
        rest = 1000
        q, tau = (np.concatenate([np.repeat(x[:1], rest, axis=0), x[:motion]]) for x in (moving.q, wrong))
        qd = np.concatenate([np.zeros((rest, 7)), moving.qd[:motion]])
        signals = Signals(np.arange(rest + motion) / 200.0, q, qd, tau)
        found = check_arm(gen3.robot, IntervalIdentifierConfig(), signals, thorough=False).findings
        assert any("friction" in item.message or "gravity" in item.message for item in found) is told, found
