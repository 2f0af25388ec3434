"""The Gen3's demo: identify a load in certified motion, then carry it over an obstacle."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sysid_nodes.cli.certified import demo_config as kinova_config
from sysid_nodes.cli.certified import demo_summary as summary
from sysid_nodes.cli.certified.demo_screen import Screen
from sysid_nodes.cli.certified.demo_watch import Watch
from sysid_nodes.cli.demo.nodes import Nodes, free_domain, require_ros
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.data.scene import load_scene
from sysid_nodes.exceptions import SysidError
from sysid_nodes.reports.certified.result import goal_check
from sysid_nodes.sessions.certified.settings import CertifiedModel, CertifiedSettings

_WRONG, _CONTRADICTION, _NOT_THERE = 1, 3, 4
_STARTING = 90.0  # longest wait for the first joint state [s]
_STALLED = 60.0  # longest wait for anything new after it [s]
_IDLE = 45.0  # longest rest without a new plan before the goal is given up [s]
_DRAINED = 30.0  # longest wait for what is still under way when the motion is over [s]
_SAVING = 90.0  # longest wait for the recorder, which itself waits for the identifier to save [s]
_TICK = 0.2  # between two looks at the screen [s]
_PERIOD = 1e-3  # of the joint states [s]
_SAVED = "live.json"
_LISTENERS = 4  # of the joint states: controller, planner, identifier, recorder


class Ended(NamedTuple):
    """What the live part hands over.

    Attributes:
        watch: what was seen.
        usage: processor time of each process, in shares of the motion's wall time.
        pace: seconds of the robot's time that passed in one of real time, over all.
    """

    watch: Watch
    usage: Mapping[str, float]
    pace: float | None


def run(args: argparse.Namespace) -> int:
    """Runs the demo and returns the exit status."""
    require_ros()
    seed = int.from_bytes(os.urandom(3), "big") if args.seed is None else args.seed
    payload = kinova_config.payload(seed, args.payload)
    values = kinova_config.parameters(seed, payload, args.identify)
    model = CertifiedModel(CertifiedSettings.of(values))
    scene = kinova_config.packaged(kinova_config.SCENE)
    with OutputFolder(args.out) as folder:
        work = folder / ".live"
        work.mkdir()
        (folder / "config.yaml").write_text(kinova_config.parameter_file(values), encoding="utf-8")
        before = goal_check(model, np.array(kinova_config.GOAL), model.prior, load_scene(scene))
        ended = _live(args, model, scene, folder, work, before)
        sys.stdout.write("Identifying again from the recording and writing the report ...\n")
        sys.stdout.flush()
        facts = {"prior_check": before, "real_time_factor": ended.pace, "processor": dict(ended.usage)}
        document, loop, agree = summary.evaluate(
            folder, work / _SAVED, scene, ended.watch, str(args.out / "bag"), facts
        )
        shutil.rmtree(work)
    told = summary.summary(ended.watch, document, loop, agree=agree, usage=ended.usage, out=args.out, seed=seed)
    sys.stdout.write(told + "\n")
    sys.stdout.flush()
    if wrong := [*summary.missed_ever(ended.watch, document), *summary.broken(loop)]:
        sys.stderr.write(f"sysid: SOMETHING PROVEN DID NOT HOLD: {', '.join(wrong)}\n")
        return _WRONG
    if ended.watch.contradicted:
        sys.stderr.write(f"sysid: demo: {ended.watch.contradicted}\n")
        return _CONTRADICTION
    if not summary.arrived(loop):
        sys.stderr.write(f"sysid: demo: {loop.sentence}\n")
        return _NOT_THERE
    return 0


def _live(
    args: argparse.Namespace, model: CertifiedModel, scene: Path, folder: Path, work: Path, before: Mapping[str, Any]
) -> Ended:
    """Runs the nodes until the robot rests; leaves the bag in folder and the identifier's own result in work."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting robot, controller, planner, identifier and recorder on ROS domain {domain}, this machine only."
    rviz = kinova_config.rviz_files(work) if args.rviz else None
    config, truth_file = folder / "config.yaml", work / "truth.json"
    with Nodes(work, domain) as nodes, Screen(title) as screen:
        if rviz:
            nodes.rviz(*rviz)
        nodes.recorder(folder / "bag")
        nodes.node("identifier", "interval_identifier", config, diagnostics_period=_TICK)
        nodes.node("controller", "robust_controller", config, scene=scene, robust_controller__diagnostics_period=_TICK)
        nodes.node("planner", "certified_planner", config, scene=scene, certified_planner__diagnostics_period=_TICK)
        nodes.node(
            "robot", "simulated_robot", config, scene=scene, simulated_robot__truth_file=truth_file,
            simulated_robot__listeners=_LISTENERS + bool(rviz),
        )  # fmt: skip
        watch = Watch(model.prior, _truth(nodes, truth_file), identify=args.identify, tick=_PERIOD)
        if not watch.prior.contains(watch.truth):
            raise SysidError("the payload does not fit into the identifier's prior")
        if not before["certified"]:
            screen.say(f"Not even standing at the goal can be certified yet: {before['reason']}.")
        usage, pace = _follow(nodes, screen, watch)
        _save(nodes, screen, watch, work / _SAVED)
    return Ended(watch, usage, pace)


