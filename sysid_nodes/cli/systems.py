# SPDX-License-Identifier: Apache-2.0
"""All systems. A new one is an import and a word here: replays, reports and reference pages follow."""

from __future__ import annotations

from sysid_nodes.cli.actuators.system import ACTUATORS
from sysid_nodes.cli.bayesian.system import BAYESIAN
from sysid_nodes.cli.certified.system import CERTIFIED
from sysid_nodes.cli.interval.system import INTERVAL
from sysid_nodes.cli.prime.system import PRIME
from sysid_nodes.cli.sampling.system import SAMPLING

SYSTEMS = (BAYESIAN, SAMPLING, ACTUATORS, PRIME, CERTIFIED, INTERVAL)
"""In the order in which they are asked whether a replay or a result is theirs; the last takes what is left."""
