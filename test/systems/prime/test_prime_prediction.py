# SPDX-License-Identifier: Apache-2.0
"""Where a solve begins: new stages by the sums of what IMU and encoders read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.data.config import from_flat
from sysid_nodes.models.discrete_motion import difference, discrete_motion, retract
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sensors import Samples, States
from sysid_nodes.sensors.accelerometer import Accelerometer
from sysid_nodes.sensors.gyroscope import Gyroscope
from sysid_nodes.sensors.late import LateSensor
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.systems.prime import Model, PrimeConfig, build_model
from sysid_nodes.systems.prime.initialisation import initial_trajectory
from sysid_nodes.systems.prime.prediction import predict
from sysid_nodes.systems.prime.problem import build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

KEPT, NEW = 12, 8


def guess(model: Model, q: Array, samples: Mapping[str, Samples], theta: Array | None = None) -> Array:
    """(NEW, nv) by what new stages are guessed off, from KEPT true ones of q (KEPT + NEW, nq)."""
    problem = build_problem(model, samples, KEPT + NEW, first_arrival(model, q[0]))
    start = initial_trajectory(problem, q, model.parameters.mean)
    theta = start.theta if theta is None else theta
    found = predict(Trajectory(q[:KEPT], start.w[:KEPT], theta), problem, samples, KEPT)
    np.testing.assert_array_equal(found.q[:KEPT], q[:KEPT])
    return difference(q[KEPT:], found.q[KEPT:])


@pytest.fixture(scope="module")
def trot() -> LeggedLog:
    return simulate(LeggedSimulationConfig(motion="trot"), 1.5, seed=11, skip=0.5)


@pytest.mark.parametrize(
    ("sensor", "part"),
    [("gyroscope", slice(3, 6)), ("accelerometer", slice(0, 3)), ("joint_velocity", slice(6, None))],
)
def test_every_reading_brings_the_guess_nearer(trot: LeggedLog, sensor: str, part: slice) -> None:
    """Without one, what it tells goes on at constant velocity: twice as far off at least, over ten windows."""
    model = build_model(trot.robot, simulated_config())

    def rms(missing: str) -> float:
        off = []
        for first in range(0, 70, 7):
            last = first + KEPT + NEW
            told = {name: own.between(first, last) for name, own in trot.steps.samples.items() if name != missing}
            off.append(guess(model, trot.q[first:last], told)[:, part])
        return float(np.sqrt(np.mean(np.square(off))))

    assert 2.0 * rms("") < rms(sensor)


def tumbling(robot: Robot) -> Array:
    """(KEPT + NEW, nq) of a robot that is thrown and turns ever faster about a slanted axis."""
    q = [np.concatenate([[0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0], np.zeros(robot.n)])]
    for k in range(KEPT + NEW - 1):
        step = np.full(robot.model.nv, 0.001 * k)
        step[:6] = [0.01, -0.005, 0.002 * k, 0.02 + 0.002 * k, 0.05, -0.03]
        q.append(retract(q[-1], step))
    return np.array(q)


def exact_readings(model: Model, q: Array, theta: Array) -> dict[str, Samples]:
    """Of an IMU on such a motion, by the sensors' own models."""
    motion = discrete_motion(q, model.config.step)
    inner = np.arange(1, len(q) - 1)
    samples = {}
    for sensor in model.sensors:
        if isinstance(sensor, LateSensor) and isinstance(sensor.inner, Gyroscope | Accelerometer):
            of = motion.mean_in(1)[inner - 1] if sensor.name == "gyroscope" else motion.velocity
            none = Samples(inner, np.zeros((len(inner), 3)), np.ones(len(inner)))
            own = theta[model.parameters.sensors[sensor.name]]
            read = sensor.inner.sigma * sensor.residual(none, States(q[inner], of, motion.acceleration), own)
            samples[sensor.name] = Samples(inner, read, none.weights)
    return samples


def test_an_imu_anywhere_on_the_base_tells_its_motion() -> None:
    """Thirty centimetres from the base's origin, its axes slanted, its biases known.

    Turns of half a radian are exact; the last stage has no reading. The way of 20 cm is told to a tenth of a
    millimetre: within a step the accelerometer turns, by the square of a twentieth of a radian.
    """
    link = {f"sensors.{name}.link": "radar" for name in ("gyroscope", "accelerometer")}
    model = build_model(load_robot("go2"), from_flat(PrimeConfig, {"step": 0.01, **link}))
    q, theta = tumbling(model.robot), model.parameters.mean.copy()
    theta[model.parameters.sensors["gyroscope"]][:3] = [0.2, -0.1, 0.3]
    theta[model.parameters.sensors["accelerometer"]][:3] = [1.0, 2.0, -1.0]
    off = guess(model, q, exact_readings(model, q, theta), theta)[:-1]
    np.testing.assert_allclose(off[:, 3:6], 0.0, atol=1e-9)
    np.testing.assert_allclose(off[:, :3], 0.0, atol=1e-4)


def test_what_nothing_is_read_of_goes_on_as_it_was(trot: LeggedLog) -> None:
    model, q = build_model(trot.robot, simulated_config()), trot.q[: KEPT + NEW]
    goes_on = [retract(q[KEPT - 1], difference(q[KEPT - 2], q[KEPT - 1]))]
    goes_on.append(retract(goes_on[0], difference(q[KEPT - 1], goes_on[0])))
    off = guess(model, q, {})
    np.testing.assert_allclose(off[:2, 3:], difference(q[KEPT : KEPT + 2], np.array(goes_on))[:, 3:], atol=1e-12)


def test_encoders_hold_joints_whose_speed_is_wrong(trot: LeggedLog) -> None:
    """By .5 rad/s, .04 rad in eight steps, of which a third is left where each goes a third back; offsets are known."""
    model = build_model(trot.robot, PrimeConfig())
    theta, samples = model.parameters.mean.copy(), dict(trot.steps.samples)
    theta[model.parameters.offsets] = 0.1
    for name, error in (("joint_velocity", 0.5), ("joint_position", 0.1)):
        samples[name] = replace(samples[name], values=samples[name].values + error)
    told = {name: own.between(0, KEPT + NEW) for name, own in samples.items()}
    drifting = {name: own for name, own in told.items() if name != "joint_position"}
    off, drift = (guess(model, trot.q[: KEPT + NEW], own, theta)[-1, 6:].mean() for own in (told, drifting))
    assert drift == pytest.approx(0.04, abs=0.005)
    assert off == pytest.approx(0.04 / 3.0, abs=0.005)
