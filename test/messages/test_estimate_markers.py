# SPDX-License-Identifier: Apache-2.0
"""Markers of bodies and drives stand in frames of the robot and claim what the estimate does."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest
from shared.kinova_motion import PAYLOAD

from sysid_nodes.messages.actuators.drive_markers import drive_marker_fields
from sysid_nodes.messages.inertia_markers import body_markers
from sysid_nodes.messages.markers import DELETE_ALL, GREEN, GREY, RED, YELLOW
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.actuators.session import ActuatorSession
from sysid_nodes.systems.actuators.online import RefinementState


def shown(covariance: np.ndarray, theta: np.ndarray = PAYLOAD) -> dict[str, dict]:
    return {marker["ns"]: marker for marker in body_markers("hand", 3, "load", theta, covariance)}


def test_the_region_holds_the_centre_of_mass_as_often_as_it_says() -> None:
    """Against draws of the ten parameters: of 20000 a percent is six standard errors, and covers the curvature."""
    rng = np.random.default_rng(1)
    half = 0.003 * rng.normal(size=(10, 10))
    found = shown(half @ half.T)
    draws = PAYLOAD + rng.normal(size=(20000, 10)) @ half.T
    centres = draws[:, 1:4] / draws[:, :1]
    region = found["centre_of_mass_95_percent"]
    place, turn = (np.array(list(region["pose"][part].values())) for part in ("position", "orientation"))
    axes = pinocchio.Quaternion(turn[3], *turn[:3]).matrix()
    radii = 0.5 * np.array(list(region["scale"].values()))
    assert radii.min() > 0.001, "no floor in it"
    inside = (np.square((centres - place) @ axes / radii).sum(axis=1) < 1.0).mean()
    assert inside == pytest.approx(0.95, abs=0.01)
    assert {marker["header"]["frame_id"] for marker in found.values()} == {"hand"}
    assert {marker["id"] for marker in found.values()} == {3}
    assert found["mass"]["text"] == f"load {PAYLOAD[0]:.2f} kg, σ {np.sqrt((half @ half.T)[0, 0]):.2g} kg"


def test_what_is_not_known_is_not_shown() -> None:
    unknown = shown(np.full((10, 10), np.nan))
    assert set(unknown) == {"inertia", "mass"}
    assert "σ" not in unknown["mass"]["text"]
    assert shown(np.eye(10), -PAYLOAD) == {}


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
