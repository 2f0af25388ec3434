# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.actuator_stand import NOISE, chirped, leg

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError, ExcitationError, InputError, LogError, SamplesError
from sysid_nodes.logs.actuator_table import read_actuator_table
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.results.actuators import ActuatorResult, ActuatorStatus
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.systems.actuators import ActuatorConfig, identify, identify_actuators, replay_log

CONFIG = ActuatorConfig()


@pytest.fixture(scope="module")
def told() -> ActuatorResult:
    """What a chirp to 4 Hz tells."""
    return identify_actuators(chirped()[1], leg(), CONFIG)


def test_the_truth_is_recovered_though_it_holds_what_the_law_lacks(told: ActuatorResult) -> None:
    """Stribeck's friction is a tenth of Coulomb's: that is what Coulomb's is wrong by at most."""
    drives, _ = chirped()
    assert not told.findings
    for j, joint in enumerate(told.joints):
        for name, relative in (("armature", 0.1), ("viscous", 0.25), ("coulomb", 0.1)):
            found = joint.parameter(name)
            assert found.estimate == pytest.approx(getattr(drives, name)[j], rel=relative), (joint.name, name)
        assert joint.parameter("delay").estimate == pytest.approx(drives.delay[j], abs=6e-4)
        assert joint.parameter("encoder_bias").estimate == pytest.approx(drives.encoder_bias[j], abs=2e-3)
        assert joint.replay.rmse < 1.5 * NOISE


def test_a_replay_of_another_run_needs_nothing_but_its_commands(told: ActuatorResult) -> None:
    _, other = chirped(last=2.0)
    errors = [error for _, _, error in replay_log(other, leg(), [joint.law for joint in told.joints], CONFIG)]
    assert max(error.rmse for error in errors) < 2.0 * NOISE
    assert all(error.mae <= error.rmse <= error.worst for error in errors)


def test_what_a_slow_motion_cannot_tell_is_no_value_and_a_telling_motion_is_named() -> None:
    drives, log = chirped(last=0.15)
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
    assert any(joint.parameter("armature").advice for joint in result.joints)


def test_the_verdict_is_there_before_anything_is_fitted(told: ActuatorResult) -> None:
    for joint in told.joints:
        assert joint.before.names == CONFIG.fitted.names
        assert 1.0 < joint.before.condition < 1e4
        np.testing.assert_allclose(np.diag(joint.before.correlation), 1.0)
        assert joint.verdict.partner("armature")[0] in ("delay", "viscous")


