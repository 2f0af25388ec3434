# SPDX-License-Identifier: Apache-2.0
"""sysid replay of a walking robot's set-points and sensors: its base, payload and motors."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from sysid_nodes.cli.conclusion import conclude
from sysid_nodes.cli.configuration import session_configuration
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import Stages, track
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.command_reader import read_set_points
from sysid_nodes.logs.sensor_reader import SensorLog
from sysid_nodes.reports.files import REPORT_NAME, RESULT_BAG
from sysid_nodes.reports.sampling.bag import write_result_bag
from sysid_nodes.reports.sampling.report import headline
from sysid_nodes.reports.sampling.run import SamplingRun, write_sampling_run
from sysid_nodes.results.sampling import SamplingResult, SamplingStatus
from sysid_nodes.sensors import SOURCES
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot
from sysid_nodes.sessions.sampling.session import SamplingSession

_STREAMS = ("joints", "imu", "pose")


def run(args: argparse.Namespace) -> int:
    """Identifies and returns the exit status."""
    flags = ("robot", "urdf", "commands")
    config = session_configuration(args, SamplingSessionConfig, flags, subject="one by rollouts")
    session = SamplingSession(sampling_robot(config), config)
    bag: Path = args.bag
    try:
        read_into(session, bag, args.topic)
        began = time.monotonic()
        result = _identify(session, config)
    except LogError as error:
        raise error if error.source else LogError(str(error), source=str(bag)) from None
    with OutputFolder(args.out) as folder:
        finished = SamplingRun(result, session.robot, str(bag), time.monotonic() - began, config)
        write_result_bag(folder / RESULT_BAG, session, result, bag)
        document = write_sampling_run(folder, finished)
    reason = result.status.message if result.status is SamplingStatus.UNTRUSTED else ""
    page = args.out / REPORT_NAME
    return conclude(bag, page, headline(document), contradiction=reason, findings=result.findings)


def read_into(session: SamplingSession, bag: Path, joints: str = "/joint_states") -> None:
    """Hands a session what it listens to in a recording; the topic of the joint states is `joints`.

    Raises:
        LogError, InputError: it cannot be read, or lacks a topic.
    """
    used = [source for source in SOURCES if source.name in _STREAMS]
    log = SensorLog(bag, used, {"joints": joints, "imu": session.config.imu, "pose": session.config.pose})
    for raw in track(read_set_points(bag, session.config.commands), f"read {session.config.commands}"):
        for stamp, position in zip(raw.t, raw.q, strict=True):
            session.take_set_point(float(stamp), raw.names, position)
    for reading in track(log, f"read {bag.name}"):
        session.take(reading)


def _identify(session: SamplingSession, config: SamplingSessionConfig) -> SamplingResult:
    horizons, paper = config.sampling.horizons, config.sampling.paper
    most = paper.iterations if config.sampling.method == "paper" else int(sum(horizons.iterations))
    with Stages() as stages:
        count = 0

        def progress(length: float, _cost: float) -> None:
            nonlocal count
            count += 1
            stages.show(f"fitting clips of {1e3 * length:.0f} ms", count, most)

        return session.identify(progress)
