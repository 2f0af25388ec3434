# SPDX-License-Identifier: Apache-2.0
"""sysid replay of a legged robot's log: motion, contact forces and inertia by the live node's own session."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_nodes.cli.conclusion import conclude
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.prime.configuration import configuration, topics
from sysid_nodes.cli.progress import Stages, track
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.logs.foot_force_reader import FootForce, read_foot_forces
from sysid_nodes.logs.sensor_reader import SensorLog
from sysid_nodes.reports.files import REPORT_NAME, RESULT_BAG
from sysid_nodes.reports.prime.bag import PrimeBag
from sysid_nodes.reports.prime.foot_check import check_feet
from sysid_nodes.reports.prime.run import PrimeRun, write_prime_run
from sysid_nodes.reports.prime.series import PrimeCollector, PrimeSeries
from sysid_nodes.reports.prime.truth import feet, read_truth
from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.results.prime_mode import BATCH, HORIZON
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import sources
from sysid_nodes.sessions.prime.batch import Gatherer, StreamRecord, solve_batch
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import make_horizon
from sysid_nodes.sessions.prime.session import PrimeSession, prime_robot
from sysid_nodes.sessions.prime.stretches import Stretch
from sysid_nodes.systems.prime.initialisation import BASE_STREAMS

_LOOKED_AT = 200  # joint states, for the names of their joints


@dataclass(frozen=True)
class Replayed:
    """Results of a log's replay.

    Attributes:
        collected: what it published.
        wall_time: that it took [s].
        left_out: steps outside the longest connected stretch, in batch mode.
    """

    session: PrimeSession
    collected: PrimeCollector
    wall_time: float
    left_out: int


def run(args: argparse.Namespace) -> int:
    """Replays and returns the exit status."""
    config = configuration(args)
    robot = prime_robot(config)
    log = open_log(args.bag, config, topics(args))
    forces = read_foot_forces(args.bag, args.foot_force or (), feet(robot)[0], args.topic)
    for topic in log.missing:
        sys.stderr.write(f"sysid: warning: {args.bag}: has no readings on '{topic}'; it goes without\n")
    with OutputFolder(args.out) as folder:
        mode = args.mode or HORIZON
        document = replay_into(folder, robot, config, log, mode, str(args.bag), args.truth, forces=forces)
    status = PrimeStatus[document["status"]]
    observed = [row["observed"] for body in document["bodies"] for row in body["parameters"]]
    doubtful = not status.trusted or (observed and not any(observed))
    reason = "; ".join([document["message"], *_check_words(document["run"]["feet"])]) if doubtful else ""
    return conclude(args.bag, args.out / REPORT_NAME, summary_line(document), contradiction=reason)


def replay_into(
    folder: Path,
    robot: Robot,
    config: PrimeSessionConfig,
    log: SensorLog,
    mode: str,
    source: str,
    truth: Path | None = None,
    live: Callable[[PrimeSeries], Mapping[str, Any]] | None = None,
    forces: Mapping[str, FootForce] | None = None,
) -> dict[str, Any]:
    """Estimates a log and writes result.mcap, series.npz, report.html and result.json into a folder.

    Args:
        folder: existing.
        robot: with contact points.
        log: to replay.
        mode: HORIZON or BATCH.
        source: what the result is to call the log.
        truth: folder of a simulated robot's truth, or None.
        live: compares with what a live node published, or None.
        forces: of the feet's own sensors, to compare contacts with.

    Returns:
        The result.

    Raises:
        SysidError: the log is damaged, or nothing can be estimated from it.
    """
    check_joints(log, robot, source)
    title = f"replay {Path(source).absolute().name}"
    with PrimeBag(folder / RESULT_BAG, robot, config.prime.contact.normal, config.frame_prefix) as bag:
        done = (_batch if mode == BATCH else _horizon)(robot, config, log, bag, title)
        if done.session.estimate is None:
            raise ExcitationError(_why_nothing(done.session), source=source)
    series = done.collected.series()
    known = None if truth is None else read_truth(truth, robot, series)
    compared = None if live is None else live(series)
    checks = check_feet(series, robot, forces or {})
    run = PrimeRun(done.session, series, mode, source, done.wall_time, done.left_out, known, compared, checks)
    return write_prime_run(folder, run)


def summary_line(document: dict[str, Any]) -> str:
    """The result in a line, with every stretch that is not good."""
    parts = []
    for body in document["bodies"]:
        mass = body["parameters"][0]
        if mass["observed"]:
            parts.append(f"the {body['link']} weighs {mass['estimate']:.3f} +- {mass['sigma']:.3f} kg (one sigma)")
        else:
            parts.append(f"the mass of {body['link']} is not observed")
    run = document["run"]
    parts.append(f"{run['end'] - run['start']:.1f} s of motion ({document['status'].lower()})")
    if all(foot["peak_force"] is None for foot in run["feet"]):
        parts.append("forces are not observed")
    parts += _check_words(run["feet"])
    poor = [Stretch(PrimeStatus[s["status"]], s["start"], s["end"], "").sentence for s in _poor(document)]
    return ", ".join([*parts, *poor])


def _check_words(feet: Sequence[Mapping[str, Any]]) -> list[str]:
    """Contacts beside the feet's own sensors, where there are such."""
    checked = [(foot["name"], foot["sensor"]) for foot in feet if foot["sensor"] is not None]
    f1 = [f"{name} {sensor['f1']:.2f}" for name, sensor in checked if sensor["f1"] is not None]
    silent = [name for name, sensor in checked if sensor["f1"] is None]
    words = [f"F1 of contacts against the feet's sensors: {' '.join(f1)}"] if f1 else []
    return words + ([f"the sensor of {' and '.join(silent)} cannot tell contact from swing"] if silent else [])


