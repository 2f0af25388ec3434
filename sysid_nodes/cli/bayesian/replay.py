# SPDX-License-Identifier: Apache-2.0
"""sysid replay of a robot's joint states and power meter: a posterior of its constants."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.bayesian.configuration import configuration
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import Stages, track
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.logs.reader import read_joint_states, read_messages, read_topics
from sysid_nodes.reports.bayesian.report import headline
from sysid_nodes.reports.bayesian.run import BayesianRun, write_bayesian_run
from sysid_nodes.reports.files import REPORT_NAME
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.sensors.messages import stamp
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.sessions.bayesian.session import BayesianSession

POWER_TYPE = "sensor_msgs/msg/BatteryState"

_CONTRADICTION = 3


def run(args: argparse.Namespace) -> int:
    """Identifies and returns the exit status."""
    config = configuration(args)
    bag: Path = args.bag
    with OutputFolder(args.out) as folder:
        document = replay_into(folder, bag, config, args.topic)
    status = BayesianStatus[document["status"]]
    if not status.trusted:
        sys.stderr.write(f"sysid: {bag}: {status.message}; see {args.out / REPORT_NAME}\n")
        return _CONTRADICTION
    for finding in document["findings"]:
        sys.stderr.write(f"sysid: warning: {bag}: {finding}\n")
    sys.stdout.write(f"{headline(document)}: {args.out / REPORT_NAME}\n")
    return 0


def replay_into(
    folder: Path,
    bag: Path,
    config: BayesianSessionConfig,
    topic: str,
    truth: Mapping[str, float] | None = None,
    source: str = "",
) -> dict[str, Any]:
    """Identifies a recording, writes all files and returns the result.

    Args:
        folder: for the files.
        bag: the recording.
        config: robot and options.
        topic: of the joint states.
        truth: hidden values by the parameters' names, if somebody knows them.
        source: the recording as the result is to name it; empty for where it is.

    Raises:
        SysidError: the recording or the configuration cannot be used.
    """
    session = BayesianSession(load_robot(config.robot, urdf=config.urdf), config)
    try:
        for state in track(read_joint_states(bag, topic), f"read {bag.name}"):
            session.take(state)
        if any(found.name == config.power and found.count for found in read_topics(bag)):
            for _, message in track(read_messages(bag, config.power, POWER_TYPE), f"read {config.power}"):
                session.take_power(stamp(message), float(message.voltage), float(message.current))
        began = time.monotonic()
        with Stages() as stages:
            result = session.identify(stages.show)
    except (LogError, ExcitationError) as error:
        raise error if error.source else type(error)(str(error), source=str(bag)) from None
    finished = BayesianRun(
        result, session.robot.name, source or str(bag), time.monotonic() - began, config, truth or {}
    )
    return write_bayesian_run(folder, finished)
