# SPDX-License-Identifier: Apache-2.0
"""sysid replay --online: a recording through the live node's own session."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sysid_nodes.cli.progress import track
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs import BagWriter
from sysid_nodes.logs.power_reader import RawPower, read_power
from sysid_nodes.logs.reader import read_joint_states
from sysid_nodes.logs.writer import to_nanoseconds
from sysid_nodes.messages.bayesian import posterior as plain
from sysid_nodes.messages.bayesian.posterior_markers import MARKERS, posterior_marker_fields
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.robot_view import RobotView
from sysid_nodes.reports.files import RESULT_BAG
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig, bayesian_robot
from sysid_nodes.sessions.bayesian.online import BayesianUpdate, OnlineBayesian

Array = npt.NDArray[np.float64]


def replay_online(
    folder: Path, bag: Path, config: BayesianSessionConfig, topic: str
) -> tuple[OnlineBayesian, list[BayesianUpdate]]:
    """Feeds a recording to a session and writes what the live node would have published to result.mcap.

    Args:
        folder: existing.
        config: robot and options.
        topic: of the joint states.

    Raises:
        LogError: the recording lacks a topic or is damaged, or a joint state is unusable.
    """
    session, updates, now = OnlineBayesian(bayesian_robot(config), config), [], 0
    states = track(read_joint_states(bag, topic), f"replay {bag.absolute().name}")
    with BagWriter(folder / RESULT_BAG) as written:
        written.add_topic(plain.TOPIC, plain.TYPE, latched=True)
        written.add_topic(plain.FRICTION_TOPIC, plain.FRICTION_TYPE, latched=True)
        written.add_topic(MARKERS, ARRAY_TYPE, latched=True)
        view = RobotView(written, session.robot)
        both: list[Iterable[RawPower | RawJointState]] = [read_power(bag, config.power), states]
        for raw in heapq.merge(*both, key=lambda raw: raw.stamp):
            if (update := _take(session, raw, bag)) is None:
                continue
            updates.append(update)
            # The estimated motion: joint states do not tell where joints without an encoder are.
            for t, q in zip(*_motion(update), strict=True):
                if view.due(t):
                    now = max(now + 1, to_nanoseconds(t))  # stamps may start over, the order of messages may not
                    view.show(now, t, q)
            now = max(now + 1, to_nanoseconds(update.t))
            written.write(plain.TOPIC, now, plain.posterior_fields(update))
            written.write(MARKERS, now, posterior_marker_fields(update, session.robot))
            if (friction := plain.friction_fields(update)) is not None:
                written.write(plain.FRICTION_TOPIC, now, friction)
    return session, updates


def _motion(update: BayesianUpdate) -> tuple[list[float], Array]:
    """Stamps [s] and configurations (K, n) of the newest window; none where it was not used."""
    if update.result is None or update.fault:
        return [], np.zeros((0, 0))
    return (update.start + update.result.series.t).tolist(), update.result.series.q


def _take(session: OnlineBayesian, raw: RawPower | RawJointState, bag: Path) -> BayesianUpdate | None:
    if isinstance(raw, RawPower):
        session.take_power(*raw)
        return None
    try:
        return session.take(raw)
    except LogError as error:
        raise LogError(str(error), source=str(bag)) from None
