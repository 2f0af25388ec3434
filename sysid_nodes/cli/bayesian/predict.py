# SPDX-License-Identifier: Apache-2.0
"""sysid predict of a posterior: torques of a recording by its most probable robot."""

from __future__ import annotations

import argparse
from typing import Any

from sysid_nodes.cli.prediction import conclude
from sysid_nodes.cli.progress import track
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError, InputError, LogError
from sysid_nodes.logs.reader import read_joint_states
from sysid_nodes.reports.bayesian.schema import validate_bayesian
from sysid_nodes.reports.prediction import MODEL
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.results.torque_comparison import TorqueComparison
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig, bayesian_robot
from sysid_nodes.sessions.bayesian.session import BayesianSession
from sysid_nodes.systems.bayesian.held_out import predict_held_out
from sysid_nodes.systems.bayesian.mechanism import build_mechanism

_OWN = ("config", "robot", "body", "method", "calibration")
"""Arguments that choose what a posterior's own result says already."""


def run(args: argparse.Namespace, parsed: dict[str, Any] | None) -> int:
    """Predicts and returns the exit status.

    Raises:
        ConfigError: an argument is for other models.
        InputError: nothing was identified, or the robot's description is another one now.
        LogError: the recording cannot be used.
    """
    source = str(args.model)
    document = validate_bayesian(parsed or {}, source=source)
    if given := [name for name in _OWN if getattr(args, name, None)]:
        raise ConfigError(f"a posterior predicts with its own configuration: leave --{given[0]} out")
    if not BayesianStatus[document["status"]].trusted:
        raise InputError("nothing was identified; there is nothing to predict with", source=source)
    flat = document["config"] | ({"urdf": args.urdf} if args.urdf else {})
    config = from_flat(BayesianSessionConfig, flat, source=source)
    session = BayesianSession(bayesian_robot(config), config)
    mechanism = build_mechanism(session.robot, config.bayesian, power=_has_power(document))
    own, told = mechanism.parameters, document["coordinates"]["mean"]
    if mechanism.contacts.touching or len(told) != len(own.free):
        raise InputError("is of a robot with contacts, or of another description than the robot has now", source=source)
    x = own.mean.copy()
    x[own.free] = told
    try:
        for state in track(read_joint_states(args.bag, args.topic), f"read {args.bag.name}"):
            session.take(state)
        found = predict_held_out(mechanism, None, session.log(), x)
    except LogError as error:
        raise error if error.source else LogError(str(error), source=str(args.bag)) from None
    if found is None:
        raise LogError("is too short, has no torques, or some joint was not read", source=str(args.bag))
    compared = TorqueComparison(found.t, found.measured, {MODEL: found.identified, "prior": found.nominal})
    return conclude(args, compared, robot=session.robot.name, joints=found.joints, window=config.bayesian.step)


def _has_power(document: dict[str, Any]) -> bool:
    """Whether a power meter told: its constants are unknown then."""
    return any(row["group"] == "power" for row in document["parameters"])
