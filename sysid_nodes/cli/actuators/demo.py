# SPDX-License-Identifier: Apache-2.0
"""The actuators' demo: a leg on a stand whose drives hide what they are, and change on the way."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from sysid_nodes.cli.actuators import demo_config
from sysid_nodes.cli.actuators.demo_screen import ActuatorScreen
from sysid_nodes.cli.actuators.demo_summary import evaluate, summary, verdict
from sysid_nodes.cli.actuators.demo_watch import IDENTIFIER, ActuatorWatch
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
from sysid_nodes.reports.actuators.truth import FILE
from sysid_nodes.robots import limb, load_robot

_RECORDER, _VIEW = "sysid_nodes.ros.actuators.recorder", "rviz/actuators.rviz"


def run(args: argparse.Namespace, machine: Machine) -> Ending:
    """Runs the demo."""
    require_ros()
    seed = draw_seed(args.seed)
    with output_and_work(args.out) as (folder, work):
        (folder / "truth").mkdir()
        demo_config.write_identifier_file(folder / "config.yaml")
        watch, usage = _live(args, seed, folder, work, machine)
        say("Identifying again from the recording and writing the report ...")
        document = evaluate(folder, watch, str(args.out / "bag"))
    say("\n".join([summary(watch, document, usage), *closing_lines(args, seed, "--online")]))
    return verdict(watch, document)


def _live(
    args: argparse.Namespace, seed: int, folder: Path, work: Path, machine: Machine
) -> tuple[ActuatorWatch, Mapping[str, float]]:
    """Runs the nodes until the motion is over; leaves bag and truth in folder."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting leg, identifier and recorder on ROS domain {domain}, this machine only."
    truth = folder / "truth" / FILE
    duration = args.motion_time or demo_config.DURATION
    rviz = rviz_files(work, _VIEW, limb(load_robot("go2"), demo_config.LEG)) if args.rviz else None
    with Nodes(work, domain) as nodes:
        if rviz:
            nodes.rviz(*rviz)
        nodes.recorder(folder / "bag", demo_config.LEG, module=_RECORDER)
        nodes.node("identifier", "actuator_identifier", folder / "config.yaml", diagnostics_period=TICK)
        wait_until_heard(nodes, IDENTIFIER)
        parameters = demo_config.robot_parameters(seed, args.change, duration, truth)
        nodes.node("leg", "simulated_drives", None, **parameters)
        watch = ActuatorWatch(hidden_truth(nodes, truth))
        with ActuatorScreen(title) as screen:
            usage = follow(nodes, watch, _Showing(screen, watch), machine)
            nodes.tell("stop")
            nodes.wait_for_recorder()
            screen.close(watch)
    return watch, usage


class _Showing:
    """Shows a watch, and tells of every alarm once."""

    def __init__(self, screen: ActuatorScreen, watch: ActuatorWatch) -> None:
        self._screen, self._watch = screen, watch
        self._told = 0

    def __call__(self) -> None:
        watch = self._watch
        for alarm in watch.alarms[self._told :]:
            self._screen.say(f"ALARM: {alarm['message']}")
        self._told = len(watch.alarms)
        self._screen.show(watch, "the motion is over" if watch.finished else "")
