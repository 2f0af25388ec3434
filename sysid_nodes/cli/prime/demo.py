# SPDX-License-Identifier: Apache-2.0
"""The demo of a legged robot: it moves with a load that nobody has told the estimator about."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sysid_nodes.cli.demo.live_run import (
    STARTING,
    TICK,
    Arrivals,
    ProcessorShares,
    draw_seed,
    hidden_truth,
    output_and_work,
)
from sysid_nodes.cli.demo.nodes import Nodes, free_domain, require_ros
from sysid_nodes.cli.demo.rviz import rviz_files
from sysid_nodes.cli.prime import demo_config as legged_config
from sysid_nodes.cli.prime.demo_screen import PrimeScreen
from sysid_nodes.cli.prime.demo_summary import evaluate, summary
from sysid_nodes.cli.prime.demo_watch import ESTIMATOR, PrimeWatch
from sysid_nodes.exceptions import SysidError
from sysid_nodes.reports.prime.truth import FILE, SERIES, feet
from sysid_nodes.robots import Robot, load_robot

_FALLEN = 4
_SETTLED = 0.8  # after the end, for what is under way [s]
_CATCHING_UP = 60.0  # longest wait for an estimator that is behind [s]
_GRAVITY = 9.81  # [m/s2]
_RECORDER = "sysid_nodes.ros.prime.recorder"


def run(args: argparse.Namespace) -> int:
    """Runs the demo and returns the exit status."""
    require_ros()
    seed, robot = draw_seed(args.seed), load_robot(args.robot)
    with output_and_work(args.out) as (folder, work):
        (folder / "truth").mkdir()
        shutil.copyfile(legged_config.estimator_file(args.robot), folder / "config.yaml")
        watch, usage = _live(args, robot, seed, folder, work)
        sys.stdout.write("Estimating again from the recording and writing the report ...\n")
        sys.stdout.flush()
        document = evaluate(folder, watch, str(args.out / "bag"))
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
    rviz = rviz_files(work, legged_config.VIEW, robot.urdf) if args.rviz else None
    names, index = feet(robot)
    with Nodes(work, domain) as nodes:
        if rviz:
            nodes.rviz(*rviz)
        nodes.recorder(folder / "bag", module=_RECORDER)
        nodes.node("estimator", "prime_estimator", folder / "config.yaml", diagnostics_period=TICK)
        _wait_until_heard(nodes)
        parameters = legged_config.robot_parameters(args.robot, carried, seed, duration, truth)
        nodes.node("robot", "simulated_legged_robot", None, **parameters)
        known = hidden_truth(nodes, truth[0])
        watch = PrimeWatch(np.array(known["theta"]), index, robot.body)
        with PrimeScreen(title, names, _GRAVITY * known["total_mass"]) as screen:
            usage = _follow(nodes, screen, watch)
            nodes.tell("stop")
            nodes.wait_for_recorder()
            screen.close(watch)
    return watch, usage


def _wait_until_heard(nodes: Nodes) -> None:
    """Waits until the recorder hears the estimator, whose first estimates it would miss otherwise."""
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline:
        if any(ESTIMATOR in line.get("diagnostics", ()) for line in nodes.read(TICK)):
            return
    raise SysidError(f"nothing was heard of the estimator within {STARTING:g} s")


def _follow(nodes: Nodes, screen: PrimeScreen, watch: PrimeWatch) -> Mapping[str, float]:
    """Shows what happens until the programme is over; the processes' shares of a core meanwhile."""
    arrivals, usage = Arrivals("reading"), ProcessorShares(nodes)
    over, latest = np.inf, np.inf
    while True:
        for line in nodes.read(TICK):
            watch.take(line)
        now = time.monotonic()
        if watch.finished:
            latest = min(latest, now + _CATCHING_UP)
            behind = watch.waiting and now < latest
            over = np.inf if behind else min(over, now + _SETTLED)
        elif watch.recorded:
            usage.look(now)
        screen.show(watch, "the programme is over" if watch.finished else "")
        if now > over:
            return usage.shares
        arrivals.check(watch.recorded, now)
