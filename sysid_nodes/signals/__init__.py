# SPDX-License-Identifier: Apache-2.0
"""Streams of measurements: mapping, unwrapping, windows and checks against what is assumed of them."""

from sysid_nodes.signals.stream import JointStream, Sample, seconds
from sysid_nodes.signals.windows import Windower, cut

__all__ = ["JointStream", "Sample", "Windower", "cut", "seconds"]
