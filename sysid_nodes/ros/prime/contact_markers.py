# SPDX-License-Identifier: Apache-2.0
"""Contacts to look at in RViz."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from visualization_msgs.msg import MarkerArray

from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.prime.contact_markers import contact_marker_fields
from sysid_nodes.sessions.prime.update import PrimeUpdate


def to_contact_markers(update: PrimeUpdate, normal: npt.NDArray[np.float64]) -> MarkerArray:
    """Force arrows, contact states and friction cones on a ground with a unit normal (3,) in the world."""
    message: MarkerArray = to_message(MarkerArray, contact_marker_fields(update, normal))
    return message
