# SPDX-License-Identifier: Apache-2.0
"""sysid calibrate of a legged robot: the gains of its drives from a run of the robot whose weight is known.

Gain and weight are nearly one unknown on legs. The whole log's estimate with the robot's weight among what is known
finds the gains; the parameter file that is written has them, for later runs with any load.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from sysid_nodes.cli.conclusion import CONTRADICTION
from sysid_nodes.cli.prime.configuration import configuration, given_values, topics
from sysid_nodes.cli.prime.replay import check_joints, open_log
from sysid_nodes.cli.progress import Stages, track
from sysid_nodes.exceptions import ConfigError, ExcitationError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinds import joint_kinds
from sysid_nodes.sensors.joint_torque import JointTorqueConfig
from sysid_nodes.sessions.prime.batch import Gatherer, StreamRecord, solve_batch
from sysid_nodes.sessions.prime.session import PrimeSession, prime_robot
from sysid_nodes.systems.prime.parameters import TORQUE

_GAIN = "prime.sensors.joint_torque.gain"
_TELLS = 0.5  # of its prior's sigma that a gain's may have


def run(args: argparse.Namespace) -> int:
    """Calibrates and returns the exit status."""
    if args.known_mass is None or args.loaded is not None or len(args.bags) != 1:
        raise ConfigError("a legged robot's drives need one recording, and --known-mass: that of the whole robot in it")
    values = given_values(args)
    args.settings = [*args.settings, f"prime.inertia.weighed={args.known_mass!r}"]
    config = configuration(args)
    if config.prime.sensors.joint_torque.gain_sigma <= 0.0:
        raise ConfigError("'prime.sensors.joint_torque.gain_sigma' is 0: the drives' gains are taken for known")
    bag, robot = args.bags[0], prime_robot(config)
    log = open_log(bag, config, topics(args))
    check_joints(log, robot, str(bag))
    gathered, record = Gatherer(), StreamRecord.empty()
    session = PrimeSession(robot, config, lambda: gathered, clock=lambda: 0.0)
    for readings in track(log, f"read {bag.name}"):
        session.take(readings)
        record.look(session)
    with Stages() as stages:
        done = 0

        def progress(_: Iteration) -> None:
            nonlocal done
            done += 1
            stages.show("solving for the whole log", done, config.prime.iteration.most)

        update, _ = solve_batch(session, gathered, record, progress=progress)
    if not session.whole_status.trusted:
        sys.stderr.write(f"sysid: {bag}: {update.judgement.sentence}; nothing is written\n")
        return CONTRADICTION
    gain, sigma = drive_gains(update.estimate, robot, config.prime.sensors.joint_torque, source=str(bag))
    sigma = sigma * np.sqrt(max(update.judgement.inflation, 1.0))  # where residuals are too large, as in result.json
    found = {_GAIN: [round(float(one), 5) for one in gain], f"{_GAIN}_sigma": _upwards(sigma)}
    write_atomically(args.out, parameter_file(values | found))
    kinds = joint_kinds(robot)[0]
    told = ", ".join(f"{name} {one:+.4f} +- {off:.4f}" for name, one, off in zip(kinds, gain, sigma, strict=True))
    sys.stdout.write(f"{args.out}: gain errors of the drives (one sigma): {told}\n")
    return 0


def drive_gains(
    estimate: PrimeEstimate, robot: Robot, config: JointTorqueConfig, *, source: str
) -> tuple[np.ndarray, np.ndarray]:
    """Gain error of each kind of joint and its standard deviation, the common one included.

    Raises:
        ExcitationError: the log does not tell them.
    """
    columns = [k for k, name in enumerate(estimate.parameter_names) if name.startswith(f"{TORQUE}.gain")]
    kinds = len(joint_kinds(robot)[0])
    add = np.column_stack([np.eye(kinds), np.ones(kinds)])
    gain = add @ estimate.parameters[columns]
    sigma = np.sqrt(np.diag(add @ estimate.parameter_covariance[np.ix_(columns, columns)] @ add.T))
    if not np.all(sigma < _TELLS * np.sqrt(2.0) * config.gain_sigma):
        raise ExcitationError(
            "does not tell the drives' gains: has it torques, and does the robot walk?", source=source
        )
    return gain, sigma


def parameter_file(values: Mapping[str, Any]) -> str:
    """A ROS parameter file of dotted names."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *parents, leaf = name.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return yaml.safe_dump({"/**": {"ros__parameters": tree}}, sort_keys=False, default_flow_style=None, width=110)


def _upwards(sigma: np.ndarray) -> float:
    """The largest, rounded up: one number is the prior of all kinds and of what they have in common."""
    return float(np.ceil(1e4 * sigma.max()) / 1e4)
