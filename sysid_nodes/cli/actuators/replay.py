# SPDX-License-Identifier: Apache-2.0
"""sysid replay of commands and encoders: the actuators."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from sysid_nodes.cli.actuators.encoders import read_encoders
from sysid_nodes.cli.actuators.online import replay_online, tell
from sysid_nodes.cli.configuration import session_configuration
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import track
from sysid_nodes.exceptions import ConfigError, ExcitationError, LogError
from sysid_nodes.logs.command_reader import read_set_points
from sysid_nodes.reports.actuators.run import ActuatorRun, read_known, write_actuator_run
from sysid_nodes.reports.files import REPORT_NAME
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig, actuator_robot
from sysid_nodes.sessions.actuators.recording import recorded_log, torque_log
from sysid_nodes.systems.actuators import identify_actuators
from sysid_nodes.systems.actuators.methods import apply_method
from sysid_nodes.systems.actuators.runs import compare_runs


def run(args: argparse.Namespace) -> int:
    """Identifies and returns the exit status."""
    flags = ("robot", "urdf", "commands")
    config = session_configuration(args, ActuatorSessionConfig, flags, subject="actuators", any_robot=True)
    robot = actuator_robot(config)
    bag: Path = args.bag
    if args.online and args.runs:
        raise ConfigError("--runs compares results of whole recordings: leave out --online")
    if args.online:
        return replay_online(args, robot, config)
    states = filter(None, track(read_encoders(bag, args.topic, robot), "read joint states"))
    others = [read_known(path) for path in args.runs or ()]
    driven = config.drive == "effort"
    commands = [] if driven else track(read_set_points(bag, config.commands, robot.motor_order), "read commands")
    began = time.monotonic()
    with OutputFolder(args.out) as folder:
        try:
            log = torque_log(robot, states) if driven else recorded_log(robot, states, commands)
            result = identify_actuators(log, robot, config.actuators)
            result = compare_runs(result, others)
            found = apply_method(log, robot, [joint.law for joint in result.joints], config.actuators)
        except (LogError, ExcitationError) as error:
            raise error if error.source else LogError(str(error), source=str(bag)) from None
        document = write_actuator_run(
            folder,
            ActuatorRun(
                result,
                found[0][0].t,
                np.stack([motion.command.at(motion.t) for motion, _ in found], axis=1),
                np.stack([np.where(motion.measured, motion.q, np.nan) for motion, _ in found], axis=1),
                np.stack([joint.position for _, joint in found], axis=1),
                robot,
                str(bag),
                time.monotonic() - began,
                config,
                methods=tuple(joint for _, joint in found),
            ),
        )
    said = tuple(text for _, joint in found for text in joint.findings)
    return tell(document, bag, args.out / REPORT_NAME, said)