def _poor(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [stretch for stretch in document["stretches"] if stretch["status"] not in ("STARTING", "GOOD")]


def open_log(path: Path, config: PrimeSessionConfig, topics: Mapping[str, str] | None = None) -> SensorLog:
    """The recording of the sensors that a configuration has enabled.

    Raises:
        LogError: it cannot be read, or has no stream that tells how the base moves.
    """
    used = sources(config.prime.sensors)
    log = SensorLog(path, used, topics)
    if log.streams.isdisjoint(BASE_STREAMS):
        telling = [source for source in used if not BASE_STREAMS.isdisjoint(source.streams)]
        names = " nor ".join(f"'{(topics or {}).get(source.name, '/' + source.topic)}'" for source in telling)
        raise LogError(f"has neither {names}: nothing tells how the base moves", source=str(path))
    return log


def _horizon(robot: Robot, config: PrimeSessionConfig, log: SensorLog, bag: PrimeBag, title: str) -> Replayed:
    """As live, on a machine that is never too slow: no wall clock decides anything."""
    session = PrimeSession(robot, config, lambda: make_horizon(robot, config), clock=lambda: 0.0)
    collected, begun = PrimeCollector(), time.perf_counter()
    for reading in track(log, title):
        if (update := session.take(reading)) is not None:
            collected.add(update)
            bag.write(update)
    return Replayed(session, collected, time.perf_counter() - begun, 0)


def _batch(robot: Robot, config: PrimeSessionConfig, log: SensorLog, bag: PrimeBag, title: str) -> Replayed:
    gathered, record, begun = Gatherer(), StreamRecord.empty(), time.perf_counter()
    session = PrimeSession(robot, config, lambda: gathered, clock=lambda: 0.0)
    for reading in track(log, title):
        session.take(reading)
        record.look(session)
    collected = PrimeCollector()
    most = config.prime.iteration.most * config.prime.contact.continuation
    with Stages() as stages:
        count = 0

        def progress(_: Iteration) -> None:
            nonlocal count
            count += 1
            stages.show("solving for the whole log", count, most)

        update, left = solve_batch(session, gathered, record, clock=time.perf_counter, progress=progress)
    collected.add(update)
    bag.write(update)
    return Replayed(session, collected, time.perf_counter() - begun, left)


def check_joints(log: SensorLog, robot: Robot, source: str) -> None:
    """Raises LogError where no joint state names all joints of the robot."""
    seen = log.joint_names(_LOOKED_AT)
    missing = min((sorted(set(robot.joint_names) - set(names)) for names in seen), key=len)
    if missing:
        line = f"the joint states do not name all joints of '{robot.name}': {missing[0]} is missing"
        raise LogError(line + (f", and {len(missing) - 1} more" if len(missing) > 1 else ""), source=source)


def _why_nothing(session: PrimeSession) -> str:
    """Reason that there is no estimate."""
    reasons = [f"{name} {reason} {n}" for name, found in session.rejected.items() for reason, n in found.items()]
    reasons += [f"{reason} {n}" for reason, n in session.unusable.items()]
    line = f"no motion could be estimated from {session.received} messages"
    return f"{line} (not used: {', '.join(reasons)})" if reasons else line
