# SPDX-License-Identifier: Apache-2.0
"""result.mcap of an identification by rollouts: the recorded motion, and what the live node would have published."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.writer import to_nanoseconds
from sysid_nodes.messages.geometry import WORLD
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.recorded_markers import copy_markers
from sysid_nodes.messages.robot_view import RobotView
from sysid_nodes.messages.sampling.estimate_markers import MARKERS, estimate_marker_fields
from sysid_nodes.messages.sampling.estimates import (
    INERTIA,
    MODELS,
    POSTERIOR,
    inertia_fields,
    models_fields,
    posterior_message_fields,
)
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.sessions.sampling.online import SamplingUpdate, sampling_config_id
from sysid_nodes.sessions.sampling.session import SamplingSession

_TYPES = {
    INERTIA: "online_sysid/msg/InertialEstimate",
    MODELS: "online_sysid/msg/ActuatorModels",
    POSTERIOR: "online_sysid/msg/SamplingPosterior",
    MARKERS: ARRAY_TYPE,
}


def write_result_bag(
    path: Path, session: SamplingSession, result: SamplingResult, recording: Path, *, until: float = np.inf
) -> None:
    """Writes the file.

    Args:
        session: that the result is of.
        result: of all that it gathered up to a stamp `until` [s].
        recording: that it is from, whose other markers, as those of plans, are shown too.

    Raises:
        LogError: the file cannot be written.
    """
    robot, log = session.robot, session.log(until)
    q = np.column_stack([log.position, np.roll(log.rotation, -1, axis=1), log.q])
    last = float(log.t[-1])
    update = SamplingUpdate(last, 1, result, "", robot.name, sampling_config_id(robot, session.config))
    messages = (
        inertia_fields(update, robot),
        models_fields(update, robot),
        posterior_message_fields(update),
        estimate_marker_fields(update, robot),
    )
    with BagWriter(path) as bag:
        for topic, kind in _TYPES.items():
            bag.add_topic(topic, kind, latched=True)
        view = RobotView(bag, robot)
        for t, posture in zip(log.t[log.usable].tolist(), q[log.usable], strict=True):
            if view.due(t):
                view.show(to_nanoseconds(t), t, posture, WORLD)
        for topic, fields in zip(_TYPES, messages, strict=True):
            bag.write(topic, to_nanoseconds(last), fields)
        copy_markers(recording, bag, _TYPES)
