# SPDX-License-Identifier: Apache-2.0
"""Markers of drives: a ball at each joint, coloured by what is known of its law, and the law in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sysid_nodes.messages.geometry import Fields, vector
from sysid_nodes.messages.markers import (
    GREEN,
    GREY,
    RED,
    SPHERE,
    TEXT,
    WHITE,
    YELLOW,
    fresh_array,
    marker,
    pose_fields,
)
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorStatus
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import base_frame, base_link, joint_link
from sysid_nodes.sessions.actuators.session import ActuatorUpdate

MARKERS = "/actuator_identifier/markers"

_BALL = 0.06  # diameter [m]
_LETTERS, _ABOVE = 0.015, 0.09  # height of the text, and where it stands above the joint [m]


def drive_marker_fields(update: ActuatorUpdate, robot: Robot) -> Fields:
    """visualization_msgs/MarkerArray of all joints.

    Green: every parameter of the law is told; yellow: some are not; red: an alarm was raised, or the data contradict
    the law; grey: nothing is identified.
    """
    root = base_link(robot) if robot.floating_base else base_frame(robot)
    return fresh_array(root, list(_markers(update, robot)))


def _markers(update: ActuatorUpdate, robot: Robot) -> Iterator[Fields]:
    result = update.state.result
    alarmed = {alarm.joint for alarm in update.state.alarms}
    known = {} if result is None else {joint.name: joint for joint in result.joints}
    contradicted = result is not None and result.status is ActuatorStatus.CONTRADICTION
    for index, name in enumerate(robot.joint_names):
        head = {"frame_id": joint_link(robot, robot.model.getJointId(name))}
        law = known[name].parameters if name in known else ()
        if contradicted or name in alarmed:
            colour = RED
        else:
            colour = GREY if not law else GREEN if all(row.identifiable for row in law) else YELLOW
        yield marker(head, "drive", index, SPHERE, colour, 0.8, scale=vector(np.full(3, _BALL)))
        if law and not contradicted:
            words = "\n".join([name, *map(_line, law)])
            place, scale = pose_fields(np.array([0.0, 0.0, _ABOVE])), vector(np.full(3, _LETTERS))
            yield marker(head, "law", index, TEXT, WHITE, 1.0, pose=place, scale=scale, text=words)


def _line(row: ActuatorEstimate) -> str:
    if row.estimate is None:
        return f"{row.name}: not told"
    sigma = "" if row.sigma is None else f", σ {row.sigma:.2g}"
    return f"{row.name} {row.estimate:.4g}{sigma} {row.unit}"
