# SPDX-License-Identifier: Apache-2.0
"""The Gen3's demo: identify a load in certified motion, then carry it over an obstacle."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from pathlib import Path
from shutil import copyfile
from typing import Any, NamedTuple

import numpy as np

from sysid_nodes.cli.certified import demo_config as kinova_config
from sysid_nodes.cli.certified import demo_summary as summary
from sysid_nodes.cli.certified.demo_screen import Screen
from sysid_nodes.cli.certified.demo_watch import Watch
from sysid_nodes.cli.conclusion import CONTRADICTION
from sysid_nodes.cli.demo.closing import closing_lines, say
from sysid_nodes.cli.demo.ending import NOT_HELD, NOT_THERE, Ending
from sysid_nodes.cli.demo.live_run import (
    TICK,
    Arrivals,
    ProcessorShares,
    draw_seed,
    hidden_truth,
    output_and_work,
)
from sysid_nodes.cli.demo.machine import Machine
from sysid_nodes.cli.demo.nodes import Nodes, free_domain, require_ros
from sysid_nodes.cli.demo.rviz import rviz_files
from sysid_nodes.data.packaged import required_file
from sysid_nodes.data.scene import load_scene
from sysid_nodes.exceptions import OverdueError, SysidError
from sysid_nodes.reports.certified.result import CertifiedRun, goal_check
from sysid_nodes.sessions.certified.settings import CertifiedModel, CertifiedSettings
from sysid_nodes.systems.certified.control.output import Mode

_IDLE = 120.0  # longest rest without a new plan before the goal is given up [s]
_DRAINED = 120.0  # longest wait for what is still under way when the motion is over [s]
_SAVING = 90.0  # longest wait for the recorder, which itself waits for the identifier to save [s]
_PERIOD = 1e-3  # of the joint states [s]
_JUDGED = 0.5  # between two looks of the identifier at its data, each as long as half a window takes [s]
_SAVED = "live.json"
_LISTENERS = 4  # of the joint states: controller, planner, identifier, recorder
_WAYS = "a shorter delay, a lighter payload or a narrower prior leaves larger margins"  # what can be done about that


class _NothingCertifiedError(SysidError):
    """No motion at all, for which the planner had the time."""


class Ended(NamedTuple):
    """The live part's results.

    Attributes:
        watch: what was seen.
        usage: processor time of each process, in shares of the motion's wall time.
        pace: seconds of the robot's time that passed in one of real time, over all.
        before: whether standing at the goal could be certified before, see `goal_check`.
    """

    watch: Watch
    usage: Mapping[str, float]
    pace: float | None
    before: Mapping[str, Any]


def run(args: argparse.Namespace, machine: Machine) -> Ending:
    """Runs the demo."""
    require_ros()
    try:
        return _run(args, machine)
    except _NothingCertifiedError as error:
        return Ending(NOT_THERE, str(error))


def _run(args: argparse.Namespace, machine: Machine) -> Ending:
    """The whole demo.

    Raises:
        _NothingCertifiedError: the robot has not moved.
    """
    seed = draw_seed(args.seed)
    payload = kinova_config.payload(seed, args.payload)
    speed = args.speed or kinova_config.affordable_speed(len(os.sched_getaffinity(0)))
    values = kinova_config.parameters(seed, payload, args.identify, delay=1e-3 * args.delay, speed=speed)
    model = CertifiedModel(CertifiedSettings.of(values))
    scene = required_file(kinova_config.SCENE)
    with output_and_work(args.out) as (folder, work):
        (folder / "config.yaml").write_text(kinova_config.parameter_file(values), encoding="utf-8")
        copyfile(scene, folder / "scene.yaml")
        ended = _live(args, model, scene, folder, work, machine)
        say("Identifying again from the recording and writing the report ...")
        facts = {"prior_check": ended.before, "real_time_factor": ended.pace, "processor": dict(ended.usage)}
        document, loop, agree = summary.evaluate(
            folder, work / _SAVED, scene, ended.watch, str(args.out / "bag"), facts
        )
    told = summary.summary(ended.watch, document, loop, agree=agree, usage=ended.usage)
    say("\n".join([told, *closing_lines(args, seed)]))
    if wrong := [*summary.all_missed_truths(ended.watch, document), *summary.broken_margins(loop)]:
        return Ending(NOT_HELD, f"SOMETHING PROVEN DID NOT HOLD: {', '.join(wrong)}")
    if ended.watch.contradicted:
        return Ending(CONTRADICTION, ended.watch.contradicted)
    if not summary.has_arrived(loop):
        return short_of_goal(loop, ended.watch)
    return Ending()


def short_of_goal(loop: CertifiedRun, watch: Watch) -> Ending:
    """The end of a robot that rests elsewhere; no machine is too slow where a planner with time certifies nothing."""
    if watch.uncertified and summary.is_late(loop):
        return Ending(NOT_THERE, f"The robot rests short of its goal: {watch.uncertified}; {_WAYS}")
    return Ending(NOT_THERE, loop.sentence, summary.is_late(loop))


def _live(
    args: argparse.Namespace, model: CertifiedModel, scene: Path, folder: Path, work: Path, machine: Machine
) -> Ended:
    """Runs the nodes until the robot rests; leaves the bag in folder and the identifier's own result in work."""
    domain = free_domain() if args.domain_id is None else args.domain_id
    title = f"Starting robot, controller, planner, identifier and recorder on ROS domain {domain}, this machine only."
    rviz = rviz_files(work, kinova_config.VIEW, model.robot) if args.rviz else None
    config, truth_file = folder / "config.yaml", work / "truth.json"
    with Nodes(work, domain) as nodes, Screen(title) as screen:
        if rviz:
            nodes.rviz(*rviz)
        nodes.recorder(folder / "bag")
        nodes.node("identifier", "interval_identifier", config, diagnostics_period=_JUDGED, reliability="reliable")
        nodes.node("controller", "robust_controller", config, scene=scene, robust_controller__diagnostics_period=TICK)
        nodes.node("planner", "certified_planner", config, scene=scene, certified_planner__diagnostics_period=TICK)
        nodes.node(
            "robot", "simulated_arm", config, scene=scene, simulated_arm__truth_file=truth_file,
            simulated_arm__listeners=_LISTENERS + bool(rviz),
        )  # fmt: skip
        before = goal_check(model, np.array(kinova_config.GOAL), model.prior, load_scene(scene))
        truth = np.array(hidden_truth(nodes, truth_file)["parameters"])
        watch = Watch(model.prior, truth, tick=_PERIOD)
        if not watch.prior.contains(watch.truth):
            raise SysidError("the payload does not fit into the identifier's prior")
        if not before["certified"]:
            screen.say(f"Not even standing at the goal can be certified yet: {before['reason']}.")
        elif before["position_error"] is not None:
            errors = 1e3 * before["position_error"]
            screen.say(f"Standing at the goal can be certified with errors up to {errors:.1f} mrad.")
        usage, pace = _follow(nodes, screen, watch, machine)
        _save(nodes, screen, watch, work / _SAVED)
    return Ended(watch, usage, pace, before)


