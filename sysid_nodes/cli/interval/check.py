# SPDX-License-Identifier: Apache-2.0
"""sysid check of an arm's recording: signals joint by joint, noise, delay, and what would mend them."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from sysid_nodes.cli.conclusion import CONTRADICTION
from sysid_nodes.cli.interval.configuration import load
from sysid_nodes.cli.progress import track
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.logs import read_joint_states
from sysid_nodes.logs.reader import TopicLog
from sysid_nodes.robots import Robot
from sysid_nodes.signals.driver import DriverSignals, SignalsConfig
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.rejection import POSITION_JUMP, TURN_UNKNOWN
from sysid_nodes.signals.stream import Sample
from sysid_nodes.signals.windows import Windower
from sysid_nodes.systems.interval.arm_stream import joint_stream
from sysid_nodes.systems.interval.check.arm_check import still_joints
from sysid_nodes.systems.interval.check.arm_fit import SURE
from sysid_nodes.systems.interval.check.mending import parameter_lines
from sysid_nodes.systems.interval.check.rounds import CheckRounds, check_in_rounds
from sysid_nodes.systems.interval.check.signal_record import SignalRecord, Signals
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.missing_samples import MissingSamples
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.stream_watch import dead_signals, missing_joints

_MOST = 60_000
"""Joint states looked at; more are thinned evenly."""


def run(args: argparse.Namespace) -> int:
    """Looks it over and returns the exit status."""
    arm = load(args, args.bag)
    robot, config = arm.robot, arm.config
    log = read_joint_states(args.bag, args.topic)
    record = SignalRecord(robot.joint_names, DriverSignals(SignalsConfig(), robot.n), most=_MOST)
    stream, names, left_out = joint_stream(robot, config), set[str](), _LeftOut(robot, config)
    for message in track(log, f"read {args.bag.name}"):
        record.take(message)
        names.update(message.names)
        taken = stream.push(message.names, message.stamp, message.position, message.velocity, message.effort)
        if taken is not None:
            left_out.take(taken)
    signals = record.signals()
    if len(signals) < 2:
        faults = missing_joints(robot, names)
        raise ExcitationError(
            faults[0].message if faults else f"no two joint states can be judged{_rejection_note(stream.rejected)}",
            source=str(args.bag),
        )
    rounds = check_in_rounds(robot, config, signals)
    dead = dead_signals(robot, signals)
    lines = [
        *_contents(robot, log, signals, names),
        *_joints(rounds),
        *_knowledge(rounds),
        *_mending_lines(rounds, dead),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    if "signals.position_unit" in rounds.values:  # turns and jumps were of positions in another unit
        for reasons in (stream.restarts, stream.rejected):
            for reason in (TURN_UNKNOWN, POSITION_JUMP):
                reasons.pop(reason, None)
    for reason in stream.restarts:
        sys.stdout.write(f"within the recording: {reason}; cut it there\n")
    for reason, count in sorted(stream.rejected.items()):
        sys.stdout.write(f"with the configuration as it is {count} joint states are not used: {reason}\n")
    sys.stdout.writelines(f"{line}\n" for line in left_out.lines())
    if too_short := left_out.too_short(config):
        sys.stdout.write(f"{too_short}\n")
    return CONTRADICTION if rounds.findings or dead or stream.restarts or too_short else 0


class _LeftOut:
    """Counts windows that an identification leaves out for lost samples, since the clock was last set back."""

    def __init__(self, robot: Robot, config: IntervalIdentifierConfig) -> None:
        self._windower = Windower(robot.joint_names, config.window.duration, config.window.max_gap)
        self._noise = Noise.from_config(config.noise, robot.n, robot.encoder_step)
        self._newest = float("-inf")
        self._restart()

    def take(self, sample: Sample) -> None:
        """Takes a sample that the stream has accepted."""
        if sample.t <= self._newest:
            self._windower.reset()
            self._restart()
        self._newest = sample.t
        if (window := self._windower.push(sample.t, sample.q, sample.qd, sample.tau)) is not None:
            edges = np.array([[0, len(window.t) - 1]])
            for reason, which in self._missing.violations(window, edges, self._noise).items():
                self._count[reason] += int(which[0])

    def lines(self) -> Iterator[str]:
        """One for each reason that there was."""
        duration, windows = self._windower.duration, self._windower.windows
        for reason, count in self._count.items():
            if count:
                yield f"{count} of {windows} windows of {duration:g} s are left out: {reason}"

    def too_short(self, config: IntervalIdentifierConfig) -> str:
        """That a replay would claim nothing, for there are too few windows to weigh against a calibration; or empty."""
        used, duration = self._windower.windows - sum(self._count.values()), self._windower.duration
        if not config.calibration or used >= config.weigh_first:
            return ""
        return (
            f"only {used} windows of {duration:g} s can be used: nothing is claimed before {config.weigh_first}, "
            f"{config.weigh_first * duration:g} s, are weighed against the calibration; record longer"
        )

    def _restart(self) -> None:
        self._missing, self._count = MissingSamples(), Counter[str]()


def _rejection_note(rejected: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(rejected.items()))
    return f" (rejected: {reasons})" if reasons else ""


def _mending_lines(rounds: CheckRounds, dead: list[Finding]) -> Iterator[str]:
    """Findings, and the lines of the parameter file that mend them."""
    findings = (*dead, *rounds.findings)
    if not findings:
        fit = rounds.first.fit
        told = rounds.first.long and fit is not None and any(joint.evidence > SURE for joint in fit.joints)
        yield (
            "nothing to mend: signals and configuration agree"
            if told
            else ("nothing found to mend, but this motion tells too little of the torques")
        )
        return
    yield f"to mend ({len(findings)}):"
    yield from (f"  {finding.message}" for finding in findings)
    if rounds.values:
        yield "in the parameter file, below ros__parameters:"
        yield from (f"  {line}" for line in parameter_lines(rounds.values))
        if rounds.is_mended:
            yield "with these lines signals and configuration agree"


def _contents(robot: Robot, log: TopicLog[RawJointState], signals: Signals, names: set[str]) -> Iterator[str]:
    steps = np.diff(signals.t)
    span = float(signals.t[-1] - signals.t[0])
    others = [topic.name for topic in log.topics if topic.name != log.topic.name]
    yield (
        f"{log.path}: {len(log)} joint states in {span:.1f} s, {1.0 / np.median(steps):.0f} Hz, "
        f"steps {1e3 * steps.min():.1f} to {1e3 * steps.max():.1f} ms"
        + (f"; other topics: {', '.join(others[:8])}" if others else "")
    )
    extra = sorted(names - set(robot.joint_names))
    yield f"robot {robot.name}: {', '.join(robot.joint_names)}" + (f"; not of it: {', '.join(extra)}" if extra else "")


def _joints(rounds: CheckRounds) -> Iterator[str]:
    """A line for each joint: how its signals read with the configuration as it is, and the evidence."""
    robot, check = rounds.robot, rounds.first
    if check.fit is None:
        yield "too little moves to judge the torques"
        return
    width = max(12, *(len(name) for name in robot.joint_names))
    yield (
        f"{'joint':<{width}} {'position':>8} {'velocity':>8} {'dq/int v':>8} {'sign':>4} {'odds':>9} "
        f"{'weight, sigma':>14} {'Coulomb':>8} {'viscous':>8} {'armature':>8} {'offset':>7} {'left':>7}"
    )
    moving = np.ones(robot.n, dtype=bool) if check.means is None else check.means.moving
    for name, unit, fit, factor, moves in zip(
        robot.joint_names, check.units, check.fit.joints, check.fit.unit, moving, strict=True
    ):
        odds = "> e^20" if fit.evidence > 20.0 else f"{np.exp(fit.evidence):.3g}"
        weight = f"{fit.factor:.3g}, {fit.factor_error:.2g}" if fit.is_measured else "not told"
        coulomb, viscous, armature = fit.friction / factor
        own = f"{coulomb:>8.3g} {viscous:>8.3g} {armature:>8.3g} {fit.sign * fit.offset / factor:>7.3g}"
        own = own if moves else f"{'-':>8} {'-':>8} {'-':>8} {'-':>7}"
        sign = "?" if fit.evidence <= SURE else "+" if fit.sign > 0 else "-"
        position = "-" if unit is None else "deg" if unit.degrees else "rad"
        ratio = "-" if unit is None or np.isnan(unit.ratio) else f"{unit.ratio:.4g}"
        yield (
            f"{name:<{width}} {position:>8} {'-' if unit is None else unit.speed:>8} "
            f"{ratio:>8} {sign:>4} {odds:>9} "
            f"{weight:>14} {own} {fit.rms / factor:>7.3g}"
        )


def _knowledge(rounds: CheckRounds) -> Iterator[str]:
    """Wrist, delay, noise, and what this motion cannot tell, once all is mended."""
    robot, config, check = rounds.robot, rounds.config, rounds.last
    if check.fit is not None:
        described = robot.inertial_parameters()[robot.body_index(config.body), 0]
        mass, error = check.fit.body[0], check.fit.body_error[0]
        body = config.body or robot.body
        yield f"{body} with all it carries: {mass:.3g} +- {2.0 * error:.2g} kg (two sigma); described: {described:.3g}"
    if check.delay is not None:
        delay = check.delay
        seen = f"{1e3 * delay.delay:.1f} +- {2e3 * delay.error:.1f} ms (two sigma)"
        seen = "beyond 60 ms, or the model does not fit" if delay.at_end else seen
        yield f"torque against position: {seen}"
    if check.levels is not None:
        levels = check.levels
        yield (
            "noise, largest of all joints: "
            + (f"encoder step {levels.encoder_step.max():.2g} rad, " if levels.encoder_step.any() else "")
            + f"velocity against change of position {levels.velocity.max():.2g} rad/s (errors of stamps included), "
            f"torque from sample to sample {levels.torque.max():.2g} N m, accelerations to "
            f"{levels.acceleration.max():.3g} rad/s2, torque rates to "
            f"{levels.torque_rate.max():.3g} N m/s"
        )
    if still := still_joints(check):
        yield f"hardly move, and tell nothing of their own friction: {', '.join(still)}"
    if check.fit is not None and (
        unsure := [
            name for name, joint in zip(robot.joint_names, check.fit.joints, strict=True) if joint.evidence <= SURE
        ]
    ):
        yield f"whose torque's sign this motion does not tell: {', '.join(unsure)}"
    if check.excitation is not None:
        blind = ", ".join(check.excitation.blind)
        yield (
            f"this motion tells less than the prior of the body's {blind}" if blind
            else "this motion tells more than the prior of every parameter of the body"
        )  # fmt: skip