def test_gains_in_another_unit_are_a_contradiction_and_no_value_comes_out() -> None:
    _, log = chirped()
    wrong = replace(log, stiffness=log.stiffness * np.pi / 180.0, damping=log.damping * np.pi / 180.0)
    result = identify_actuators(wrong, leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "are their units right?" in result.findings[0]
    assert not any(p.identifiable for joint in result.joints for p in joint.parameters)


@pytest.mark.parametrize("sure", [True, False])
def test_a_strength_that_is_not_sure_refutes_nothing(monkeypatch: pytest.MonkeyPatch, sure: bool) -> None:
    """Other gains explain the motion twice as well; whether they contradict the stated ones is their interval's."""
    _, log = chirped()
    off = replace(log, stiffness=0.5 * log.stiffness, damping=0.5 * log.damping)
    if not sure:
        monkeypatch.setattr(identify, "_surely_outside", lambda *_: False)
    result = identify_actuators(off, leg(), CONFIG)
    assert result.status is (ActuatorStatus.CONTRADICTION if sure else ActuatorStatus.PARTIAL)
    assert any(("right?" if sure else "this motion does not tell which") in text for text in result.findings)
    assert any(all(not p.identifiable for p in joint.parameters) for joint in result.joints)


def test_a_clock_that_makes_motion_late_is_a_contradiction() -> None:
    _, log = chirped(last=2.0)
    result = identify_actuators(replace(log, t=log.t + 0.08), leg(), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "are their stamps of one clock?" in result.findings[0]
    assert not any(p.identifiable for joint in result.joints for p in joint.parameters)


def test_a_hole_in_the_log_is_left_out(told: ActuatorResult) -> None:
    drives, log = chirped()
    kept = (log.t < 5.0) | (log.t > 5.4)
    result = identify_actuators(replace(log, t=log.t[kept], q=log.q[kept]), leg(), CONFIG)
    assert "no readings" in result.findings[0]
    for j, joint in enumerate(result.joints):
        assert joint.parameter("coulomb").estimate == pytest.approx(drives.coulomb[j], rel=0.1)
        assert joint.replay.rmse < 1.5 * NOISE


def test_irregular_stamps_change_little(told: ActuatorResult) -> None:
    _, log = chirped()
    rng = np.random.default_rng(5)
    t = log.t + 1e-3 * rng.uniform(-1.0, 1.0, len(log.t))
    q = np.stack([np.interp(t, log.t, column) for column in log.q.T], axis=1)
    result = identify_actuators(replace(log, t=t, q=q), leg(), CONFIG)
    for one, other in zip(result.joints, told.joints, strict=True):
        assert one.parameter("coulomb").estimate == pytest.approx(other.parameter("coulomb").estimate, rel=0.03)
        assert one.law[INDEX["delay"]] == pytest.approx(other.law[INDEX["delay"]], abs=5e-4)


def with_columns(log: ActuatorLog, order: list[int]) -> ActuatorLog:
    return replace(log, q=log.q[:, order])


def stopped(log: ActuatorLog) -> ActuatorLog:
    q = log.q.copy()
    q[:, 1] = np.minimum(q[:, 1], np.quantile(q[:, 1], 0.6))
    return replace(log, q=q)


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
    ("short", lambda log: log.between(0.0, 0.1), ExcitationError, "at least 50 are needed"),
]


@pytest.mark.parametrize(("spoil", "error", "message"), [bad[1:] for bad in BAD], ids=[bad[0] for bad in BAD])
def test_what_is_wrong_with_a_log_is_named(spoil: Any, error: type[InputError], message: str) -> None:
    with pytest.raises(error, match=message):
        identify_actuators(spoil(chirped()[1]), leg(), CONFIG)


def test_a_log_of_another_robot_is_refused() -> None:
    with pytest.raises(LogError, match="has no joint 'FR_hip_joint' of robot 'go2'"):
        identify_actuators(chirped()[1], load_robot("go2"), CONFIG)


def held(q: np.ndarray, times: int) -> np.ndarray:
    """Readings of which only every so many-th is new."""
    return q[times * (np.arange(len(q)) // times)]


def test_readings_that_a_driver_sends_again_are_named_and_move_no_delay(told: ActuatorResult) -> None:
    _, log = chirped()
    result = identify_actuators(replace(log, q=held(log.q, 2)), leg(), CONFIG)
    assert any("send the readings before them again" in text for text in result.findings)
    for one, other in zip(result.joints, told.joints, strict=True):
        # Half of 5 ms is what they would add to it.
        assert one.law[INDEX["delay"]] == pytest.approx(other.law[INDEX["delay"]], abs=5e-4)
        assert one.parameter("coulomb").estimate == pytest.approx(other.parameter("coulomb").estimate, rel=0.03)


def test_a_coarse_encoder_repeats_itself_and_may() -> None:
    _, log = chirped()
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
        ({"stiffness": np.array([1.0, np.nan, 1.0])}, "stiffness of joint 'FL_thigh_joint' is not finite"),
        ({"damping": np.array([1.0, 1.0, -1.0])}, "damping of joint 'FL_calf_joint' is negative"),
        ({"names": ("a", "a", "b")}, "a name of its own"),
    ],
)
def test_arrays_that_are_no_log_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SamplesError, match=message):
        replace(chirped()[1], **change)


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
    assert all(joint.parameter("coulomb").identifiable for joint in result.joints)


@pytest.mark.real_data
def test_a_part_of_a_real_chirp_refutes_no_gains_that_the_whole_bears_out(shared_data: Any) -> None:
    """A drive of half its strength explains the slow part better, by friction that no law has; whole logs refute it."""
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_1.npz", load_robot("go2").joint_names)
    result = identify_actuators(log.between(0.0, 20.0), limb(load_robot("go2"), "RR_"), CONFIG)
    assert result.status is ActuatorStatus.PARTIAL
    assert any("'RR_hip_joint'" in text and "does not tell which" in text for text in result.findings)
    assert not any(p.identifiable for p in result.joints[0].parameters)
    assert all(joint.parameter("coulomb").identifiable for joint in result.joints[1:])


@pytest.mark.real_data
@pytest.mark.parametrize("duration", [12.0, 24.0])
def test_gains_of_a_real_robot_in_another_unit_contradict_it(shared_data: Any, duration: float) -> None:
    """Drives sixty times too weak sag out of every fit that goes on from where the one without a gain has ended."""
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_4.npz", load_robot("go2").joint_names)
    assert log.stiffness is not None and log.damping is not None
    wrong = replace(log, stiffness=log.stiffness * np.pi / 180.0, damping=log.damping * np.pi / 180.0)
    result = identify_actuators(wrong.between(0.0, duration), limb(load_robot("go2"), "FL_"), CONFIG)
    assert result.status is ActuatorStatus.CONTRADICTION
    assert "are their units right?" in result.findings[0]
