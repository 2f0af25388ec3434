# SPDX-License-Identifier: Apache-2.0
"""Identification by rollouts as the command line knows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.sampling import replay
from sysid_nodes.cli.sampling.configuration import wanted
from sysid_nodes.cli.system import Replay, Report, System
from sysid_nodes.data.config import options
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.reports.sampling.run import report_sampling
from sysid_nodes.reports.sampling.schema import PIPELINE, validate_sampling
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig


def parameters_page() -> str:
    """Markdown of docs/sampling/parameters.md."""
    return page(
        "Parameters of identification by rollouts",
        "Read by `sysid replay` of a walking robot's log, from a ROS parameter file (`/**: ros__parameters:`) or",
        "`--set`. An unknown key, a wrong type or a value out of range is an error. Where a list of numbers is asked",
        "for the drives, one number stands for every joint, three (Go2: hip, thigh, calf) for its kinds.",
        "",
        *table(options(SamplingSessionConfig)),
    )


def _made(document: Mapping[str, Any], _folder: Path) -> bool:
    return bool(document["pipeline"] == PIPELINE)


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    validate_sampling(document, source=str(folder))
    report_sampling(page, document, folder / SERIES_NAME)


SAMPLING = System(
    name="sampling",
    subject="logs of walking robots with set-points",
    configs=(SamplingSessionConfig,),
    page=parameters_page,
    replay=Replay(wanted, replay.run),
    report=Report(_made, _write),
)
