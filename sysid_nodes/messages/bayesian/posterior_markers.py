# SPDX-License-Identifier: Apache-2.0
"""Markers of a Bayesian posterior: the links as they probably are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.messages.geometry import Fields
from sysid_nodes.messages.inertia_markers import body_markers
from sysid_nodes.messages.markers import fresh_array
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import base_frame, moving_link
from sysid_nodes.sessions.bayesian.online import BayesianUpdate

MARKERS = "/bayesian_identifier/markers"


def posterior_marker_fields(update: BayesianUpdate, robot: Robot) -> Fields:
    """visualization_msgs/MarkerArray: links of which all ten parameters are told; none where nothing is claimed."""
    result = update.result
    found = [] if result is None or not result.status.trusted else list(_markers(result, robot))
    return fresh_array(base_frame(robot), found)


def _markers(result: BayesianResult, robot: Robot) -> Iterator[Fields]:
    rows = {told.name: k for k, told in enumerate(result.parameters) if told.group == "inertia"}
    mean = np.array([told.mean for told in result.parameters])
    for index, link in enumerate(name.removesuffix(".m") for name in rows if name.endswith(".m")):
        own = [rows[name] for name in (f"{link}.{parameter}" for parameter in PARAMETER_NAMES) if name in rows]
        if len(own) == len(PARAMETER_NAMES):
            covariance = result.parameter_covariance[np.ix_(own, own)]
            yield from body_markers(moving_link(robot, link), index, link, mean[own], covariance)
