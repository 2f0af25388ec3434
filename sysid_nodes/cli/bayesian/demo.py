# SPDX-License-Identifier: Apache-2.0
"""The four-bar leg's demo: MuJoCo hides a leg; a live posterior tells what it is, and how well that is known."""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.bayesian.demo_screen import BayesianScreen
from sysid_nodes.cli.bayesian.demo_watch import IDENTIFIER, BayesianWatch
from sysid_nodes.cli.bayesian.online import replay_online
from sysid_nodes.cli.conclusion import CONTRADICTION
from sysid_nodes.cli.demo.closing import closing_lines, machine_lines, say
from sysid_nodes.cli.demo.ending import NOT_HELD, Ending
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
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.packaged import packaged_file
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.bayesian.live import compare_live, session_run
from sysid_nodes.reports.bayesian.report import headline
from sysid_nodes.reports.bayesian.run import write_bayesian_run
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.simulation.fourbar.config import SimulatedLinkageConfig

CONFIG = "config/fourbar_bayesian.yaml"

_RECORDER = "sysid_nodes.ros.bayesian.recorder"
_ENOUGH = 0.8  # of the intervals of 95 % that have to hold the truth: less is no chance of a posterior that covers


def run(args: argparse.Namespace, machine: Machine) -> Ending:
    """Runs the demo.

    Raises:
        SysidError: a process has ended, or the output cannot be written.
    """
    require_ros()
    if args.rviz:
        raise InputError("--rviz: encoders do not tell where all of a linkage is; the demo's bag holds it, computed")
    seed = draw_seed(args.seed)
    source = packaged_file(CONFIG)
    if source is None:
        raise InputError("is not installed", source=CONFIG)
    with output_and_work(args.out) as (folder, work):
        (folder / "truth").mkdir()
        shutil.copyfile(source, folder / "config.yaml")
        watch, usage = _live(args, seed, folder, work, machine)
        say("Identifying again from the recording and writing the report ...")
        document = evaluate(folder, watch.truth, str(args.out / "bag"))
    say("\n".join([_summary(watch, document, usage), *closing_lines(args, seed)]))
    return verdict(document, watch.overloaded)


def _live(
    args: argparse.Namespace, seed: int, folder: Path, work: Path, machine: Machine
) -> tuple[BayesianWatch, Mapping[str, float]]:
    """Runs the nodes until the motion is over; leaves bag and truth in folder."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting leg, identifier and recorder on ROS domain {domain}, this machine only."
    truth = folder / "truth" / "leg.json"
    motion = {"duration": float(args.motion_time or SimulatedLinkageConfig().duration), "seed": seed % 2**31}
    with Nodes(work, domain) as nodes:
        nodes.recorder(folder / "bag", module=_RECORDER)
        nodes.node("identifier", "bayesian_identifier", folder / "config.yaml", diagnostics_period=TICK)
        wait_until_heard(nodes, IDENTIFIER)
        nodes.node("leg", "simulated_linkage", None, listeners=2, truth_file=truth, **motion)
        watch = BayesianWatch(hidden_truth(nodes, truth))
        with BayesianScreen(title) as screen:
            usage = follow(
                nodes, watch, lambda: screen.show(watch, "the motion is over" if watch.finished else ""), machine
            )
            nodes.tell("stop")
            nodes.wait_for_recorder()
            screen.close(watch)
    return watch, usage


def evaluate(folder: Path, truth: Mapping[str, float], source: str) -> dict[str, Any]:
    """Replays folder/bag by the live node's session, writes all files of a replay and returns the result.

    Raises:
        SysidError: the recording cannot be read, or nothing can be identified from it.
    """
    config = load_yaml(BayesianSessionConfig, folder / "config.yaml")
    began = time.monotonic()
    session, updates = replay_online(folder, folder / "bag", config, "/joint_states")
    live = compare_live(folder / "bag", updates)
    return write_bayesian_run(folder, session_run(session, source, time.monotonic() - began, truth, live))


def verdict(document: Mapping[str, Any], overloaded: bool = False) -> Ending:
    """Exit status, and what did not hold; whether the identifier had lost messages to overload."""
    status, live = BayesianStatus[document["status"]], document["online"]["live"]
    if not status.trusted:
        return Ending(CONTRADICTION, document["message"])
    rows = [row for row in document["parameters"] if row["verdict"] == "observed"]
    inside = sum(row["lower"] <= row["truth"] <= row["upper"] for row in rows)
    if inside < _ENOUGH * len(rows):
        return Ending(NOT_HELD, f"only {inside} of {len(rows)} intervals of 95 % hold the truth")
    if not live["equal"] == live["published"] > 0:
        return Ending(NOT_HELD, str(live["sentence"]), overloaded)
    return Ending()


def _summary(watch: BayesianWatch, document: Mapping[str, Any], usage: Mapping[str, float]) -> str:
    lines = [f"{headline(document)}.", document["online"]["live"]["sentence"]]
    return "\n".join([*lines, *machine_lines(watch.behind, usage)])
