# SPDX-License-Identifier: Apache-2.0
"""Rows of motors behind coupled gears: exact torques balance, and a sign is certain where all that turns a motor is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.bare_arm import UR10

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows
from sysid_nodes.systems.interval.measured_windows import WindowMeasurer
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque
from sysid_nodes.systems.interval.unknowns import identify_payload, prismatic_travel

COUPLING = np.eye(6)
COUPLING[5, 4], COUPLING[2, 1] = 0.8, -0.5


def samples_and_truth(share: float) -> tuple[JointSamples, np.ndarray]:
    """A motion whose motors never turn round, with exact torques, and what they are made of (16 n,)."""
    robot, t = load_robot("ur10"), np.arange(0.0, 1.0, 0.001)
    n, centre = robot.n, known_box(robot, UR10.known_robot)[0]
    rate, size = np.linspace(2.0, 5.0, n), np.linspace(0.1, 0.05, n)
    speed = np.array([0.9, -0.8, 1.0, 0.7, 0.9, 0.8])
    q = speed * t[:, None] + size * np.sin(rate * t[:, None])
    qd, qdd = speed + size * rate * np.cos(rate * t[:, None]), -size * rate**2 * np.sin(rate * t[:, None])
    v, a = qd @ COUPLING.T, qdd @ COUPLING.T
    coulomb, viscous, armature, offset, gain = centre[10 * n :].reshape(5, n)
    need = standard_regressor(Chain.from_robot(robot), q, qd, qdd) @ centre[: 10 * n]
    load = np.linalg.solve(COUPLING.T, need.T).T + armature * a
    lossy = load / (1.0 - share * np.sign(v * load))  # a share of what is transmitted, the loss included
    given = lossy + coulomb * np.sign(v) + viscous * v + offset
    return JointSamples(robot.joint_names, t, q, qd, given / gain), np.concatenate([centre, np.full(n, share)])


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_exact_torques_balance_at_motors(share: float) -> None:
    robot, (samples, truth) = load_robot("ur10"), samples_and_truth(share)
    n, power = robot.n, np.ones(robot.n)
    lossy = share > 0.0
    drives = TransmittedTorque.of_point(truth, power) if lossy else None
    size = 16 * n if lossy else 15 * n
    nothing = identify_payload(n, robot.body_index(), truth[:size], np.zeros(size), UR10.prior.bounds)
    config = replace(UR10, noise=replace(UR10.noise, acceleration=(0.0,), velocity_error=(0.0,)))

    def balance(coupling: np.ndarray | None) -> float:
        rows = run_rows(
            robot, config, Run(samples, 0.0, "exact"), nothing, least=1, transmitted=drives, coupling=coupling
        )
        return float(np.abs(rows.coefficients @ truth[: rows.coefficients.shape[2]]).max())

    assert balance(COUPLING) < 1e-3  # trapezoids of 1 ms, and torques that change sign within one
    assert balance(None) > 2.0


def test_a_motor_s_sign_needs_all_joints_that_turn_it() -> None:
    robot, t = load_robot("ur10"), 0.01 * np.arange(20.0)
    qd = np.tile([0.5, 0.5, 0.5, 0.5, 0.1, 0.06], (20, 1))  # motor 5 turns with .14
    samples = JointSamples(robot.joint_names, t, t[:, None] * qd, qd, np.zeros_like(qd))
    chain = Chain.from_robot(robot)

    def certain(error: float, coupling: np.ndarray | None) -> np.ndarray:
        config = replace(UR10.noise, velocity_error=(error,), acceleration=(0.0,))
        noise = Noise.from_config(config, 6, robot.encoder_step)
        measurer = WindowMeasurer(Reach(chain, prismatic_travel(robot)), noise, np.zeros(6), coupling)
        return measurer.measure(samples, np.array([[0, 19]])).windows.sign_certain[0]

    assert certain(0.07, COUPLING).tolist() == [True, True, True, True, True, True]
    # .5 - .25 for the elbow's motor; of 1.8 errors of .079 at the last
    assert certain(0.079, COUPLING).tolist() == [True, True, True, True, True, False]
    # of 1.5 errors of .2 at the elbow's motor, though its joints turn it against each other
    assert certain(0.2, COUPLING).tolist() == [True, True, False, True, False, False]
    assert certain(0.07, None).tolist() == [True, True, True, True, True, False]


def test_itemised_errors_are_refused() -> None:
    robot, (samples, truth) = load_robot("ur10"), samples_and_truth(0.0)
    nothing = identify_payload(6, robot.body_index(), truth[:90], np.zeros(90), UR10.prior.bounds)
    config = replace(UR10, noise=replace(UR10.noise, model="itemised"))
    with pytest.raises(ConfigError, match=r"with coupled gears 'noise.model' must be window"):
        run_rows(robot, config, Run(samples, 0.0, "exact"), nothing, coupling=COUPLING)
