# SPDX-License-Identifier: Apache-2.0
"""The actuators' demo: a leg on a stand whose drives hide what they are, and change on the way."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.actuators import demo_config
from sysid_nodes.cli.actuators.demo_screen import ActuatorScreen
from sysid_nodes.cli.actuators.demo_summary import evaluate, summary, verdict
from sysid_nodes.cli.actuators.demo_watch import IDENTIFIER, ActuatorWatch
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
from sysid_nodes.exceptions import SysidError
from sysid_nodes.reports.actuators.truth import FILE

_RECORDER = "sysid_nodes.ros.actuators.recorder"
_SETTLED = 1.0  # after the end, for what is under way [s]
_CATCHING_UP = 120.0  # longest wait for an identifier that is behind [s]


def run(args: argparse.Namespace) -> int:
    """Runs the demo and returns the exit status."""
    require_ros()
    seed = draw_seed(args.seed)
    with output_and_work(args.out) as (folder, work):
        (folder / "truth").mkdir()
        demo_config.write_identifier_file(folder / "config.yaml")
        watch, usage = _live(args, seed, folder, work)
        sys.stdout.write("Identifying again from the recording and writing the report ...\n")
        sys.stdout.flush()
        document = evaluate(folder, watch, str(args.out / "bag"))
    sys.stdout.write(summary(watch, document, usage, args.out, seed) + "\n")
    sys.stdout.flush()
    status, fault = verdict(watch, document)
    if fault:
        sys.stderr.write(f"sysid: demo: {fault}\n")
    return status


def _live(args: argparse.Namespace, seed: int, folder: Path, work: Path) -> tuple[ActuatorWatch, Mapping[str, float]]:
    """Runs the nodes until the motion is over; leaves bag and truth in folder."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting leg, identifier and recorder on ROS domain {domain}, this machine only."
    truth = folder / "truth" / FILE
    duration = args.motion_time or demo_config.DURATION
    with Nodes(work, domain) as nodes:
        nodes.recorder(folder / "bag", module=_RECORDER)
        nodes.node("identifier", "actuator_identifier", folder / "config.yaml", diagnostics_period=TICK)
        _wait_until_heard(nodes)
        parameters = demo_config.robot_parameters(seed, args.change, duration, truth)
        nodes.node("leg", "simulated_drives", None, **parameters)
        watch = ActuatorWatch(hidden_truth(nodes, truth))
        with ActuatorScreen(title) as screen:
            usage = _follow(nodes, screen, watch)
            nodes.tell("stop")
            nodes.wait_for_recorder()
            screen.close(watch)
    return watch, usage


def _wait_until_heard(nodes: Nodes) -> None:
    """Waits until the recorder hears the identifier, whose first models it would miss otherwise."""
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline:
        if any(IDENTIFIER in line.get("diagnostics", ()) for line in nodes.read(TICK)):
            return
    raise SysidError(f"nothing was heard of the identifier within {STARTING:g} s")


def _follow(nodes: Nodes, screen: ActuatorScreen, watch: ActuatorWatch) -> Mapping[str, float]:
    """Shows what happens until the motion is over; the processes' shares of a core meanwhile."""
    arrivals, usage = Arrivals("reading"), ProcessorShares(nodes)
    over, latest = float("inf"), float("inf")
    alarms: list[Any] = []
    while True:
        for line in nodes.read(TICK):
            watch.take(line)
        now = time.monotonic()
        if watch.finished:
            latest = min(latest, now + _CATCHING_UP)
            behind = watch.waiting and now < latest
            over = float("inf") if behind else min(over, now + _SETTLED)
        elif watch.recorded:
            usage.look(now)
        for alarm in watch.alarms[len(alarms) :]:
            alarms.append(alarm)
            screen.say(f"ALARM: {alarm['message']}")
        screen.show(watch, "the motion is over" if watch.finished else "")
        if now > over:
            return usage.shares
        if not watch.finished:
            arrivals.check(watch.recorded, now)
