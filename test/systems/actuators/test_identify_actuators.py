# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shared.actuator_stand import NOISE, chirp_log, leg
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError, ExcitationError, InputError, LogError, SamplesError
from sysid_nodes.logs.actuator_table import read_actuator_table
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.results.actuators import ActuatorResult, ActuatorStatus
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.systems.actuators import ActuatorConfig, identify, identify_actuators, objection, replay_log
from sysid_nodes.systems.actuators.excitation import ExcitationConfig
from sysid_nodes.systems.actuators.preparation import _columns

CONFIG = ActuatorConfig()


@pytest.fixture(scope="module")
def told() -> ActuatorResult:
    """What a chirp to 4 Hz tells."""
    return identify_actuators(chirp_log()[1], leg(), CONFIG)


def test_the_truth_is_recovered_though_it_holds_what_the_law_lacks(told: ActuatorResult) -> None:
    """Stribeck's friction is a tenth of Coulomb's: that is what Coulomb's is wrong by at most."""
    drives, _ = chirp_log()
    assert not told.findings
    for j, joint in enumerate(told.joints):
        for name, relative in (("armature", 0.1), ("viscous", 0.25), ("coulomb", 0.1)):
            found = joint.parameter(name)
            assert found.estimate == pytest.approx(getattr(drives, name)[j], rel=relative), (joint.name, name)
        assert joint.parameter("delay").estimate == pytest.approx(drives.delay[j], abs=6e-4)
        assert joint.parameter("encoder_bias").estimate == pytest.approx(drives.encoder_bias[j], abs=2e-3)
        assert joint.replay.rmse < 1.5 * NOISE


def test_a_replay_of_another_run_needs_nothing_but_its_commands(told: ActuatorResult) -> None:
    _, other = chirp_log(last=2.0)
    errors = [error for _, _, error in replay_log(other, leg(), [joint.law for joint in told.joints], CONFIG)]
    assert max(error.rmse for error in errors) < 2.0 * NOISE
    assert all(error.mae <= error.rmse <= error.worst for error in errors)


def test_what_a_slow_motion_cannot_tell_is_no_value_and_a_telling_motion_is_named() -> None:
    drives, log = chirp_log(last=0.15)
    result = identify_actuators(log, leg(), CONFIG)
    assert result.status is ActuatorStatus.PARTIAL
    held = []
    for j, joint in enumerate(result.joints):
        armature = joint.parameter("armature")
        assert armature.estimate is None
        assert "known to" in armature.reason
        held.append(armature.lower < drives.armature[j] < armature.upper)
        assert joint.parameter("encoder_bias").identifiable
    assert sum(held) >= 2  # of three 95 % intervals
    said = [joint.parameter("armature").advice for joint in result.joints]
    calls = [re.search(r"\(sysid excite (.*)\)$", text) for text in said if text]
    assert calls
    for call in calls:  # what is advised is what the command takes
        assert call is not None
        settings = re.findall(r"--set (\S+)=(\S+)", call[1])
        ExcitationConfig(**{name: float(value) for name, value in settings})


def test_the_verdict_is_there_before_anything_is_fitted(told: ActuatorResult) -> None:
    for joint in told.joints:
        assert joint.before.names == CONFIG.fitted.names
        assert 1.0 < joint.before.condition < 1e4
        np.testing.assert_allclose(np.diag(joint.before.correlation), 1.0)
        assert joint.verdict.partner("armature")[0] in ("delay", "viscous")


