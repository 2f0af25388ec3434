# SPDX-License-Identifier: Apache-2.0
"""`sysid explore` for a walking robot: commands to its controller, vetted on robots drawn from the estimate."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from sysid_nodes.cli.configuration import parse_setting
from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.progress import Stages
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.sampling.posterior import to_posterior
from sysid_nodes.reports.sampling.exploration import PAGE_NAME, PLAN_NAME, headline, write_plan
from sysid_nodes.reports.sampling.schema import validate_sampling
from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner

_HARM = 3


def explore_walk(args: argparse.Namespace, document: Mapping[str, Any]) -> int:
    """Plans and returns the exit status.

    Raises:
        InputError: the result says nothing that a plan could rest on.
        ConfigError: a value is wrong.
    """
    source = str(args.result)
    out = OutputFolder(args.out, PLAN_NAME)  # refused before the work, not after it
    document = validate_sampling(document, source=source)
    if document["status"] == SamplingStatus.UNTRUSTED.name:
        raise InputError(f"no plan can rest on it: {SamplingStatus.UNTRUSTED.message}", source=source)
    if document["posterior"] is None:
        raise InputError("says nothing of errors, as a plan needs (method 'paper' never does)", source=source)
    chosen = dict(parse_setting(text, ExplorationConfig) for text in args.settings)
    if args.duration is not None:
        chosen["duration"] = args.duration
    config = from_flat(ExplorationConfig, chosen, source="command line")
    session = from_flat(SamplingSessionConfig, document["config"], source=source)
    robot = sampling_robot(session)
    planner = ExplorationPlanner(robot, session.sampling, config, to_posterior(document["posterior"]))
    with Stages() as stages:
        plan = planner.plan(stages.show)
    if plan.vetting.faults:
        sys.stderr.write(f"sysid: {source}: no plan is fit: {'; '.join(plan.vetting.faults)}\n")
        return _HARM
    with out as folder:
        write_plan(folder, plan, config, source)
    sys.stdout.write(f"{headline(plan)}: {args.out / PAGE_NAME}\n")
    return 0
