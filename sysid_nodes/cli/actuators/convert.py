# SPDX-License-Identifier: Apache-2.0
"""Converts a table of positions, velocities and torques, or of commands and encoders, to a rosbag2 recording.

Torques:   .npz with the arrays t, q, tau and, optionally, qd (otherwise central differences of q)
           .csv with the columns t, q_NAME, effort_NAME and, optionally, qd_NAME of each joint
Commands:  .npz with the arrays t, q, command (or time, dof_pos, des_dof_pos) and, optionally, kp, kd
           .csv with the columns t, q_NAME, command_NAME and, optionally, kp_NAME, kd_NAME of each joint
The columns of arrays are named by the array joint_names, or else are the robot's joints in order. For commands a
parameter file is written beside the bag.

examples:
  sysid convert run.npz --robot kinova_gen3 --out bags/run
  sysid check bags/run --config config/kinova_gen3.yaml
  sysid convert chirp.npz --robot go2 --out bags/chirp
  sysid replay bags/chirp --config bags/chirp.yaml --out results/chirp
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import InputError
from sysid_nodes.logs.actuator_table import actuator_log
from sysid_nodes.logs.joint_table import joint_samples
from sysid_nodes.logs.table import COMMAND, TORQUE, VELOCITY, read_table
from sysid_nodes.logs.writer import BagWriter, stamp_fields
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig

STATES = "/joint_states"
JOINT_STATE = "sensor_msgs/msg/JointState"

_LATER = 1.0
"""Added to all times [s]: a stamp of zero says that there is none."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", type=Path, metavar="TABLE", help=".npz or .csv file")
    parser.add_argument("--out", type=Path, required=True, metavar="BAG", help="folder of the bag to write")
    parser.add_argument("--robot", metavar="NAME", help="robot by name, for the names of the columns")
    parser.add_argument("--urdf", metavar="FILE", help="its URDF, for a robot that is not registered")


def run(args: argparse.Namespace) -> int:
    """Converts and returns the exit status."""
    if args.out.is_file() or (args.out.is_dir() and any(args.out.iterdir())):
        raise InputError("is there already: name another bag, or remove it", source=str(args.out))
    robot = args.robot or ("urdf" if args.urdf else "")
    names = load_robot(robot, urdf=args.urdf or "").joint_names if robot else ()
    table = read_table(args.table, names)
    if table.has(TORQUE) and not table.has(COMMAND):
        _write_states(args.out, joint_samples(table))
        if not table.has(VELOCITY):
            sys.stderr.write(f"{args.table}: has no velocities: taken as central differences of the positions\n")
        sys.stdout.write(f"{args.out}\n")
        return 0
    log = actuator_log(table)
    topic = ActuatorSessionConfig().commands
    with BagWriter(args.out) as bag:
        for name in (STATES, topic):
            bag.add_topic(name, JOINT_STATE)
        _write(bag, log, topic)
    file = args.out.with_name(f"{args.out.name}.yaml")
    write_atomically(file, parameter_file(log, robot, args.urdf or "", topic))
    sys.stdout.write(f"{args.out}, {file}\n")
    return 0


def _write_states(path: Path, samples: JointSamples) -> None:
    later = _LATER - min(float(samples.t[0]), 0.0)
    with BagWriter(path) as bag:
        bag.add_topic(STATES, JOINT_STATE)
        for t, q, qd, tau in zip(samples.t + later, samples.q, samples.qd, samples.tau, strict=True):
            values = {"position": q.tolist(), "velocity": qd.tolist(), "effort": tau.tolist()}
            bag.write(STATES, t, {"header": {"stamp": stamp_fields(t)}, "name": list(samples.names), **values})


def _write(bag: BagWriter, log: ActuatorLog, topic: str) -> None:
    later = _LATER - min(float(log.t[0]), float(log.command_t[0]), 0.0)
    rows = [(float(t) + later, STATES, q) for t, q in zip(log.t, log.q, strict=True)]
    rows += [(float(t) + later, topic, q) for t, q in zip(log.command_t, log.command, strict=True)]
    for t, name, q in sorted(rows, key=lambda row: row[0]):
        fields = {"header": {"stamp": stamp_fields(t)}, "name": list(log.names), "position": q.tolist()}
        bag.write(name, t, fields)


def parameter_file(log: ActuatorLog, robot: str, urdf: str, topic: str) -> str:
    """A ROS parameter file of what the table says beyond its samples."""
    values: dict[str, object] = {"robot": robot} if robot else {}
    if urdf:
        values["urdf"] = urdf
    values["commands"] = topic
    gains = {"stiffness": log.stiffness, "damping": log.damping}
    law = {name: [float(x) for x in gain] for name, gain in gains.items() if gain is not None}
    if law:
        values["actuators"] = {"law": law}
    return yaml.safe_dump({"/**": {"ros__parameters": values}}, sort_keys=False, default_flow_style=None, width=110)
