# SPDX-License-Identifier: Apache-2.0
"""All systems. A new one is an import and a word here: replays, reports and reference pages follow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.actuators.entry import ACTUATORS
from sysid_nodes.cli.bayesian.entry import BAYESIAN
from sysid_nodes.cli.certified.entry import CERTIFIED
from sysid_nodes.cli.interval.entry import INTERVAL
from sysid_nodes.cli.prime.entry import PRIME
from sysid_nodes.cli.sampling.entry import SAMPLING
from sysid_nodes.cli.system import Entry

SYSTEMS = (BAYESIAN, SAMPLING, ACTUATORS, PRIME, CERTIFIED, INTERVAL)
"""In the order in which they are asked whether a replay or a result is theirs; the last takes what is left."""


def maker_of(document: Mapping[str, Any], folder: Path) -> Entry | None:
    """The system whose result this is, in this folder, if any."""
    return next((entry for entry in SYSTEMS if entry.has_made(document, folder)), None)
