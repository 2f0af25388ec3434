# SPDX-License-Identifier: Apache-2.0
"""Base, payload and motors of a walking robot from rollouts (SPI-Active), with start states and intervals."""

from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.identify import identify
from sysid_nodes.systems.sampling.log import MotionLog, Readings, Stream, motion_log

__all__ = ["MotionLog", "Readings", "SamplingConfig", "Stream", "identify", "motion_log"]
