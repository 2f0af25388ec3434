"""A simulated robot moves a payload that nobody has told the identifier about, and the identifier weighs it, live.

A MuJoCo Kinova Gen3 with a dumbbell in its hand follows an exciting motion under torque control and publishes
/joint_states at 1 kHz from a process of its own; the node interval_identifier listens to it over DDS in another. They
use a ROS domain of their own on this machine only, so that no robot on the network hears them. The terminal shows
the proven intervals shrink around the truth. Writes into the folder given by --out
  bag/          recording of /joint_states and of the published bounds
  config.yaml   the identifier's parameters, for 'sysid replay'
  result.json   the result and its history, the truth included
  report.html   everything for people, in one page
  series.npz    the torques in that page

examples:
  sysid demo kinova
  sysid demo kinova --payload 2.5 --duration 30 --out results/demo
  sysid demo kinova --seed 4 --rviz

exit status: 1 a true parameter was outside its interval; 3 the data contradicted the stated assumptions
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.cli import demo_config, demo_summary
from sysid_nodes.cli.demo_nodes import Nodes, free_domain, require_ros
from sysid_nodes.cli.demo_screen import Screen
from sysid_nodes.cli.demo_watch import Watch
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.exceptions import SysidError
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.simulation import SimulationConfig

_OUTSIDE, _CONTRADICTION = 1, 3
_STARTING = 60.0  # longest wait for the first joint state [s]
_STALLED = 20.0  # longest wait for anything new after it [s]
_TICK = 0.2  # between two looks at the screen [s]
_SAVED = "live.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", choices=("kinova",), help="which robot")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo_output"),
        metavar="DIR",
        help="folder for the results; default: %(default)s",
    )
    parser.add_argument(
        "--seed", type=_count, metavar="N", help="of all that is random; default: another one every time"
    )
    parser.add_argument(
        "--duration",
        type=_within(1.0, 600.0),
        default=12.0,
        metavar="S",
        help="of the motion [s]; default: %(default)g",
    )
    parser.add_argument(
        "--payload",
        type=_within(0.1, 3.8),
        metavar="KG",
        help="mass of the dumbbell; default: drawn from 1.8 to 3.6 kg",
    )
    parser.add_argument("--domain-id", type=_domain, metavar="N", help="ROS_DOMAIN_ID to use; default: a free one")
    parser.add_argument("--rviz", action="store_true", help="show the arm in RViz (needs a ROS install that has it)")


def run(args: argparse.Namespace) -> int:
    require_ros()
    seed = int.from_bytes(os.urandom(3), "big") if args.seed is None else args.seed
    simulation = SimulationConfig(robot_error=demo_config.ROBOT_ERROR)
    config = demo_config.identifier(simulation)
    with OutputFolder(args.out) as folder:
        work = folder / ".live"
        work.mkdir()
        (folder / "config.yaml").write_text(demo_config.parameter_file(config), encoding="utf-8")
        watch, usage = _live(args, seed, simulation, config, folder, work)
        sys.stdout.write("Replaying the recording and writing the report ...\n")
        sys.stdout.flush()
        document, agree = demo_summary.evaluate(folder, work / _SAVED, watch, str(args.out / "bag"))
        shutil.rmtree(work)
    sys.stdout.write(demo_summary.summary(watch, document, agree=agree, usage=usage, out=args.out, seed=seed) + "\n")
    if missed := demo_summary.missed_ever(watch, document):
        sys.stdout.flush()
        sys.stderr.write(f"sysid: THE TRUTH WAS OUTSIDE A PUBLISHED BOUND: {', '.join(missed)}\n")
        return _OUTSIDE
    if watch.contradicted:
        sys.stdout.flush()
        sys.stderr.write(f"sysid: demo: {watch.contradicted}\n")
        return _CONTRADICTION
    return 0


def _live(
    args: argparse.Namespace,
    seed: int,
    simulation: SimulationConfig,
    config: IntervalIdentifierConfig,
    folder: Path,
    work: Path,
) -> tuple[Watch, dict[str, float]]:
    """Runs the nodes through the motion; leaves the bag in folder and the identifier's own result in work.

    Returns:
        What was seen, and the processor time of each process in shares of the motion's wall time.
    """
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting the simulated arm, the identifier and the recorder on ROS domain {domain}, this machine only."
    rviz = demo_config.rviz_files(work) if args.rviz else None
    with Nodes(work, domain) as nodes, Screen(title) as screen:
        if rviz:
            nodes.rviz(*rviz)
        nodes.identifier(folder / "config.yaml", diagnostics_period=_TICK)
        truth_file = work / "truth.json"
        nodes.node(
            "arm", "simulated_arm", seed=seed, payload=float(args.payload or 0.0), duration=float(args.duration),
            listeners=3 if args.rviz else 2, truth_file=truth_file, simulation__robot_error=simulation.robot_error,
        )  # fmt: skip
        nodes.recorder(folder / "bag")
        watch = Watch(
            config.prior.bounds, _truth(nodes, truth_file), duration=args.duration, tick=1.0 / simulation.rate
        )
        if not watch.prior.contains(watch.truth):
            raise SysidError("the payload does not fit into the identifier's prior")
        usage = _follow(nodes, screen, watch)
        _save(nodes, screen, watch, work / _SAVED)
    return watch, usage


def _truth(nodes: Nodes, file: Path) -> Any:
    """What the arm carries, once it has told."""
    deadline = time.monotonic() + _STARTING
    while not file.exists():
        for _ in nodes.read(_TICK):
            pass
        if time.monotonic() > deadline:
            raise SysidError(f"the simulated arm did not start within {_STARTING:g} s")
    return np.array(json.loads(file.read_text(encoding="utf-8"))["parameters"])


def _follow(nodes: Nodes, screen: Screen, watch: Watch) -> dict[str, float]:
    """Shows what happens until the identifier has seen all of the motion, or what of it reached it."""
    start: tuple[float, dict[str, float]] | None = None
    usage: dict[str, float] = {}
    news, deadline = (0, 0, 0), time.monotonic() + _STARTING
    while not watch.complete:
        for line in nodes.read(_TICK):
            watch.take(line)
        now = time.monotonic()
        if start is None and watch.state == "moving":
            start = now, _processor_time(nodes)
        elif start is not None and watch.state == "moving":
            usage = {name: (x - start[1].get(name, x)) / (now - start[0]) for name, x in _processor_time(nodes).items()}
        screen.show(watch, "the motion is over; the identifier catches up" if watch.state == "finished" else "")
        if (seen := (watch.recorded, watch.received, watch.waiting)) != news:
            news, deadline = seen, now + (_STALLED if watch.recorded else _STARTING)
        if now > deadline and not watch.recorded:
            raise SysidError(f"no joint state arrived within {_STARTING:g} s ({watch.state or 'the arm is silent'})")
        if now > deadline:
            if watch.state == "finished":
                break  # something was lost, and the summary counts it
            raise SysidError(f"nothing has arrived for {_STALLED:g} s, after {watch.recorded} joint states")
    return usage


def _save(nodes: Nodes, screen: Screen, watch: Watch, path: Path) -> None:
    """Has the identifier save its result and the recorder complete the bag."""
    answers: dict[str, Any] = {}
    nodes.tell(f"save {path}")
    while not {"saved", "failed"} & set(answers):
        for line in nodes.read(_TICK):
            watch.take(line)
            answers |= line
    if "failed" in answers:
        raise SysidError(f"the identifier could not save its result: {answers['failed']}")
    nodes.tell("stop")
    nodes.wait_for_recorder()
    screen.close(watch)


def _processor_time(nodes: Nodes) -> dict[str, float]:
    return nodes.processor_time() | {"terminal": time.process_time()}


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, got '{text}'")
    return int(text)


def _domain(text: str) -> int:
    if not text.isdigit() or int(text) > 232:
        raise argparse.ArgumentTypeError(f"expected 0 to 232, got '{text}'")
    return int(text)


def _within(low: float, high: float) -> Any:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"expected a number from {low:g} to {high:g}, got '{text}'")
        return value

    return number
