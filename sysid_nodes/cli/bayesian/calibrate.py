# SPDX-License-Identifier: Apache-2.0
"""The posterior of a bare arm, for sysid calibrate."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from sysid_nodes.cli.configuration import parse_setting
from sysid_nodes.data import JointSamples
from sysid_nodes.data.config import from_flat, to_flat
from sysid_nodes.exceptions import ConfigError, ExcitationError, LogError
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.results.arm_constants import ArmConstants
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.systems.bayesian import Progress
from sysid_nodes.systems.bayesian.arm_posterior import arm_prior, identify_arm
from sysid_nodes.systems.bayesian.config import MechanismConfig
from sysid_nodes.systems.interval.calibration_runs import refuse_itemised
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


def posterior_of(
    robot: Robot,
    stated: IntervalIdentifierConfig,
    samples: Sequence[JointSamples],
    names: str,
    settings: Sequence[str],
    progress: Progress,
) -> ArmConstants | None:
    """The arm's constants; None, with a line on stderr, where the runs contradict model and priors.

    Args:
        robot: nominal.
        stated: of it, and of its noise.
        samples: of runs without a payload.
        names: of the runs, for messages.
        settings: "bayesian.KEY=VALUE" each.
        progress: told of the work at hand.

    Raises:
        ConfigError, LogError, ExcitationError: settings or runs are of no use.
    """
    known = stated.known_robot
    prior, config = arm_prior(robot, known, samples)
    own = to_flat(replace(BayesianSessionConfig(), bayesian=config))
    chosen = dict(parse_setting(text, BayesianSessionConfig) for text in settings)
    config = from_flat(BayesianSessionConfig, own | chosen, source="command line").bayesian
    if config.mechanism != MechanismConfig(couplings=config.mechanism.couplings):
        raise ConfigError(
            "a calibration is of an open chain with a motor in every joint; of 'bayesian.mechanism' it takes couplings "
            "alone"
        )
    if any(config.mechanism.couplings):
        refuse_itemised(stated.noise)  # it would be refused after the posterior
    try:
        result, constants = identify_arm(
            prior, per_joint(known.gain, robot.n, "known_robot.gain"), samples, config, progress
        )
    except (LogError, ExcitationError) as error:
        raise type(error)(str(error), source=names) from None
    if not result.status.trusted:
        told = "; ".join((result.status.message, *result.findings))  # no page has the rest
        sys.stderr.write(f"sysid: {names}: the posterior: {told}\n")
        return None
    doubts = () if result.status is BayesianStatus.FOUND else (result.status.message,)
    for finding in (*doubts, *result.findings):
        sys.stderr.write(f"sysid: warning: {names}: {finding}\n")
    return constants
