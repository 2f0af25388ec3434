# SPDX-License-Identifier: Apache-2.0
"""A recording of two certified trajectories, followed by a robot that errs as asked, without a simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from shared.certified_ride import Q0, ROBOT, N, certificate, make_record, plan_of, wrapped

from sysid_nodes.logs import BagWriter
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.reports.certified import history as topics
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import Phase, TrajectoryRecord
from sysid_nodes.systems.certified.control.output import Mode

BEGIN, TICK = 100.0, 0.02
TAKEOVER, LAST = 1.5, 3.0
TORQUE = 10.0
"""Every command [N m]."""

SHIFT = np.array([0.2, 0.1, -0.1, 0.2, 0.1, 0.2, -0.2])
GOAL = Q0 + SHIFT
CONFIG: dict[str, Any] = {"robot": "kinova_gen3", "prior.lower": [1.2, -0.4, -0.4, -1.0, *[-0.2] * 6]}


REASONS = {Mode.BRAKING: StopReason.PLANNER_SILENT, Mode.STOPPED: StopReason.JOINT_STATES_LOST}


def trajectories(
    *, norm: float = 0.05, margin: float = 0.01
) -> tuple[TrajectoryRecord, TrajectoryRecord, TrajectoryRecord]:
    """One from rest, one that takes over from it and ends at GOAL, and one that is never executed."""
    proof = certificate(LAST, norm=norm, margin=margin)
    away = Bezier(Q0, np.zeros(N), np.zeros(N), 0.5 * SHIFT, LAST)
    first = make_record(BEGIN + 0.2, plan=away, proof=proof, phase=Phase.EXCITE)
    state = plan_of(first).split(TAKEOVER)
    onward = Bezier(*state, GOAL - state.q, LAST)
    second = make_record(plan=onward, proof=proof, previous=first, previous_time=TAKEOVER)
    unused = make_record(BEGIN + 9.0, proof=proof)
    return first, second, unused


def write_certified_bag(
    path: Path,
    *,
    off: float = 0.0,
    stop: str = "",
    halt: float = np.inf,
    garbage: float = np.inf,
    reorder: bool = False,
    norm: float = 0.05,
    margin: float = 0.01,
) -> None:
    """Writes the recording.

    Args:
        path: of the bag.
        off: by which joint 1 is always ahead of what is desired [rad].
        stop: why the robot stopped by itself at the end; empty: it did not.
        halt: when the controller calls for a stop [s].
        garbage: from when on joint states are not finite [s].
        reorder: joint states name the joints backwards.
        norm, margin: of the certificates.
    """
    first, second, unused = trajectories(norm=norm, margin=margin)
    names = ROBOT.joint_names[::-1] if reorder else ROBOT.joint_names
    order = slice(None, None, -1) if reorder else slice(None)
    end = second.start + LAST + 0.5
    told = {first.start - 0.15: first, first.start + 0.5: second, second.start + 1.0: unused}
    with BagWriter(path) as bag:
        for topic, kind in topics.TYPES.items():
            bag.add_topic(topic, kind, latched=topic in topics.LATCHED)
        for count in range(round((end - BEGIN) / TICK) + 1):
            t = BEGIN + count * TICK
            ns = round(t * 1e9)
            header = {"stamp": {"sec": ns // 10**9, "nanosec": ns % 10**9}}
            for due in [due for due in told if due <= t]:
                bag.write(topics.TRAJECTORIES, ns, trajectory_fields(told.pop(due)))
            record = second if t >= second.start - 1e-9 else first
            state = plan_of(record).split(min(max(t - record.start, 0.0), LAST))
            q = wrapped(state.q + off * np.eye(N)[0])
            q = np.full(N, np.nan) if t > garbage else q
            joints = {"header": header, "name": list(names), "position": q[order], "velocity": state.qd[order]}
            bag.write(topics.JOINT_STATES, ns, joints | {"effort": np.zeros(N)})
            moving = t >= first.start - 1e-9
            if moving:
                command = {"header": header, "joint_names": list(names), "torque": np.full(N, TORQUE)}
                bag.write(topics.COMMANDS, ns, command)
            if count % 10 == 0:
                mode = Mode.IDLE if not moving else Mode.TRACKING if t < second.start + 1.6 else Mode.BRAKING
                mode = Mode.STOPPED if t >= halt - 1e-9 else mode
                reason = REASONS.get(mode, StopReason.NONE)
                status = {"header": header, "mode": int(mode), "reason": int(reason), "text": reason.message}
                bag.write(topics.STATUS, ns, status | {"trajectory_id": record.id if moving else ""})
        if stop:
            bag.write(topics.ROBOT_STOPS, ns, {"reason": int(StopReason.COMMAND_TIMEOUT), "text": stop})


def trajectory_fields(record: TrajectoryRecord) -> dict[str, Any]:
    """Of the message."""
    sec, nanosec = divmod(record.start_ns, 10**9)
    fields = {name: getattr(record, name) for name in record.__dataclass_fields__ if name != "start_ns"}
    del fields["frame_id"]
    return fields | {
        "header": {"stamp": {"sec": sec, "nanosec": nanosec}, "frame_id": record.frame_id},
        "joint_names": list(record.joint_names),
    }
