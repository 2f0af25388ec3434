# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from online_sysid.msg import CertifiedTrajectory, Obstacles
from rclpy.serialization import deserialize_message, serialize_message
from shared.obstacle_messages import to_obstacles
from visualization_msgs.msg import Marker

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.results.certificate import Certificate, Envelope, Margins, Verdict
from sysid_nodes.results.trajectory_record import TrajectoryRecord, record_trajectory
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.covering import covering_shapes
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig
from sysid_nodes.ros.certified.scene_markers import margin_lines, obstacle_markers, plan_markers
from sysid_nodes.ros.certified.scene_messages import to_scene
from sysid_nodes.ros.certified.trajectory_messages import to_record, to_trajectory

pytestmark = pytest.mark.ros

FRAME = "base_link"
TURNED = (0.0, 0.0, float(np.sin(0.3)), float(np.cos(0.3)))
SCENE = Scene(
    (
        Obstacle("cube", "box", (0.3, 0.2, 0.1), (0.1, 0.2, 0.3), TURNED),
        Obstacle("ball", "sphere", (0.5, 0.0, 0.3), (0.1,)),
        Obstacle("pole", "capsule", (0.0, 0.5, 0.5), (0.05, 1.0), TURNED),
        Obstacle("ramp", "zonotope", (0.5, 0.0, 0.1), generators=((0.2, 0.0, 0.1), (0.0, 0.3, 0.0), (0.0, 0.0, 0.02))),
        Obstacle("sheet", "zonotope", (0.9, 0.0, 0.1), generators=((0.2, 0.0, 0.1), (0.0, 0.3, 0.0))),
    )
)  # fmt: skip


def record(rng: np.random.Generator) -> TrajectoryRecord:
    """Random numbers in every field, as awkward as doubles can be."""
    n, count = 7, 5
    margins = Margins(rng.uniform(0, 9, n), np.full(n, np.inf), rng.uniform(0, 1, n), 0.1 / 3.0, 0.25)
    edges = np.append(np.linspace(0.0, 3.0, count), np.inf)
    level = rng.uniform(0, 1e-3, count)
    envelope = Envelope(
        edges,
        level,
        level / 3.0,
        np.zeros((count, n)),
        np.zeros((count, n)),
        rng.uniform(0, 9, (count, n)),
        level,
        np.zeros((count, n)),
    )
    certificate = Certificate(
        Verdict.CERTIFIED, margins, "torque of joint_2", rng.uniform(0, 9, n), rng.uniform(0, 90, n), envelope, 4
    )
    plan = Bezier(rng.normal(size=n), rng.normal(size=n), rng.normal(size=n), rng.normal(size=n), 3.0)
    return record_trajectory(
        plan, certificate, start_ns=1_763_635_650_123_456_789, joint_names=load_robot("kinova_gen3").joint_names,
        bounds=Bounds(rng.normal(size=10) - 10.0, rng.normal(size=10) + 10.0), bounds_window=-1,
        nominal=rng.normal(size=10), start_rate=1.0 / 3.0, body="bracelet_link",
        target="body", config_id="1" * 16, scene_id=SCENE.id, frame_id=FRAME,
    )  # fmt: skip


def test_obstacles_survive_the_way_through_the_middleware_to_the_last_bit() -> None:
    message = deserialize_message(serialize_message(to_obstacles(SCENE, FRAME)), Obstacles)
    assert to_scene(message, FRAME) == SCENE
    assert to_scene(message, FRAME).id == SCENE.id


def test_obstacles_in_another_frame_are_refused() -> None:
    with pytest.raises(ConfigError, match="base frame 'base_link', got 'camera'"):
        to_scene(to_obstacles(SCENE, "camera"), FRAME)


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("size", [-0.1, 0.2, 0.3], "obstacle 'cube': size must be positive"),
        ("size", [0.1], "must be 3 numbers"),
        ("kind", "blob", "kind must be one of"),
        ("name", "", "must be text that is not empty"),
        ("generators", [1.0, 2.0], "generators come in threes, got 2 numbers"),
    ],
)
def test_an_obstacle_that_makes_no_sense_is_refused(field: str, value: object, line: str) -> None:
    message = to_obstacles(Scene(SCENE.obstacles[:1]), FRAME)
    setattr(message.obstacles[0], field, value)
    with pytest.raises(ConfigError, match=line):
        to_scene(message, FRAME)