def _truth(nodes: Nodes, file: Path) -> Any:
    """What the arm carries, once it has told."""
    deadline = time.monotonic() + _STARTING
    while not file.exists():
        for _ in nodes.read(_TICK):
            pass
        if time.monotonic() > deadline:
            raise SysidError(f"the simulated robot did not start within {_STARTING:g} s")
    return np.array(json.loads(file.read_text(encoding="utf-8"))["parameters"])


def _follow(nodes: Nodes, screen: Screen, watch: Watch) -> tuple[dict[str, float], float | None]:
    """Shows what happens until the robot rests for good; the processes' shares and the pace meanwhile."""
    start: tuple[float, float, dict[str, float]] | None = None
    usage: dict[str, float] = {}
    pace: float | None = None
    news, deadline = 0, time.monotonic() + _STARTING
    plans, patience = 0, np.inf
    while True:
        for line in nodes.read(_TICK):
            watch.take(line)
        now = time.monotonic()
        if start is None and watch.executed:
            start = now, watch.time, _processor_time(nodes)
        elif start is not None and now > start[0]:
            usage = {name: (x - start[2].get(name, x)) / (now - start[0]) for name, x in _processor_time(nodes).items()}
            pace = (watch.time - start[1]) / (now - start[0])
        screen.show(watch)
        moving = watch.mode.name in ("TRACKING", "BRAKING")
        if watch.finished or (watch.stopped and watch.resting) or (watch.contradicted and not moving):
            return usage, pace
        if watch.recorded != news:
            news, deadline = watch.recorded, now + _STALLED
        if now > deadline:
            raise SysidError(
                f"nothing has arrived for {_STALLED:g} s, after {watch.recorded} joint states"
                if watch.recorded
                else f"no joint state arrived within {_STARTING:g} s"
            )
        if moving or len(watch.plans) != plans or not np.isfinite(patience):
            plans, patience = len(watch.plans), now + _IDLE
        if now > patience:
            if not watch.plans:
                raise SysidError(f"the planner certified no motion within {_IDLE:g} s: {watch.planner}")
            return usage, pace


def _save(nodes: Nodes, screen: Screen, watch: Watch, path: Path) -> None:
    """Stops time, lets what is under way arrive, has the identifier save its result and completes the bag."""
    nodes.end("planner")
    nodes.end("controller")  # without its answers the robot's time stands still
    if watch.stopped:
        nodes.end("robot")  # a robot that holds itself waits for nobody
    deadline, last = time.monotonic() + _DRAINED, -1
    while time.monotonic() < deadline:
        for line in nodes.read(2.0 * _TICK):
            watch.take(line)
        screen.show(watch, "the motion is over; the identifier catches up")
        if watch.complete and watch.recorded == last:
            break
        last = watch.recorded
    answers: dict[str, Any] = {}
    nodes.tell(f"save {path}")
    deadline = time.monotonic() + _SAVING
    while not {"saved", "failed"} & set(answers):
        for line in nodes.read(_TICK):
            watch.take(line)
            answers |= line
        if time.monotonic() > deadline:
            raise SysidError(f"the recorder has not told within {_SAVING:g} s whether the result was saved")
    if "failed" in answers:
        raise SysidError(f"the identifier could not save its result: {answers['failed']}")
    nodes.tell("stop")
    nodes.wait_for_recorder()
    screen.close(watch)


def _processor_time(nodes: Nodes) -> dict[str, float]:
    return nodes.processor_time() | {"terminal": time.process_time()}
