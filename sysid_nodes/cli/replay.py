"""Identifies the payload in a recorded log, as fast as possible: the same steps and numbers as the live node.

Reads a rosbag2 recording (MCAP or sqlite3) and writes into the folder given by --out
  result.json   the result and its history, see docs/result-schema.md
  result.mcap   the ParameterBounds messages that the live node would have published
  report.html   everything for people, in one page
  series.npz    the torques in that page

examples:
  sysid replay bags/loaded --config config/kinova_gen3.yaml --out results/loaded
  sysid replay log.mcap --urdf my_arm.urdf --set noise.torque_relative=0.05 --out results/mine
  sysid replay bags/loaded --calibration calibration.json --method sensitivity --out results/compare

exit status 3: the data contradict the stated assumptions; the files say so and claim no bounds
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sysid_nodes.cli import configuration
from sysid_nodes.cli.log_check import LogCheck
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import track
from sysid_nodes.data.config import to_flat
from sysid_nodes.identifiers.pipeline import IntervalPipeline
from sysid_nodes.logs import BagWriter, RawJointState, read_joint_states
from sysid_nodes.reports.bounds_message import TOPIC, TYPE, Subject, bounds_fields, is_news, moving_link
from sysid_nodes.reports.interval_report import REPORT_NAME, write_report
from sysid_nodes.reports.result_file import RESULT_NAME, build_document, write_result
from sysid_nodes.reports.run import IdentificationRun, TorqueSeries
from sysid_nodes.reports.series_file import SERIES_NAME, write_series
from sysid_nodes.reports.wording import verdict
from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.robots import load_robot

BOUNDS_NAME = "result.mcap"

_CONTRADICTION = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 folder, or a single .mcap or .db3 file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")
    configuration.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    config = configuration.configuration(args)
    robot = load_robot(config.robot, variant=config.variant, urdf=config.urdf)
    log = read_joint_states(args.bag, args.topic)
    pipeline = IntervalPipeline(robot, config)
    subject = Subject(robot.name, pipeline.body, config.target, moving_link(robot, pipeline.body), config.method)
    with OutputFolder(args.out) as folder:
        check = LogCheck(robot, pipeline.body_index, _guess(pipeline))
        messages = check.watch(track(log, f"replay {args.bag.name}"))
        solve_time = _identify(pipeline, subject, messages, folder / BOUNDS_NAME)
        result = pipeline.finish()
        for doubt in check.judge(result, str(args.bag)):
            sys.stderr.write(f"sysid: warning: {args.bag}: {doubt}\n")
        found = IdentificationRun(
            robot=subject.robot,
            method=subject.method,
            body=subject.body,
            frame=subject.frame,
            joint_names=robot.joint_names,
            history=(*pipeline.history, result),
            assumptions=tuple(pipeline.assumptions()),
            config=to_flat(config),
            source=str(args.bag),
            calibration=config.calibration,
            torques=_torques(pipeline),
            solve_time=solve_time,
        )
        document = build_document(found)
        if found.torques is not None:
            write_series(folder / SERIES_NAME, found.torques)
        write_report(folder / REPORT_NAME, document, found.torques)
        write_result(folder / RESULT_NAME, document)
    if result.status is Status.INCONSISTENT:
        reason = result.contradiction.sentence() if result.contradiction else result.status.message
        sys.stderr.write(f"sysid: {args.bag}: {reason}\n")
        return _CONTRADICTION
    told = verdict(document)
    sys.stdout.write(f"{told.headline} ({told.label.lower()}): {args.out / REPORT_NAME}\n")
    return 0


def _identify(pipeline: IntervalPipeline, subject: Subject, messages: Iterable[RawJointState], path: Path) -> float:
    """Pushes every message, records what is news, and returns the time all steps took [s]."""
    spent = 0.0
    last: IdentificationResult | None = None
    with BagWriter(path) as bag:
        bag.add_topic(TOPIC, TYPE, latched=True)
        for message in messages:
            result = pipeline.push(message.names, message.stamp, message.position, message.velocity, message.effort)
            if result is None:
                continue
            spent += result.solve_time
            if is_news(result, last):
                bag.write(TOPIC, result.t, bounds_fields(result, subject))
                last = result
    return spent


def _guess(pipeline: IntervalPipeline) -> npt.NDArray[np.float64]:
    """(10,) the whole body, as far as it is known before any data."""
    centre = pipeline.config.prior.bounds.centre
    if pipeline.config.target == "payload":
        return np.asarray(centre + pipeline.robot.inertial_parameters()[pipeline.body_index])
    return centre


def _torques(pipeline: IntervalPipeline) -> TorqueSeries | None:
    prediction = pipeline.prediction()
    if not prediction.t.size:
        return None
    names = pipeline.robot.joint_names
    return TorqueSeries(names, prediction.t, prediction.measured, prediction.predicted, prediction.radius)
