# SPDX-License-Identifier: Apache-2.0
"""Measures the tracking errors of a position controller, for the position interface of the certified planner.

Compares desired positions with joint states and prints the largest error of each joint, the speeds and accelerations
that were covered, and the configuration to copy. Record motion at least as fast and as demanding as you plan to
execute, with the heaviest payload: the errors are valid only for what was covered.

examples:
  sysid tracking bags/position_run
  sysid tracking bags/position_run --commands /my_controller/joint_trajectory --safety-factor 2 --out tracking.yaml
  sysid tracking demo_output/bag --torques /torque_command
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import yaml

from sysid_nodes.cli.certified.torque_delay import delay_lines, measure_torques
from sysid_nodes.cli.configuration import add_arguments as add_configuration
from sysid_nodes.cli.interval.configuration import configuration
from sysid_nodes.cli.progress import track
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import ConfigError, InputError, LogError, SamplesError
from sysid_nodes.logs.command_reader import RawSetPoints, read_set_points
from sysid_nodes.logs.reader import read_joint_states
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.signals.set_points import SetPoints
from sysid_nodes.signals.stream import JointStream
from sysid_nodes.systems.certified.control.tracking_bound import TrackingBound, measure_tracking

COMMANDS = "/joint_trajectory_controller/joint_trajectory"
STATES = "/joint_states"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", type=Path, metavar="BAG", help="recording of commands and joint states")
    parser.add_argument(
        "--commands",
        default=COMMANDS,
        metavar="TOPIC",
        help="desired positions, JointTrajectory or JointState; default: %(default)s",
    )
    parser.add_argument(
        "--torques",
        metavar="TOPIC",
        help="torque commands: measure how late they act behind the joint states that they answer, and nothing else",
    )
    parser.add_argument("--states", default=STATES, metavar="TOPIC", help="joint states; default: %(default)s")
    parser.add_argument(
        "--safety-factor", type=float, default=1.5, metavar="X", help="of the worst seen; default: %(default)s"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="parameter file to write; printed without it")
    add_configuration(parser)


def run(args: argparse.Namespace) -> int:
    if not (np.isfinite(args.safety_factor) and args.safety_factor >= 1.0):
        raise ConfigError(f"--safety-factor must be at least 1, got {args.safety_factor:g}")
    config = configuration(args)
    robot = load_robot(config.robot, variant=config.variant, urdf=config.urdf)
    if args.torques is not None:
        for line in delay_lines(measure_torques(robot, args.bag, args.torques, args.states)):
            sys.stdout.write(f"{line}\n")
        return 0
    noise = config.noise
    encoder = per_joint(noise.position_error, robot.n, "noise.position_error")
    found = measure(
        robot,
        args.bag,
        args.commands,
        args.states,
        safety_factor=args.safety_factor,
        position_error=np.where(encoder > 0.0, encoder, 0.5 * robot.encoder_step),
        velocity_error=per_joint(noise.velocity_error, robot.n, "noise.velocity_error"),
    )
    for line in table(robot, found):
        sys.stdout.write(f"{line}\n")
    text = snippet(found, args.bag.name)
    if args.out is None:
        sys.stdout.write(f"\n{text}")
        return 0
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", source=str(args.out)) from None
    sys.stdout.write(f"\n{args.out}: 'tracking' of the certified planner\n")
    return 0


def measure(
    robot: Robot,
    bag: Path,
    commands: str,
    states: str,
    *,
    safety_factor: float,
    position_error: Array,
    velocity_error: Array,
) -> TrackingBound:
    """Worst differences of what was desired and what was measured, from the first set-point on.

    Raises:
        LogError: the recording cannot be read, or commands and joint states do not belong together.
    """
    desired, stamped = _set_points(robot, bag, commands)
    t, q, qd = _joint_states(robot, bag, states)
    told = t >= desired.begin
    if not told.any():
        since = "their stamps" if stamped else "when they were recorded, as they have no stamps"
        raise LogError(
            f"no joint state of '{states}' comes after the first command of '{commands}', by {since}", source=str(bag)
        )
    wanted_q, wanted_qd = desired.at(t[told])
    try:
        return measure_tracking(
            t[told],
            wanted_q,
            wanted_qd,
            q[told],
            qd[told],
            safety_factor=safety_factor,
            wraps=robot.wraps,
            position_error=position_error,
            velocity_error=velocity_error,
        )
    except SamplesError as error:
        raise LogError(str(error), source=str(bag)) from None


def _set_points(robot: Robot, bag: Path, topic: str) -> tuple[SetPoints, bool]:
    """The desired motion, and whether all commands had stamps."""
    desired, stamped, order = SetPoints(robot.n), True, JointOrder(robot.joint_names)
    for k, raw in enumerate(track(read_set_points(bag, topic), f"read {topic}")):
        columns = order.columns(raw.names)
        if columns is None:
            raise LogError(f"command {k} of '{topic}' has {order.fault(raw.names)}", source=str(bag))
        stamped &= raw.stamped
        try:
            _take(robot, desired, raw, columns)
        except SamplesError as error:
            raise LogError(f"command {k} of '{topic}': {error}", source=str(bag)) from None
    if not len(desired):
        raise LogError(f"the commands of '{topic}' have no points", source=str(bag))
    return desired, stamped


def _take(robot: Robot, desired: SetPoints, raw: RawSetPoints, columns: npt.NDArray[np.intp]) -> None:
    """Adds a command, on the turn that the motion is on: a joint without limits may be told another one."""
    if not len(raw.t):
        return
    q, qd = raw.q[:, columns], None if raw.qd is None else raw.qd[:, columns]
    if len(desired):
        before, _ = desired.at(np.array([min(raw.begin, float(raw.t[0]))]))
        turns = 2.0 * np.pi * np.round((before[0] - q[0]) / (2.0 * np.pi))
        q = q + np.where(robot.wraps, turns, 0.0)
    desired.take(raw.begin, raw.t, q, qd)


def _joint_states(robot: Robot, bag: Path, topic: str) -> tuple[Array, Array, Array]:
    """Times (N,), positions and velocities (N, n) of the accepted joint states."""
    stream, samples = JointStream(robot.joint_names, robot.wraps), []
    for m in track(read_joint_states(bag, topic), f"read {topic}"):
        effort = m.effort if len(m.effort) == len(m.names) else np.zeros(len(m.names))  # not needed here
        sample = stream.push(m.names, m.stamp, m.position, m.velocity, effort)
        if sample is not None:
            samples.append(sample)
    if not samples:
        reasons = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(stream.rejected.items()))
        raise LogError(f"holds no usable joint state on '{topic}' (rejected: {reasons})", source=str(bag))
    if stream.restarts:
        raise LogError(f"the clock of '{topic}' was set back", source=str(bag))
    t, q, qd = (np.array([sample[k] for sample in samples]) for k in range(3))
    return t, q, qd


def table(robot: Robot, found: TrackingBound) -> list[str]:
    """The measurements, for people."""
    lines = [
        f"{found.samples} samples over {found.duration:.1f} s, worst seen and with the safety factor",
        f"{'':12} {'position [rad]':>20} {'at [s]':>14} {'velocity [rad/s]':>20} {'fastest [rad/s]':>16} "
        f"{'hardest [rad/s2]':>17}",
    ]
    for j, name in enumerate(robot.joint_names):
        position = f"{found.worst_position[j]:.5f} -> {found.position[j]:.5f}"
        velocity = f"{found.worst_velocity[j]:.4f} -> {found.velocity[j]:.4f}"
        lines.append(
            f"{name:12} {position:>20} {found.worst_at[j]:>14.3f} {velocity:>20} {found.fastest[j]:>16.3f} "
            f"{found.hardest[j]:>17.3f}"
        )
    return [*lines, found.caveat]


def snippet(found: TrackingBound, name: str) -> str:
    """The `tracking` section of a ROS parameter file; rounded up where more is safer, down where less is."""
    source = f"{name}: {found.samples} samples over {found.duration:.1f} s, worst times {found.safety_factor:g}"
    section = {
        "position_error": _round(found.position, 1e-5, np.ceil),
        "velocity_error": _round(found.velocity, 1e-4, np.ceil),
        "fastest": _round(found.fastest, 1e-3, np.floor),
        "hardest": _round(found.hardest, 1e-3, np.floor),
        "source": source,
    }
    body = yaml.safe_dump({"/**": {"ros__parameters": {"tracking": section}}}, sort_keys=False, width=1000)
    return f"# {found.caveat}\n# Without 'acceleration_error' torque limits are not proven.\n{_flow(body)}"


def _round(values: Array, step: float, towards: np.ufunc) -> list[float]:
    digits = round(-np.log10(step))
    return [round(float(value) * step, digits) for value in towards(values / step)]


def _flow(text: str) -> str:
    """Lists of numbers on one line each."""
    out: list[str] = []
    for line in text.splitlines():
        item = line.strip()
        if item.startswith("- "):
            out[-1] = f"{out[-1][:-1]}, {item[2:]}]" if out[-1].endswith("]") else f"{out[-1]} [{item[2:]}]"
        else:
            out.append(line)
    return "\n".join(out) + "\n"
