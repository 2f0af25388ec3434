# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from shared.actuator_stand import POSTURE, chirp_log, leg

from benchmarks import actuators_rig_trial as rig
from benchmarks.actuators_rig_trial import OracleScore, Trial
from benchmarks.actuators_truth import tune_gains
from benchmarks.peers.bench_model import BenchModel, fit_bench, loss, predict
from benchmarks.peers.coupled_robot import CoupledRobot, Drives
from benchmarks.servo_rig import Servo, bar, fourier_command, run_servo
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.logs.actuator_table import read_actuator_table
from sysid_nodes.models.actuator import INDEX, law_vector
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators, replay_log
from sysid_nodes.systems.actuators.excitation import ExcitationConfig, excite
from sysid_nodes.systems.actuators.methods import smooth_joint
from sysid_nodes.systems.actuators.preparation import prepare
from sysid_nodes.systems.actuators.replay import replay_error, replay_joint


def test_the_bench_models_derivative_is_that_of_differences() -> None:
    rng = np.random.default_rng(1)
    weights, inputs, wanted = rng.standard_normal(8705), rng.standard_normal((20, 2)), rng.standard_normal(20)
    slope = loss(weights, inputs, wanted)[1]
    for direction in rng.standard_normal((3, len(weights))):
        ends = [loss(weights + sign * 1e-7 * direction, inputs, wanted)[0] for sign in (1.0, -1.0)]
        assert np.isclose(slope @ direction, (ends[0] - ends[1]) / 2e-7, rtol=1e-5)


def test_the_bench_model_is_the_stands_torque_where_it_was_measured() -> None:
    rng = np.random.default_rng(2)
    servo = Servo.draw(rng)
    model: BenchModel = fit_bench(servo, rng)
    duty, speed = rng.uniform(-0.9, 0.9, 500), rng.uniform(1.0, 4.0, 500)
    torque = servo.stand_torque(duty, speed)
    off = predict(model, np.stack([duty, speed], axis=1)) - torque
    assert np.sqrt(np.mean(off**2)) < 0.05 * np.std(torque)


def test_a_servo_of_the_rig_is_the_same_when_read_from_its_record() -> None:
    trial = Trial(
        errors={"network": {"inside": 1e-3}},
        ratios={"network": {"inside": 1.0}},
        gave_way={"network": True},
        oracle=OracleScore(0.03, 0.04, 0.95),
        free={0.002: 1e-3},
        free_error=0.2,
        sweeps={"weight": {"residual": {0.0: 1e-3, 1e-4: np.float64(2e-3)}}},
    )
    assert Trial.from_record(json.loads(json.dumps(trial.record()))) == trial


def test_a_structured_fit_weighs_velocities_and_is_measured_for_each_weight() -> None:
    """The sweep's law is fitted anew: without a weight it stays near the fitted one, with one it moves, and replays."""
    rng = np.random.default_rng(3)
    run = run_servo(Servo.draw(rng), *fourier_command(5.0, rng, span=0.8, speed=3.0), rng=rng)
    motion = prepare(run.log, bar(), rig._BASE)[0]
    law = rig._law(motion, rig._BASE)
    smoothed = smooth_joint(motion, law, rig._BASE)
    errors = []
    for weight in (0.0, 1.0):
        found = rig.weigh_speed(smoothed, law, rig._BASE, weight)
        errors.append(replay_error(motion, replay_joint(motion, found, rig._BASE)).mae)
    assert errors[0] != errors[1]
    assert max(errors) < 0.01  # rad: the law's own is 1 mrad


@pytest.mark.slow
def test_gains_tuned_in_a_model_follow_better_there() -> None:
    drives, log = chirp_log()
    config = ActuatorConfig()
    result = identify_actuators(log, leg(), config)
    wanted = excite(ExcitationConfig(kind="fourier", duration=3.0, last=2.0), leg().limits, POSTURE)
    stiffness, damping = tune_gains(result, leg(), drives, wanted, config)
    assert (stiffness >= drives.stiffness).all() and (damping > 0.0).all()
    laws = [joint.law for joint in result.joints]
    errors = []
    for gains in ((drives.stiffness, drives.damping), (stiffness, damping)):
        log = ActuatorLog(leg().joint_names, wanted.t, wanted.q, wanted.t, wanted.q, None, *gains)
        errors.append(np.array([error.rmse for _, _, error in replay_log(log, leg(), laws, config)]))
    assert (errors[1] < 0.6 * errors[0]).all()


@pytest.mark.real_data
def test_joints_one_by_one_move_as_the_whole_robot_does(shared_data: Path) -> None:
    """A leg of a real Go2: the encoders' noise is about a milliradian."""
    robot, config = limb(load_robot("go2"), "FL_"), ActuatorConfig()
    log = read_actuator_table(shared_data / "go2_actuator_chirps" / "traj_4.npz", load_robot("go2").joint_names)
    assert log.stiffness is not None and log.damping is not None
    gains = log.stiffness[:3], log.damping[:3]
    log = ActuatorLog(robot.joint_names, log.t, log.q[:, :3], log.command_t, log.command[:, :3], None, *gains)
    law = law_vector({"armature": 0.015, "viscous": 0.1, "coulomb": 0.2, "encoder_bias": 0.004, "delay": 0.007})
    own = replay_log(log, robot, [law] * 3, config)
    names = ("armature", "viscous", "coulomb", "encoder_bias", "delay")
    drives = Drives(*(np.full(3, law[INDEX[name]]) for name in names))
    coupled = CoupledRobot(robot, 1e-3).replay(log, [drives])[0]
    alone = np.stack([np.interp(log.t, motion.t, position) for motion, position, _ in own], axis=1)
    assert np.sqrt(np.mean((coupled - alone) ** 2)) < 1e-3
