# SPDX-License-Identifier: Apache-2.0
"""Stands in for your robot: records one run without and one with a payload, as rosbag2 (MCAP).

    python examples/own_arm/record_logs.py --out bags

writes bags/unloaded and bags/loaded, each with /joint_states at 500 Hz. The real arm differs from own_arm.urdf, has
friction that no URDF tells, and its sensors err; all of it stays within what own_arm.yaml states.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data import JointSamples
from sysid_nodes.data.inertia import com_to_parameters
from sysid_nodes.logs import BagWriter, stamp_fields
from sysid_nodes.robots import Robot, load_robot

Array = npt.NDArray[np.float64]

URDF = Path(__file__).with_name("own_arm.urdf")
PAYLOAD = com_to_parameters(1.5, np.array([0.16, 0.02, -0.03]), np.diag([0.004, 0.003, 0.005]))
"""The hidden truth: 1.5 kg, off-centre, about the wrist joint's frame."""

COULOMB, VISCOUS = np.array([1.3, 0.8, 0.7, 0.2]), np.array([2.5, 1.6, 1.2, 0.3])
ARMATURE, OFFSET = np.array([0.5, 0.45, 0.15, 0.08]), np.array([0.1, -0.2, 0.1, 0.05])
TORQUE_ERROR, VELOCITY_ERROR, ENCODER_STEP = 0.01, 1e-3, 1e-4  # share of the reading, rad/s, rad


def true_model(robot: Robot, payload: Array) -> pinocchio.Model:
    """The arm as it is: links heavier and lighter than the URDF says, and the payload (10,) on the hand."""
    model = robot.model.copy()
    own = robot.inertial_parameters() * np.array([1.06, 0.93, 1.08, 1.05])[:, None]
    own[-1] += payload
    for k, theta in enumerate(own, start=1):
        model.inertias[k] = pinocchio.Inertia.FromDynamicParameters(theta)
    return model


def motion(t: Array) -> tuple[Array, Array, Array]:
    """q, qd, qdd (N, 4): three sines a joint, incommensurable, so that no two samples are alike."""
    amplitude = np.array([[0.7, 0.2, 0.1], [0.5, 0.2, 0.08], [0.6, 0.25, 0.1], [0.9, 0.4, 0.15]])
    omega = np.array([[0.7, 1.9, 3.7], [0.9, 2.1, 4.3], [0.8, 2.3, 4.1], [1.1, 2.6, 4.7]])
    phase = np.array([[0.0, 1.0, 2.0], [1.5, 0.3, 2.2], [0.7, 2.5, 1.1], [2.0, 0.5, 1.7]])
    angle = omega * t[:, None, None] + phase
    q = np.array([0.0, -0.7, 1.2, 0.0]) + (amplitude * np.sin(angle)).sum(axis=2)
    return q, (amplitude * omega * np.cos(angle)).sum(axis=2), -(amplitude * omega**2 * np.sin(angle)).sum(axis=2)


def run(robot: Robot, payload: Array, *, seconds: float, rate: float = 500.0, seed: int = 1) -> JointSamples:
    """What the arm's driver reports while it moves."""
    rng = np.random.default_rng(seed)
    t = 100.0 + np.arange(0.0, seconds, 1.0 / rate)
    q, qd, qdd = motion(t + 10.0 * seed)
    model = true_model(robot, payload)
    data = model.createData()
    rigid = np.array([pinocchio.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
    tau = rigid + COULOMB * np.sign(qd) + VISCOUS * qd + ARMATURE * qdd + OFFSET
    tau /= 1.0 + rng.uniform(-TORQUE_ERROR, TORQUE_ERROR, tau.shape)  # so that the error is a share of the reading
    encoder = ENCODER_STEP * np.round(q / ENCODER_STEP)
    return JointSamples(robot.joint_names, t, encoder, qd + rng.uniform(-VELOCITY_ERROR, VELOCITY_ERROR, qd.shape), tau)


def write_bag(path: Path, samples: JointSamples) -> None:
    """Writes samples as sensor_msgs/JointState."""
    with BagWriter(path) as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        for k, t in enumerate(samples.t):
            fields = {
                "header": {"stamp": stamp_fields(float(t))},
                "name": list(samples.names),
                "position": samples.q[k].tolist(),
                "velocity": samples.qd[k].tolist(),
                "effort": samples.tau[k].tolist(),
            }
            bag.write("/joint_states", float(t), fields)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the two bags")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S", help="of each run; default: %(default)g")
    args = parser.parse_args(argv)
    robot = load_robot("", urdf=URDF)
    for seed, (name, payload) in enumerate((("unloaded", np.zeros(10)), ("loaded", PAYLOAD)), start=1):
        path = args.out / name
        if path.exists():
            parser.error(f"{path} exists")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bag(path, run(robot, payload, seconds=args.seconds, seed=seed))
        print(path)


if __name__ == "__main__":
    main()
