# SPDX-License-Identifier: Apache-2.0
"""From arrays to proven bounds, without ROS and without files: a Kinova Gen3 that holds 2.5 kg.

python examples/identify_from_arrays.py
"""

from __future__ import annotations

import argparse

import numpy as np
import pinocchio

from sysid_nodes.data import PARAMETER_NAMES, JointSamples
from sysid_nodes.data.config import from_flat
from sysid_nodes.data.inertia import com_to_parameters
from sysid_nodes.results import IdentificationResult
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.arm import gen3_excitation
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

PAYLOAD = com_to_parameters(2.5, np.array([0.01, -0.005, -0.18]), np.diag([0.010, 0.009, 0.003]))


def measure(robot: Robot, seconds: float, rate: float) -> tuple[JointSamples, np.ndarray]:
    """An exciting motion, the torques of the loaded arm with 2 % noise, and the true ten parameters."""
    t = np.arange(0.0, seconds, 1.0 / rate)
    q, qd, qdd = gen3_excitation()(t)
    truth = robot.inertial_parameters()[-1] + PAYLOAD
    model = robot.model.copy()
    model.inertias[robot.n] = pinocchio.Inertia.FromDynamicParameters(truth)
    data = model.createData()
    tau = np.array([pinocchio.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
    motor = robot.motor
    tau += motor.coulomb * np.sign(qd) + motor.viscous * qd + motor.armature * qdd + motor.offset
    tau /= 1.0 + np.random.default_rng(0).uniform(-0.02, 0.02, tau.shape)  # error as a share of the reading
    return JointSamples(robot.joint_names, t, q, qd, tau), truth


def main(argv: list[str] | None = None) -> tuple[IdentificationResult, np.ndarray]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=7.5)
    args = parser.parse_args(argv)

    robot = load_robot("kinova_gen3")
    samples, truth = measure(robot, args.seconds, rate=1000.0)
    config = from_flat(
        IntervalIdentifierConfig,
        {"robot": "kinova_gen3", "noise.torque_relative": [0.02], "noise.acceleration": [4.0]},
    )
    pipeline = IntervalPipeline(robot, config)
    pipeline.identify(samples)
    result = pipeline.finish()

    print(f"{result.status.name}: {result.status.message}  ({result.solve_time:.2f} s)")
    rows = zip(PARAMETER_NAMES, result.lower, result.upper, result.nominal, truth, strict=True)
    for name, lower, upper, nominal, true in rows:
        print(f"  {name:5s} {lower:9.4f} .. {upper:9.4f}   nominal {nominal:9.4f}   truth {true:9.4f}")
    return result, truth


if __name__ == "__main__":
    main()
