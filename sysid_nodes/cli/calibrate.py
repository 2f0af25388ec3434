# SPDX-License-Identifier: Apache-2.0
"""Identifies the robot itself from runs without payload, and torque gains from a run with a payload of known mass.

For an arm it writes a calibration for 'sysid replay --calibration': physically consistent inertia, friction, armature
and offsets of the robot, with their uncertainty. For a legged robot (go2, g1, or a configuration of prime_estimator) it
needs a walk of the robot with known total mass, and writes a parameter file with the gains of its drives.
Methods, for arms:
  interval   all values that are consistent with the data and the stated error bounds (default)
  bayesian   95 % of a posterior, whose prior is what known_robot states: not proven; options: --set bayesian.KEY=VALUE
  both       the intervals of the first with the estimate of the second; exit status 3 if they exclude each other

examples:
  sysid calibrate bags/unloaded --config config/my_arm.yaml --out calibration.json
  sysid calibrate bags/unloaded --config config/my_arm.yaml --method both --out calibration.json
  sysid calibrate bags/unloaded --loaded bags/known --known-mass 2.0 --urdf arm.urdf --out calibration.json
  sysid calibrate bags/walk --config config/go2.yaml --known-mass 15.2 --out my_go2.yaml
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from sysid_nodes.cli.bayesian.calibrate import posterior_of
from sysid_nodes.cli.conclusion import CONTRADICTION
from sysid_nodes.cli.configuration import add_arguments as add_configuration
from sysid_nodes.cli.interval.configuration import load
from sysid_nodes.cli.interval.samples import read_samples
from sysid_nodes.cli.prime.entry import is_wanted
from sysid_nodes.cli.progress import Stages
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.systems.interval.calibration import MARGIN, Progress, calibrate, calibrated_box
from sysid_nodes.systems.interval.calibration_file import (
    BAYESIAN,
    BOTH,
    CALIBRATION_METHODS,
    INTERVAL,
    Calibration,
    refuse_place,
    save_calibration,
)
from sysid_nodes.systems.interval.calibration_runs import Run
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.noise import unread_joints
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.posterior_calibration import calibration_of, exclusions, with_estimate

_POSTERIORS = "bayesian."
_NARROWER = 0.99  # an interval wider than this share of the stated one has told nothing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bags", type=Path, nargs="+", metavar="BAG", help="recordings of the robot without a payload")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="calibration to write")
    parser.add_argument("--loaded", type=Path, metavar="BAG", help="recording with a payload of known mass")
    parser.add_argument(
        "--known-mass", type=float, metavar="KG", help="mass of that payload, or of a whole legged robot"
    )
    parser.add_argument(
        "--margin", type=float, default=MARGIN, metavar="FACTOR",
        help="on the largest residual of windows that a fit had not seen; default: %(default)s",
    )  # fmt: skip
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")
    parser.add_argument(
        "--method", dest="calibration_method", choices=CALIBRATION_METHODS, default=INTERVAL,
        help="how; default: %(default)s",
    )  # fmt: skip
    add_configuration(parser, method=False)


def run(args: argparse.Namespace) -> int:
    if is_wanted(args):
        from sysid_nodes.cli.prime import calibrate as legged

        return legged.run(args)
    if (args.loaded is None) != (args.known_mass is None):
        raise ConfigError("--loaded and --known-mass belong together")
    if args.known_mass is not None and not 0.0 < args.known_mass < np.inf:
        raise ConfigError(f"--known-mass must be a positive number, got {args.known_mass:g}")
    if not 0.1 <= args.margin < np.inf:
        raise ConfigError(f"--margin must be at least 0.1, got {args.margin:g}")
    method = args.calibration_method
    ours = [text for text in args.settings if text.startswith(_POSTERIORS)]
    args.settings = [text for text in args.settings if text not in ours]
    if method == INTERVAL and ours:
        raise ConfigError(f"'{ours[0].partition('=')[0]}' is for the methods {BAYESIAN} and {BOTH}", source="--set")
    if method == BAYESIAN and args.loaded is not None:
        raise ConfigError(f"--loaded is for the methods {INTERVAL} and {BOTH}")
    refuse_place(args.out)
    arm = load(args, args.bags[0])
    robot, config = arm.robot, arm.config
    runs = [Run(read_samples(robot, config, bag, args.topic), 0.0, str(bag)) for bag in args.bags]
    if args.loaded is not None:
        runs.append(Run(read_samples(robot, config, args.loaded, args.topic), args.known_mass, str(args.loaded)))
    with Stages() as stages:
        found = _calibration(robot, config, runs, method, ours, args.margin, stages.show)
    if found is None:
        return CONTRADICTION
    save_calibration(found, args.out)
    sys.stdout.write(f"{args.out}: {found.summary()}\n")
    if found.unshown:
        sys.stderr.write(
            f"sysid: warning: the efforts of {', '.join(found.unshown)} show nothing of a torque in these runs: unless "
            "they are known to be read, state noise.torque_absolute at the joint's limit, or a load may go unnoticed\n"
        )
    for line in _gains(found, robot, config):
        sys.stdout.write(f"{line}\n")
    if method == INTERVAL:
        sys.stderr.writelines(f"sysid: warning: {line}\n" for line in _doubts(robot, config, args.out, runs))
    return 0


def _doubts(robot: Robot, config: IntervalIdentifierConfig, file: Path, runs: Sequence[Run]) -> Iterator[str]:
    """Of the very runs that a calibration is made from: what it is doubted for there it will be with a payload."""
    config = replace(config, calibration=str(file))
    for run in (run for run in runs if run.mass == 0.0):
        pipeline = IntervalPipeline(robot, config)
        pipeline.identify(run.samples)
        if pipeline.doubt is not None:
            yield f"{run.name}, replayed with it: {pipeline.doubt.message}"
            return


def _calibration(
    robot: Robot,
    config: IntervalIdentifierConfig,
    runs: list[Run],
    method: str,
    settings: list[str],
    margin: float,
    show: Progress,
) -> Calibration | None:
    """By the method; None, with lines on stderr, where runs, priors and methods exclude each other."""
    bare = [run for run in runs if run.mass == 0.0]
    samples, names = [run.samples for run in bare], ", ".join(run.name for run in bare)
    unread = unread_joints(robot, config.noise.torque_absolute)
    if method != INTERVAL and unread.any():
        joint = robot.joint_names[int(np.argmax(unread))]
        raise ConfigError(
            f"method {method} takes efforts for torques; by 'noise.torque_absolute' that of '{joint}' tells nothing"
        )
    if method != INTERVAL:  # a posterior has a friction law of its own, and both must have the same
        config = replace(config, known_robot=replace(config.known_robot, viscous_power=(1.0,)))
    if method == INTERVAL:
        return calibrate(robot, config, runs, margin=margin, progress=show)
    constants = posterior_of(robot, config, samples, names, settings, show)
    if constants is None:
        return None
    if method == BAYESIAN:
        return calibration_of(robot, config, bare, constants, margin=margin)
    found = calibrate(robot, config, runs, margin=margin, progress=show, coupling=constants.coupling)
    apart = exclusions(found, constants)
    sys.stderr.writelines(f"sysid: the two methods exclude each other: {exclusion}\n" for exclusion in apart)
    return None if apart else with_estimate(found, constants)


def _gains(found: Calibration, robot: Robot, config: IntervalIdentifierConfig) -> Iterator[str]:
    """Torque gains, where they were in question."""
    gain = slice(14 * robot.n, 15 * robot.n)
    centre, radius = (part[gain] for part in calibrated_box(robot, config))
    ends = zip(found.joints, found.estimate[gain], found.lower[gain], found.upper[gain], 2.0 * radius, strict=True)
    told = [entry for entry in ends if entry[-1] > 0.0]
    if not told:
        return
    blind = [joint for joint, _, lower, upper, before in told if upper - lower > _NARROWER * before]
    if len(blind) == len(told):
        estimates = ", ".join(f"{estimate:.3f}" for _, estimate, _, _, _ in told)
        yield (
            f"torque gains: estimates {estimates}; their intervals are no narrower than stated, "
            f"{100.0 * (radius / centre).max():.2g} %: only a known mass tells more (--loaded)"
        )
        return
    for joint, estimate, lower, upper, _ in told:
        note = ", no narrower than stated" if joint in blind else ""
        yield f"torque gain of {joint}: {estimate:.3f} in [{lower:.3f}, {upper:.3f}]{note}"
