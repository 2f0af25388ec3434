# SPDX-License-Identifier: Apache-2.0
"""The demo of a legged robot: it moves with a load that nobody has told the estimator about."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sysid_nodes.cli.demo.closing import closing_lines, say
from sysid_nodes.cli.demo.ending import Ending
from sysid_nodes.cli.demo.live_run import (
    TICK,
    draw_seed,
    follow,
    hidden_truth,
    output_and_work,
    wait_until_heard,
)
from sysid_nodes.cli.demo.machine import Machine
from sysid_nodes.cli.demo.nodes import Nodes, free_domain, require_ros
from sysid_nodes.cli.demo.rviz import rviz_files
from sysid_nodes.cli.prime import demo_config
from sysid_nodes.cli.prime.demo_screen import PrimeScreen
from sysid_nodes.cli.prime.demo_summary import evaluate, summary, verdict
from sysid_nodes.cli.prime.demo_watch import ESTIMATOR, PrimeWatch
from sysid_nodes.data.config import load_yaml
from sysid_nodes.reports.prime.truth import FILE, SERIES, feet
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sessions.prime.config import PrimeSessionConfig

_GRAVITY = 9.81  # [m/s2]
_RECORDER = "sysid_nodes.ros.prime.recorder"


def run(args: argparse.Namespace, machine: Machine) -> Ending:
    """Runs the demo."""
    require_ros()
    seed, robot = draw_seed(args.seed), load_robot(args.robot)
    with output_and_work(args.out) as (folder, work):
        (folder / "truth").mkdir()
        shutil.copyfile(demo_config.estimator_file(args.robot), folder / "config.yaml")
        watch, usage = _live(args, robot, seed, folder, work, machine)
        say("Estimating again from the recording and writing the report ...")
        document = evaluate(folder, watch, str(args.out / "bag"))
    say("\n".join([summary(watch, document, usage), *closing_lines(args, seed)]))
    return verdict(document, fallen=watch.fallen)


def _live(
    args: argparse.Namespace, robot: Robot, seed: int, folder: Path, work: Path, machine: Machine
) -> tuple[PrimeWatch, Mapping[str, float]]:
    """Runs the nodes until the programme is over; leaves bag and truth in folder."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting robot, estimator and recorder on ROS domain {domain}, this machine only."
    duration = args.motion_time or demo_config.DURATION[args.robot]
    truth = folder / "truth" / FILE, folder / "truth" / SERIES
    carried = demo_config.load(seed, args.payload)
    rviz = rviz_files(work, demo_config.VIEW, robot) if args.rviz else None
    names, index = feet(robot)
    with Nodes(work, domain) as nodes:
        if rviz:
            nodes.rviz(*rviz)
        nodes.recorder(folder / "bag", args.robot, module=_RECORDER)
        nodes.node("estimator", "prime_estimator", folder / "config.yaml", diagnostics_period=TICK, tf=args.rviz)
        wait_until_heard(nodes, ESTIMATOR)
        parameters = demo_config.robot_parameters(args.robot, carried, seed, duration, truth)
        nodes.node("robot", "simulated_legged_robot", None, **parameters)
        known = hidden_truth(nodes, truth[0])
        step = load_yaml(PrimeSessionConfig, folder / "config.yaml").prime.step
        watch = PrimeWatch(np.array(known["theta"]), index, robot.body, step)
        with PrimeScreen(title, names, _GRAVITY * known["total_mass"]) as screen:
            usage = follow(nodes, watch, lambda: _show(screen, watch), machine)
            nodes.tell("stop")
            nodes.wait_for_recorder()
            screen.close(watch)
    return watch, usage


def _show(screen: PrimeScreen, watch: PrimeWatch) -> None:
    screen.show(watch, "the programme is over" if watch.finished else "")
