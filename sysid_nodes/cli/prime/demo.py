"""The demo of a legged robot: it moves with a load that nobody has told the estimator about."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.cli.demo.nodes import Nodes, free_domain, require_ros
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.prime import demo_config as legged_config
from sysid_nodes.cli.prime.demo_screen import PrimeScreen
from sysid_nodes.cli.prime.demo_summary import evaluate, summary
from sysid_nodes.cli.prime.demo_watch import ESTIMATOR, PrimeWatch
from sysid_nodes.exceptions import SysidError
from sysid_nodes.reports.prime.truth import FILE, SERIES, feet
from sysid_nodes.robots import Robot, load_robot

_FALLEN = 4
_STARTING = 90.0  # longest wait for the first reading [s]
_STALLED = 60.0  # longest wait for anything new after it [s]
_TICK = 0.2  # between two looks at the screen [s]
_SETTLED = 0.8  # after the end, for what is under way [s]
_CATCHING_UP = 60.0  # longest wait for an estimator that is behind [s]
_GRAVITY = 9.81  # [m/s2]
_RECORDER = "sysid_nodes.ros.prime.recorder"


def run(args: argparse.Namespace) -> int:
    """Runs the demo and returns the exit status."""
    require_ros()
    seed = int.from_bytes(os.urandom(3), "big") if args.seed is None else args.seed
    robot = load_robot(args.robot)
    with OutputFolder(args.out) as folder:
        work = folder / ".live"
        work.mkdir()
        (folder / "truth").mkdir()
        shutil.copyfile(legged_config.estimator_file(args.robot), folder / "config.yaml")
        watch, usage = _live(args, robot, seed, folder, work)
        sys.stdout.write("Estimating again from the recording and writing the report ...\n")
        sys.stdout.flush()
        document = evaluate(folder, watch, str(args.out / "bag"))
        shutil.rmtree(work)
    sys.stdout.write(summary(watch, document, usage, args.out, seed) + "\n")
    sys.stdout.flush()
    if watch.fallen:
        sys.stderr.write("sysid: demo: the robot has fallen\n")
        return _FALLEN
    return 0


def _live(
    args: argparse.Namespace, robot: Robot, seed: int, folder: Path, work: Path
) -> tuple[PrimeWatch, Mapping[str, float]]:
    """Runs the nodes until the programme is over; leaves bag and truth in folder."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting robot, estimator and recorder on ROS domain {domain}, this machine only."
    duration = args.motion_time or legged_config.DURATION[args.robot]
    truth = folder / "truth" / FILE, folder / "truth" / SERIES
    carried = legged_config.load(seed, args.payload)
    rviz = legged_config.rviz_files(work, robot) if args.rviz else None
    names, index = feet(robot)
    with Nodes(work, domain) as nodes:
        if rviz:
            nodes.rviz(*rviz)
        nodes.recorder(folder / "bag", module=_RECORDER)
        nodes.node("estimator", "prime_estimator", folder / "config.yaml", diagnostics_period=_TICK)
        _wait_until_heard(nodes)
        parameters = legged_config.robot_parameters(args.robot, carried, seed, duration, truth)
        nodes.node("robot", "simulated_legged_robot", None, **parameters)
        known = _truth(nodes, truth[0])
        watch = PrimeWatch(np.array(known["theta"]), index, robot.body)
        with PrimeScreen(title, names, _GRAVITY * known["total_mass"]) as screen:
            usage = _follow(nodes, screen, watch)
            nodes.tell("stop")
            nodes.wait_for_recorder()
            screen.close(watch)
    return watch, usage


def _wait_until_heard(nodes: Nodes) -> None:
    """Waits until the recorder hears the estimator, whose first estimates it would miss otherwise."""
    deadline = time.monotonic() + _STARTING
    while time.monotonic() < deadline:
        if any(ESTIMATOR in line.get("diagnostics", ()) for line in nodes.read(_TICK)):
            return
    raise SysidError(f"nothing was heard of the estimator within {_STARTING:g} s")


def _truth(nodes: Nodes, file: Path) -> Mapping[str, Any]:
    """The constant part of the truth, once the robot has reported it."""
    deadline = time.monotonic() + _STARTING
    while not file.exists():
        for _ in nodes.read(_TICK):
            pass
        if time.monotonic() > deadline:
            raise SysidError(f"the simulated robot did not start within {_STARTING:g} s")
    found: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _follow(nodes: Nodes, screen: PrimeScreen, watch: PrimeWatch) -> dict[str, float]:
    """Shows what happens until the programme is over; the processes' shares of a core meanwhile."""
    start: tuple[float, dict[str, float]] | None = None
    usage: dict[str, float] = {}
    news, deadline, over, latest = 0, time.monotonic() + _STARTING, np.inf, np.inf
    while True:
        for line in nodes.read(_TICK):
            watch.take(line)
        now = time.monotonic()
        if watch.finished:
            latest = min(latest, now + _CATCHING_UP)
            behind = watch.waiting and now < latest
            over = np.inf if behind else min(over, now + _SETTLED)
        elif start is None and watch.recorded:
            start = now, _processor_time(nodes)
        elif start is not None and now > start[0]:
            usage = {name: (x - start[1].get(name, x)) / (now - start[0]) for name, x in _processor_time(nodes).items()}
        screen.show(watch, "the programme is over" if watch.finished else "")
        if now > over:
            return usage
        if watch.recorded != news:
            news, deadline = watch.recorded, now + _STALLED
        if now > deadline:
            raise SysidError(
                f"nothing has arrived for {_STALLED:g} s, after {watch.recorded} readings"
                if watch.recorded
                else f"no reading arrived within {_STARTING:g} s"
            )


def _processor_time(nodes: Nodes) -> dict[str, float]:
    return nodes.processor_time() | {"terminal": time.process_time()}