def test_gains_in_another_unit_are_a_contradiction_and_no_value_comes_out() -> None:
    _, log = chirp_log()
    wrong = replace(log, stiffness=log.stiffness * np.pi / 180.0, damping=log.damping * np.pi / 180.0)
    result = identify_actuators(wrong, leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "are their units right?" in result.findings[0]
    assert not any(p.identifiable for joint in result.joints for p in joint.parameters)


@pytest.mark.parametrize("sure", [True, False])
def test_a_strength_that_is_not_sure_refutes_nothing(monkeypatch: pytest.MonkeyPatch, sure: bool) -> None:
    """Other gains explain the motion twice as well; whether they contradict the stated ones is their interval's."""
    _, log = chirp_log()
    off = replace(log, stiffness=0.5 * log.stiffness, damping=0.5 * log.damping)
    if not sure:
        monkeypatch.setattr(objection, "surely_outside", lambda *_: False)
        monkeypatch.setattr(identify, "describe_common_strength", lambda *_: ("", False))
    result = identify_actuators(off, leg(), CONFIG)
    assert result.status is (ActuatorStatus.CONTRADICTION if sure else ActuatorStatus.PARTIAL)
    assert any(("right?" if sure else "this motion does not tell which") in text for text in result.findings)
    assert any(all(not p.identifiable for p in joint.parameters) for joint in result.joints)
    assert not (sure and any(p.identifiable for joint in result.joints for p in joint.parameters))


@pytest.mark.parametrize("factor", [1.4, pytest.param(1.0 / 1.4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("damping", [True, False])
def test_a_stiffness_that_is_stated_wrong_for_all_drives_is_named(factor: float, damping: bool) -> None:
    """Each joint's motion alone might be friction that the law lacks; three that agree are not."""
    _, log = chirp_log()
    off = replace(log, stiffness=factor * log.stiffness, damping=(factor if damping else 1.0) * log.damping)
    result = identify_actuators(off, leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    if factor < 1.0 and not damping:  # the damping that is stated is then too large: less than no friction is left
        assert result.findings[0].startswith("viscous of 3 of 3 joints comes out below its physical bound; are their")
    else:
        assert "as strong as" in result.findings[0]
    assert "right?" in result.findings[0]
    assert not any(p.identifiable for joint in result.joints for p in joint.parameters)


def test_a_gain_that_is_a_little_off_is_in_the_intervals_and_said() -> None:
    """1.1 times the stiffness moves the estimates by more than their sigmas, and armature by a quarter."""
    drives, log = chirp_log()
    off = replace(log, stiffness=1.1 * log.stiffness, damping=1.1 * log.damping)
    result = identify_actuators(off, leg(), CONFIG)
    assert result.status is ActuatorStatus.PARTIAL
    assert sum("as strong as its stated gains" in text for text in result.findings) == len(result.joints)
    for j, joint in enumerate(result.joints):
        for name in ("armature", "viscous", "coulomb"):
            found = joint.parameter(name)
            assert found.lower < getattr(drives, name)[j] < found.upper, (joint.name, name)


def test_one_drive_that_contradicts_its_gains_leaves_no_joint_a_value() -> None:
    """Whoever states one gain in degrees has stated more: the other joints' intervals are withheld, too."""
    _, log = chirp_log()
    off = replace(log, stiffness=log.stiffness * [1.0, 1.0, 0.3], damping=log.damping * [1.0, 1.0, 0.3])
    result = identify_actuators(off, leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "'FL_calf_joint'" in result.findings[0]
    for joint in result.joints:
        for found in joint.parameters:
            assert found.estimate is None, (joint.name, found)
            assert found.reason == result.findings[0]
            assert (found.lower, found.upper) == (-np.inf, np.inf)


def test_a_clock_that_makes_motion_late_is_a_contradiction() -> None:
    _, log = chirp_log(last=2.0)
    result = identify_actuators(replace(log, t=log.t + 0.08), leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "are their stamps of one clock?" in result.findings[0]
    assert not any(p.identifiable for joint in result.joints for p in joint.parameters)


def test_friction_below_zero_is_no_friction_of_zero() -> None:
    """A damping that is stated half a newton metre second too large leaves less than none for the joints."""
    _, log = chirp_log()
    result = identify_actuators(replace(log, damping=log.damping + 0.5), leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    for joint in result.joints:
        viscous = joint.parameter("viscous")
        assert viscous.estimate is None, viscous
        assert "below its physical bound" in viscous.reason
        assert not any(p.identifiable for p in joint.parameters)


def test_one_joint_that_asks_for_less_friction_than_none_takes_its_own_values_alone() -> None:
    """It may rub in a way that the law lacks; that gains are wrong takes more than one of three."""
    _, log = chirp_log()
    off = replace(log, damping=log.damping + np.array([0.0, 0.0, 0.5]))
    result = identify_actuators(off, leg(), CONFIG)
    assert result.status is ActuatorStatus.PARTIAL
    assert [any(p.identifiable for p in joint.parameters) for joint in result.joints] == [True, True, False]


@pytest.mark.parametrize(
    ("last", "early"),
    mark_slow(
        itertools.product([2.0, 4.0], [0.010, 0.025, 0.040, 0.070]),
        but=[(4.0, 0.010), (2.0, 0.025)],
    ),
)
def test_a_clock_that_makes_motion_early_is_a_contradiction(last: float, early: float) -> None:
    """The drives' delays are 2 to 7 ms; what is early by more has been stamped by another clock."""
    drives, log = chirp_log(last=last)
    result = identify_actuators(replace(log, t=log.t - early), leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "ms before its command; are their stamps of one clock, and its gains right?" in result.findings[0]
    said = float(result.findings[0].split(" moves ")[1].split(" ms")[0])
    # The 2 Hz chirp trades some of the delay with armature: the first joint's comes out within 1 ms.
    assert said == pytest.approx(1e3 * (early - drives.delay[0]), abs=1.0)
    assert not any(p.identifiable for joint in result.joints for p in joint.parameters)


def test_a_clock_that_is_early_by_less_than_a_sample_takes_the_delays_and_nothing_else() -> None:
    drives, log = chirp_log()
    result = identify_actuators(replace(log, t=log.t - 0.004), leg(), CONFIG)
    assert result.status is ActuatorStatus.PARTIAL
    assert "stamps are of two clocks, and no joint's delay can be told" in result.findings[0]
    for j, joint in enumerate(result.joints):
        assert not joint.parameter("delay").identifiable
        assert joint.parameter("delay").lower == -np.inf
        # A delay that is held at zero would make the first joint's armature half a percent wrong, its friction more.
        for name in ("armature", "viscous"):
            found = joint.parameter(name)
            assert found.lower < getattr(drives, name)[j] < found.upper, (joint.name, name)


def test_a_hole_in_the_log_is_left_out(told: ActuatorResult) -> None:
    drives, log = chirp_log()
    kept = (log.t < 5.0) | (log.t > 5.4)
    result = identify_actuators(replace(log, t=log.t[kept], q=log.q[kept]), leg(), CONFIG)
    assert "no readings" in result.findings[0]
    for j, joint in enumerate(result.joints):
        assert joint.parameter("coulomb").estimate == pytest.approx(drives.coulomb[j], rel=0.1)
        assert joint.replay.rmse < 1.5 * NOISE


def test_irregular_stamps_change_little(told: ActuatorResult) -> None:
    _, log = chirp_log()
    rng = np.random.default_rng(5)
    t = log.t + 1e-3 * rng.uniform(-1.0, 1.0, len(log.t))
    q = np.stack([np.interp(t, log.t, column) for column in log.q.T], axis=1)
    result = identify_actuators(replace(log, t=t, q=q), leg(), CONFIG)
    for one, other in zip(result.joints, told.joints, strict=True):
        assert one.parameter("coulomb").estimate == pytest.approx(other.parameter("coulomb").estimate, rel=0.03)
        assert one.law[INDEX["delay"]] == pytest.approx(other.law[INDEX["delay"]], abs=5e-4)


def with_columns(log: ActuatorLog, order: list[int]) -> ActuatorLog:
    return replace(log, q=log.q[:, order])


def stopped(log: ActuatorLog, above: float = 0.6) -> ActuatorLog:
    q = log.q.copy()
    q[:, 1] = np.minimum(q[:, 1], np.quantile(q[:, 1], above))
    return replace(log, q=q)


def limp(log: ActuatorLog, joint: int) -> ActuatorLog:
    """Gains of zero, and a feed-forward torque that is zero, too, as a passive LowCmd has."""
    kept = np.arange(3) != joint
    return replace(log, stiffness=log.stiffness * kept, damping=log.damping * kept, torque=0.0 * log.command)


def still(log: ActuatorLog, joint: int) -> np.ndarray:
    q = log.q.copy()
    q[:, joint] = q[0, joint]
    return q


BAD: list[tuple[str, Any, type[InputError], str]] = [
    ("swapped", lambda log: with_columns(log, [0, 2, 1]), LogError, "'FL_thigh_joint' follows the command of 'FL_calf"),
    (
        "sign",
        lambda log: replace(log, q=log.q * [-1.0, 1.0, 1.0]),
        LogError,
        "'FL_hip_joint' moves against its command",
    ),
    ("clock", lambda log: replace(log, t=log.t - 0.15), LogError, "ms before its command"),
    ("stop", stopped, LogError, "'FL_thigh_joint' rests at"),
    ("stop often", lambda log: stopped(log, 0.85), LogError, "'FL_thigh_joint' rests at .* for [5-9] % of the time"),
    ("still", lambda log: replace(log, q=still(log, 2)), ExcitationError, "'FL_calf_joint' moved by 0 rad only"),
    ("quiet", lambda log: replace(log, command=0.0 * log.command), ExcitationError, "was commanded to move by 0 rad"),
    ("apart", lambda log: replace(log, t=log.t + 1e3), LogError, "no time in common"),
    ("gains", lambda log: replace(log, stiffness=None), ConfigError, "give it with law.stiffness"),
    (
        "one's",
        lambda log: replace(log, q=np.column_stack([log.q[:, :2], held(log.q[:, 2], 3)])),
        LogError,
        "'FL_calf_joint' repeats .* of its readings while it moves",
    ),
    ("again", lambda log: replace(log, q=held(log.q, 10)), LogError, "new ones come every 50 ms only"),
    ("stairs", lambda log: replace(log, q=held(log.q, 40)), LogError, "new ones come every 200 ms only"),
    ("limp", lambda log: limp(log, 2), LogError, "'FL_calf_joint' has a stiffness of 0 and is told no torque"),
    ("short", lambda log: log.between(0.0, 0.1), ExcitationError, "at least 50 are needed"),
]


@pytest.mark.parametrize(("spoil", "error", "message"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_what_is_wrong_with_a_log_is_named(spoil: Any, error: type[InputError], message: str) -> None:
    with pytest.raises(error, match=message):
        identify_actuators(spoil(chirp_log()[1]), leg(), CONFIG)


def test_a_log_that_has_a_joint_twice_is_refused() -> None:
    """Nobody knows which of its columns is the joint's."""
    twice: Any = SimpleNamespace(names=(*leg().joint_names, leg().joint_names[1]))
    with pytest.raises(LogError, match=rf"has joint '{leg().joint_names[1]}' twice of robot"):
        _columns(twice, leg())


def test_a_log_of_another_robot_is_refused() -> None:
    with pytest.raises(LogError, match="has no joint 'FR_hip_joint' of robot 'go2'"):
        identify_actuators(chirp_log()[1], load_robot("go2"), CONFIG)


def held(q: np.ndarray, times: int) -> np.ndarray:
    """Readings of which only every so many-th is new."""
    return q[times * (np.arange(len(q)) // times)]


def test_readings_that_a_driver_sends_again_are_named_and_move_no_delay(told: ActuatorResult) -> None:
    _, log = chirp_log()
    result = identify_actuators(replace(log, q=held(log.q, 2)), leg(), CONFIG)
    assert any("send the readings before them again" in text for text in result.findings)
    for one, other in zip(result.joints, told.joints, strict=True):
        # Half of 5 ms is what they would add to it.
        assert one.law[INDEX["delay"]] == pytest.approx(other.law[INDEX["delay"]], abs=5e-4)
        assert one.parameter("coulomb").estimate == pytest.approx(other.parameter("coulomb").estimate, rel=0.03)


def test_a_coarse_encoder_repeats_itself_and_may() -> None:
    _, log = chirp_log()
    result = identify_actuators(replace(log, q=np.round(log.q / 2e-3) * 2e-3), leg(), CONFIG)
    assert not any("again" in text for text in result.findings)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({f"fitted.{name}": False for name in INDEX}, "no parameter is to be fitted"),
        ({"shooting.horizons": []}, "'shooting.horizons' is empty"),
    ],
)
def test_a_configuration_without_sense_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_flat(ActuatorConfig, values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"q": np.zeros((3, 2))}, r"q must have shape \(2401, 3\)"),
        ({"stiffness": np.array([1.0, np.nan, 1.0])}, "stiffness of joint 'FL_thigh_joint' is not finite$"),
        ({"damping": np.array([1.0, 1.0, -1.0])}, "damping of joint 'FL_calf_joint' is negative"),
        ({"names": ("a", "a", "b")}, "a name of its own"),
    ],
)
def test_arrays_that_are_no_log_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SamplesError, match=message):
        replace(chirp_log()[1], **change)


@pytest.mark.real_data
def test_a_real_go2s_chirp_replays_another_run(shared_data: Any) -> None:
    """Targets of the benchmark: 3.5 mrad RMSE, 2.5 mrad MAE; hold-outs are judged at 4 mrad."""
    robot = load_robot("go2")

    def read(name: str) -> ActuatorLog:
        data = np.load(shared_data / "go2_actuator_chirps" / name)
        t = 0.005 * np.arange(len(data["time"]))
        return ActuatorLog(robot.joint_names, t, data["dof_pos"], t, data["des_dof_pos"], None, data["kp"], data["kd"])

    result = identify_actuators(read("traj_4.npz"), robot, CONFIG)
    found = replay_log(read("traj_6.npz"), robot, [joint.law for joint in result.joints], CONFIG)
    assert np.sqrt(np.mean([error.rmse**2 for _, _, error in found])) < 0.0035
    assert np.mean([error.mae for _, _, error in found]) < 0.0025
    # A 2 Hz chirp does not tell the hips' armature: prototypes found a third of its value as its sigma.
    hips = [joint for joint in result.joints if "hip" in joint.name]
    assert not any(joint.parameter("armature").identifiable for joint in hips)
    told = [joint.parameter("coulomb").identifiable for joint in result.joints]
    assert sum(told) >= len(told) - 2  # the front hips' strength is in doubt, and their friction with it
    # Of all drives together it is in doubt, too, by less than what refutes the stated gains.
    assert any("12 drives together seem" in text for text in result.findings)


@pytest.mark.real_data
@pytest.mark.slow  # of simulated drives: test_a_stiffness_that_is_stated_wrong_for_all_drives_is_named
def test_a_real_robots_stiffness_that_is_1_4_too_large_is_named(shared_data: Any) -> None:
    """Single joints' free gains scatter from 0.7 to 1.2 by friction that the law lacks; all twelve do not."""
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_4.npz", load_robot("go2").joint_names)
    assert log.stiffness is not None and log.damping is not None
    off = replace(log, stiffness=1.4 * log.stiffness, damping=1.4 * log.damping)
    result = identify_actuators(off, load_robot("go2"), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "as strong as" in result.findings[0]


@pytest.mark.real_data
def test_a_part_of_a_real_chirp_refutes_no_gains_that_the_whole_bears_out(shared_data: Any) -> None:
    """A drive of half its strength explains the slow part better, by friction that no law has; whole logs refute it."""
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_1.npz", load_robot("go2").joint_names)
    result = identify_actuators(log.between(0.0, 20.0), limb(load_robot("go2"), "RR_"), CONFIG)
    assert result.status is ActuatorStatus.PARTIAL
    assert any("'RR_hip_joint'" in text and "does not tell which" in text for text in result.findings)
    assert not any(p.identifiable for p in result.joints[0].parameters)
    assert sum("as strong as its stated gains; friction" in text for text in result.findings) == 2  # thigh and calf


@pytest.mark.real_data
@pytest.mark.parametrize("factor", mark_slow([0.5, 2.0], but=[2.0]))
def test_a_real_robots_stiffness_that_is_off_leaves_no_values(shared_data: Any, factor: float) -> None:
    """Stiffness alone: the damping is as it is, so that no gain of both makes up for it."""
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_4.npz", load_robot("go2").joint_names)
    assert log.stiffness is not None
    result = identify_actuators(replace(log, stiffness=factor * log.stiffness), limb(load_robot("go2"), "FL_"), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "right?" in result.findings[0]
    assert not any(p.identifiable for joint in result.joints for p in joint.parameters)


@pytest.mark.real_data
def test_a_real_log_whose_clock_is_off_keeps_its_values_or_says_so(shared_data: Any) -> None:
    """Delays of this robot are about 7 ms: early by 10 ms, motion precedes its command. Friction is what it was."""
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_4.npz", load_robot("go2").joint_names)
    result = identify_actuators(replace(log, t=log.t - 0.010), limb(load_robot("go2"), "FL_"), CONFIG)
    assert any("of two clocks" in text for text in result.findings)
    assert not any(joint.parameter("delay").identifiable for joint in result.joints)
    for joint, coulomb in zip(result.joints, (0.1624, 0.1740, 0.6623), strict=True):  # of the log as it is
        assert joint.parameter("coulomb").estimate == pytest.approx(coulomb, rel=0.01)
    assert not result.joints[2].parameter("armature").identifiable  # 0.0253 with the delay held at zero


@pytest.mark.real_data
@pytest.mark.slow  # of simulated drives: test_gains_in_another_unit_are_a_contradiction_and_no_value_comes_out
@pytest.mark.parametrize("duration", [12.0, 24.0])
def test_gains_of_a_real_robot_in_another_unit_contradict_it(shared_data: Any, duration: float) -> None:
    """Drives sixty times too weak sag out of every fit that goes on from where the one without a gain has ended."""
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_4.npz", load_robot("go2").joint_names)
    assert log.stiffness is not None and log.damping is not None
    wrong = replace(log, stiffness=log.stiffness * np.pi / 180.0, damping=log.damping * np.pi / 180.0)
    result = identify_actuators(wrong.between(0.0, duration), limb(load_robot("go2"), "FL_"), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "are their units right?" in result.findings[0]
