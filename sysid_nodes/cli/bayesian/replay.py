# SPDX-License-Identifier: Apache-2.0
"""sysid replay of a robot's joint states and power meter: a posterior of its constants."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from sysid_nodes.cli.bayesian.online import replay_online
from sysid_nodes.cli.conclusion import conclude
from sysid_nodes.cli.configuration import session_configuration
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import Stages, track
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.logs.power_reader import has_power, read_power
from sysid_nodes.logs.reader import read_joint_states
from sysid_nodes.reports.bayesian.live import session_run
from sysid_nodes.reports.bayesian.report import headline
from sysid_nodes.reports.bayesian.run import BayesianRun, write_bayesian_run
from sysid_nodes.reports.files import REPORT_NAME
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig, bayesian_robot
from sysid_nodes.sessions.bayesian.session import BayesianSession


def run(args: argparse.Namespace) -> int:
    """Identifies and returns the exit status."""
    flags = ("robot", "urdf")
    config = session_configuration(args, BayesianSessionConfig, flags, subject="a Bayesian one", any_robot=True)
    bag: Path = args.bag
    if config.power not in ("", BayesianSessionConfig().power) and not has_power(bag, config.power):
        sys.stderr.write(f"sysid: warning: {bag}: has no readings on '{config.power}'; it goes without\n")
    with OutputFolder(args.out) as folder:
        began = time.monotonic()
        if args.online:
            session, _ = replay_online(folder, bag, config, args.topic)
            document = write_bayesian_run(folder, session_run(session, str(bag), time.monotonic() - began))
        else:
            document = _replay_whole(folder, bag, config, args.topic)
    reason = "" if BayesianStatus[document["status"]].trusted else document["message"]
    page = args.out / REPORT_NAME
    return conclude(bag, page, headline(document), contradiction=reason, findings=document["findings"])


def _replay_whole(folder: Path, bag: Path, config: BayesianSessionConfig, topic: str) -> dict[str, Any]:
    session = BayesianSession(bayesian_robot(config), config)
    try:
        for state in track(read_joint_states(bag, topic), f"read {bag.name}"):
            session.take(state)
        for reading in read_power(bag, config.power):
            session.take_power(*reading)
        began = time.monotonic()
        with Stages() as stages:
            result = session.identify(stages.show)
    except (LogError, ExcitationError) as error:
        raise error if error.source else type(error)(str(error), source=str(bag)) from None
    return write_bayesian_run(folder, BayesianRun(result, session.robot, str(bag), time.monotonic() - began, config))