def test_a_quaternion_that_is_none_is_refused() -> None:
    message = to_obstacles(Scene(SCENE.obstacles[:1]), FRAME)
    message.obstacles[0].pose.orientation.w = message.obstacles[0].pose.orientation.z = 0.0
    with pytest.raises(ConfigError, match="norm 1"):
        to_scene(message, FRAME)


def test_a_trajectory_survives_the_way_through_the_middleware_with_its_digest() -> None:
    sent = record(np.random.default_rng(0))
    message = deserialize_message(serialize_message(to_trajectory(sent)), CertifiedTrajectory)
    got = to_record(message)
    assert got.id == sent.id == got.digest()
    assert got.start_ns == sent.start_ns
    message.torque_margin[3] = np.nextafter(message.torque_margin[3], 0.0)
    assert to_record(message).digest() != sent.id


def test_every_obstacle_has_its_marker_and_a_later_array_replaces_all() -> None:
    markers = obstacle_markers(SCENE, FRAME).markers
    assert markers[0].action == Marker.DELETEALL
    kinds = [marker.type for marker in markers[1:]]
    assert kinds == [
        Marker.CUBE, Marker.SPHERE, Marker.CYLINDER, Marker.SPHERE, Marker.SPHERE, Marker.TRIANGLE_LIST,
        Marker.SPHERE_LIST,
    ]  # fmt: skip
    assert all(marker.header.frame_id == FRAME for marker in markers)
    assert len({(marker.ns, marker.id) for marker in markers[1:]}) == len(markers) - 1
    cube, ends = markers[1], markers[4:6]
    assert (cube.scale.x, cube.scale.y, cube.scale.z) == (0.1, 0.2, 0.3)
    # The caps' centres are the length apart, along the turned z axis.
    assert abs(ends[1].pose.position.z - ends[0].pose.position.z) == pytest.approx(1.0)
    assert len(markers[6].points) % 3 == 0


def test_a_plan_shows_its_path_its_room_and_its_end() -> None:
    robot = load_robot("kinova_gen3")
    shapes = covering_shapes(robot, PayloadVolumeConfig())
    plan = Bezier(np.zeros(7), np.zeros(7), np.zeros(7), np.full(7, 0.5), 3.0)
    markers = plan_markers(robot, shapes, plan, FRAME, lines=["one", "two"]).markers
    by = {name: [marker for marker in markers if marker.ns == name] for name in ("path", "swept", "rest", "margins")}
    moving = sum(shape.frame != "universe" for shape in shapes)
    assert [len(by[name]) for name in ("path", "swept", "rest", "margins")] == [1, 7 * moving, moving, 1]
    assert by["margins"][0].text == "one\ntwo"
    ends = [by["path"][0].points[k] for k in (0, -1)]
    for end, q in zip(ends, (plan.q0, plan.goal), strict=True):
        rest = Bezier(q, np.zeros(7), np.zeros(7), np.zeros(7), 3.0)
        found = plan_markers(robot, shapes[-1:], rest, FRAME, lines=[]).markers
        placed = next(marker for marker in found if marker.ns == "rest").pose.position
        # The load's centre is 0.18 m off the joint's.
        assert np.linalg.norm([end.x - placed.x, end.y - placed.y, end.z - placed.z]) == pytest.approx(0.1815, abs=1e-3)


def test_margins_in_words() -> None:
    made = record(np.random.default_rng(1))
    low = replace(made, torque_margin=np.array([5.0, 4.0, 0.25, 6.0, 7.0, 8.0, 9.0]))
    lines = margin_lines(low)
    assert "torque 0.2 N m (joint_3)" in lines
    assert "obstacles 0.033 m, itself 0.250 m" in lines
