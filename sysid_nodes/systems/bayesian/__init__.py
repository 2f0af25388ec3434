# SPDX-License-Identifier: Apache-2.0
"""Constants, motion and disturbances of a mechanism as one MAP problem with hard loop closures, and their posterior."""

from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.identify import Progress, identify
from sysid_nodes.systems.bayesian.log import MechanismLog, Series, mechanism_log

__all__ = ["BayesianConfig", "MechanismLog", "Progress", "Series", "identify", "mechanism_log"]
