# SPDX-License-Identifier: Apache-2.0
"""All systems. A new one is an import and a word here: replays, reports and reference pages follow."""

from __future__ import annotations

from sysid_nodes.cli.actuators.entry import ACTUATORS
from sysid_nodes.cli.bayesian.entry import BAYESIAN
from sysid_nodes.cli.certified.entry import CERTIFIED
from sysid_nodes.cli.interval.entry import INTERVAL
from sysid_nodes.cli.prime.entry import PRIME
from sysid_nodes.cli.sampling.entry import SAMPLING

SYSTEMS = (BAYESIAN, SAMPLING, ACTUATORS, PRIME, CERTIFIED, INTERVAL)
"""In the order in which they are asked whether a replay or a result is theirs; the last takes what is left."""
