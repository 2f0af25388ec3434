# SPDX-License-Identifier: Apache-2.0
"""Constants, motion and disturbances of a mechanism as one MAP problem with hard loop closures, and their posterior."""

from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.descent import Progress
from sysid_nodes.systems.bayesian.identify import identify, identify_further
from sysid_nodes.systems.bayesian.knowledge import Knowledge
from sysid_nodes.systems.bayesian.log import Grid, MechanismLog, Series, mechanism_log

__all__ = [
    "BayesianConfig",
    "Grid",
    "Knowledge",
    "MechanismLog",
    "Progress",
    "Series",
    "identify",
    "identify_further",
    "mechanism_log",
]