def _follow(nodes: Nodes, screen: Screen, watch: Watch, machine: Machine) -> tuple[Mapping[str, float], float | None]:
    """Shows what happens until the robot rests for good; the processes' shares and the pace meanwhile."""
    arrivals, usage = Arrivals("joint state"), ProcessorShares(nodes, machine)
    pace: float | None = None
    begun, plans, patience = 0.0, 0, np.inf
    while True:
        for line in nodes.read(TICK):
            watch.take(line)
        now = time.monotonic()
        if watch.executed:
            if usage.since is None:
                begun = watch.time
            elif now > usage.since:
                pace = (watch.time - begun) / (now - usage.since)
            usage.look(now)
        screen.show(watch)
        moving = watch.mode in (Mode.TRACKING, Mode.BRAKING)
        if watch.finished or (watch.stopped and watch.resting) or (watch.contradicted and not moving):
            return usage.end(), pace
        arrivals.check(watch.recorded, now)
        if moving or len(watch.plans) != plans or not np.isfinite(patience):
            plans, patience = len(watch.plans), now + _IDLE
        if now > patience:
            if not watch.plans and watch.uncertified:
                raise _NothingCertifiedError(f"No motion was certified: {watch.uncertified}; {_WAYS}")
            if not watch.plans:
                raise OverdueError(f"the planner certified no motion within {_IDLE:g} s: {watch.planner}")
            return usage.end(), pace


def _save(nodes: Nodes, screen: Screen, watch: Watch, path: Path) -> None:
    """Stops time, lets what is under way arrive, has the identifier save its result and completes the bag."""
    nodes.end("planner")
    nodes.end("controller")  # without its answers the robot's time stands still
    if watch.stopped:
        nodes.end("robot")  # a robot that holds itself waits for nobody
    deadline, last = time.monotonic() + _DRAINED, -1
    while time.monotonic() < deadline:
        for line in nodes.read(2.0 * TICK):
            watch.take(line)
        screen.show(watch, "the motion is over; the identifier catches up")
        if watch.complete and watch.recorded == last:
            break
        last = watch.recorded
    answers: dict[str, Any] = {}
    nodes.tell(f"save {path}")
    deadline = time.monotonic() + _SAVING
    while not {"saved", "failed"} & set(answers):
        for line in nodes.read(TICK):
            watch.take(line)
            answers |= line
        if time.monotonic() > deadline:
            raise OverdueError(f"the recorder has not told within {_SAVING:g} s whether the result was saved")
    if "failed" in answers:
        raise SysidError(f"the identifier could not save its result: {answers['failed']}")
    nodes.tell("stop")
    nodes.wait_for_recorder()
    screen.close(watch)
