# SPDX-License-Identifier: Apache-2.0
"""The exploration's demo: a loaded Go2 moves as anyone would have it, and then as tells most about what is left."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path

from sysid_nodes.cli.demo.closing import closing_lines, say
from sysid_nodes.cli.demo.ending import NOT_THERE, Ending
from sysid_nodes.cli.demo.live_run import TICK, draw_seed, follow, hidden_truth, output_and_work, wait_until_heard
from sysid_nodes.cli.demo.machine import Machine
from sysid_nodes.cli.demo.nodes import Nodes, free_domain, require_ros
from sysid_nodes.cli.demo.rviz import rviz_files
from sysid_nodes.cli.sampling import demo_config
from sysid_nodes.cli.sampling.demo_screen import SamplingScreen
from sysid_nodes.cli.sampling.demo_summary import evaluate, summary, verdict
from sysid_nodes.cli.sampling.demo_watch import IDENTIFIER, PLANNER, SamplingWatch
from sysid_nodes.data.config import load_yaml
from sysid_nodes.reports.sampling.stages import true_values
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts.network_policy import NetworkPolicy
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig

_RECORDER, _VIEW = "sysid_nodes.ros.sampling.recorder", "rviz/sampling.rviz"


def run(args: argparse.Namespace, machine: Machine) -> Ending:
    """Runs the demo."""
    require_ros()
    seed, policy = draw_seed(args.seed), str(args.policy.resolve()) if args.policy else ""
    if policy:
        NetworkPolicy(load_robot("go2"), Path(policy))  # refused before anything is started
    try:
        with output_and_work(args.out) as (folder, work):
            (folder / "truth").mkdir()
            demo_config.write_nodes_file(folder / "config.yaml", policy)
            watch, usage = _live(args, seed, policy, folder, work, machine)
            if watch.trouble:
                raise _UnfinishedError(_keep(folder, args.out))
            say("Identifying again from the recording and writing the report ...")
            document = evaluate(folder, watch, str(args.out / "bag"))
    except _UnfinishedError as kept:
        return Ending(NOT_THERE, f"no second stage: {watch.trouble}; the recording is in {kept}", watch.late)
    say("\n".join([summary(watch, document, usage), *closing_lines(args, seed)]))
    return verdict(watch, document)


class _UnfinishedError(Exception):
    """Leaves the folder of the results as it was before."""


def _keep(folder: Path, out: Path) -> Path:
    """Moves what was recorded into a new folder beside the one it was made in, which exists, and returns it."""
    kept = Path(tempfile.mkdtemp(prefix=f"{out.name}_failed_", dir=folder.parent))
    for name in ("bag", "config.yaml", "truth"):
        (folder / name).rename(kept / name)
    return kept


def _live(
    args: argparse.Namespace, seed: int, policy: str, folder: Path, work: Path, machine: Machine
) -> tuple[SamplingWatch, Mapping[str, float]]:
    """Runs the nodes until both stages are over; leaves bag and truth in folder."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting robot, identifier, planner and recorder on ROS domain {domain}, this machine only."
    file, truth = folder / "config.yaml", folder / "truth" / "robot.json"
    rviz = rviz_files(work, _VIEW, load_robot("go2")) if args.rviz else None
    with Nodes(work, domain) as nodes:
        if rviz:
            nodes.rviz(*rviz)
        nodes.recorder(folder / "bag", module=_RECORDER)
        # Reliable, so that recording and identifier hear the same.
        nodes.node("identifier", "spi_identifier", file, diagnostics_period=TICK, reliability="reliable")
        nodes.node("planner", "exploration_planner", file, diagnostics_period=TICK, plans=1)
        wait_until_heard(nodes, IDENTIFIER)
        wait_until_heard(nodes, PLANNER)
        load = demo_config.DEFAULT_LOAD if args.payload is None else args.payload
        parameters = demo_config.robot_parameters(seed, load, truth, policy)
        nodes.node("robot", "simulated_legged_robot", None, tf=args.rviz, **parameters)
        hidden, robot = hidden_truth(nodes, truth), load_robot("go2")
        values = true_values(hidden["theta"], demo_config.STRENGTH, robot)
        watch = SamplingWatch(values, robot, load_yaml(SamplingSessionConfig, file).sampling)
        with SamplingScreen(title) as screen:
            usage = follow(nodes, watch, lambda: screen.show(watch), machine)
            nodes.tell("stop")
            nodes.wait_for_recorder()
            screen.close(watch)
    return watch, usage
