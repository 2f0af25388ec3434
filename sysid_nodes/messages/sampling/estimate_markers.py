# SPDX-License-Identifier: Apache-2.0
"""Markers of an identification by rollouts: base and payload as they probably are."""

from __future__ import annotations

from sysid_nodes.messages.geometry import Fields
from sysid_nodes.messages.inertia_markers import body_markers
from sysid_nodes.messages.markers import fresh_array
from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import base_link, moving_link
from sysid_nodes.sessions.sampling.online import SamplingUpdate

MARKERS = "/spi_identifier/markers"


def estimate_marker_fields(update: SamplingUpdate, robot: Robot) -> Fields:
    """visualization_msgs/MarkerArray: the bodies whose inertia was identified; none where nothing is claimed."""
    result, found = update.result, list[Fields]()
    if result is not None and result.status is not SamplingStatus.UNTRUSTED:
        for index, link in enumerate(result.bodies):
            theta, covariance = result.inertia[index], result.covariance[index]
            found += body_markers(moving_link(robot, link), index, link, theta, covariance)
    return fresh_array(base_link(robot), found)
