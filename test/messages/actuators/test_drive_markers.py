# SPDX-License-Identifier: Apache-2.0
"""Markers of drives stand in frames of the robot and claim what the estimate does."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from sysid_nodes.messages.actuators.drive_markers import drive_marker_fields
from sysid_nodes.messages.markers import DELETE_ALL, GREEN, GREY, RED, YELLOW
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.actuators.session import ActuatorSession
from sysid_nodes.systems.actuators.online import RefinementState


def test_drives_are_coloured_by_what_is_known() -> None:
    robot = load_robot("go2")
    session = ActuatorSession(robot, ActuatorSessionConfig(), gains_told=True)
    clearing, *drives = drive_marker_fields(session.update, robot)["markers"]
    assert clearing["action"] == DELETE_ALL
    assert len(drives) == 12
    frames = {frame.name for frame in robot.model.frames}
    assert {drive["header"]["frame_id"] for drive in drives} <= frames
    assert colours(drives) == [GREY] * 12

    told = ActuatorEstimate("armature", "kg m2", 0.0125, 0.0002, 0.0121, 0.0129)
    laws = {"FL_hip_joint": (told,), "FL_thigh_joint": (told, replace(told, estimate=None)), "FL_calf_joint": (told,)}
    joints = tuple(SimpleNamespace(name=name, parameters=law) for name, law in laws.items())
    result = SimpleNamespace(joints=joints, status=ActuatorStatus.PARTIAL)
    alarm = SimpleNamespace(joint="FL_calf_joint")
    known = replace(session.update, state=RefinementState(result=result, alarms=(alarm,)))
    _, *drives = drive_marker_fields(known, robot)["markers"]
    assert colours(drives)[:4] == [GREEN, YELLOW, RED, GREY]
    assert drives[1]["text"] == "FL_hip_joint\narmature 0.0125, σ 0.0002 kg m2"
    assert drives[3]["text"].endswith("armature: not told")

    nothing = SimpleNamespace(joints=joints, status=ActuatorStatus.CONTRADICTION)
    _, *drives = drive_marker_fields(replace(known, state=RefinementState(result=nothing)), robot)["markers"]
    assert colours(drives) == [RED] * 12
    assert not any(drive["ns"] == "law" for drive in drives)


def colours(drives: list[dict]) -> list[tuple[float, ...]]:
    return [tuple(drive["color"][name] for name in "rgb") for drive in drives if drive["ns"] == "drive"]
