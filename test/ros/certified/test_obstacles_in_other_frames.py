# SPDX-License-Identifier: Apache-2.0
"""Obstacles in a camera's frame come to the robot's base by tf2; the transform is held against pinocchio's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pinocchio
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from shared.obstacle_messages import to_obstacles

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import InputError
from sysid_nodes.ros import frames
from sysid_nodes.ros.certified.scene_messages import to_scene
from sysid_nodes.ros.frames import FrameLookup

pytestmark = pytest.mark.ros

CAMERA = pinocchio.SE3(pinocchio.exp3(np.array([0.4, -1.1, 0.7])), np.array([0.3, -0.2, 1.5]))
"""Where the camera is, in the base frame."""

TURN = pinocchio.exp3(np.array([-0.2, 0.5, 0.9]))
BOX = Obstacle("cube", "box", (0.3, 0.2, 0.1), (0.1, 0.2, 0.3), tuple(pinocchio.Quaternion(TURN).coeffs().tolist()))
BALL = Obstacle("ball", "sphere", (0.5, 0.0, 0.3), (0.1,))
RAMP = Obstacle("ramp", "zonotope", (0.5, 0.0, 0.1), generators=((0.2, 0.0, 0.1), (0.0, 0.3, 0.0), (0.0, 0.0, 0.02)))


class TransformError(Exception):
    """As tf2 has it."""


class Buffer:
    """Knows where the camera is, and nothing else."""

    def lookup_transform(self, target: str, source: str, _: Any) -> TransformStamped:
        if (target, source) != ("base_link", "camera"):
            raise TransformError(f"{source} does not exist")
        turn = pinocchio.Quaternion(CAMERA.rotation).coeffs()
        return TransformStamped(
            transform=Transform(
                translation=Vector3(**dict(zip("xyz", CAMERA.translation.tolist(), strict=True))),
                rotation=Quaternion(**dict(zip("xyzw", turn.tolist(), strict=True))),
            )
        )


@pytest.fixture
def lookup(monkeypatch: pytest.MonkeyPatch) -> FrameLookup:
    listener = lambda *_: SimpleNamespace(unregister=lambda: None)  # noqa: E731
    fake = SimpleNamespace(Buffer=Buffer, TransformListener=listener, TransformException=TransformError)
    monkeypatch.setattr(frames, "tf2_ros", fake)
    return FrameLookup(None)  # type: ignore[arg-type]


def moved(item: Obstacle, lookup: FrameLookup) -> Obstacle:
    return to_scene(to_obstacles(Scene((item,)), "camera"), "base_link", lookup).obstacles[0]


@pytest.mark.parametrize("item", [BOX, BALL, RAMP], ids=lambda item: item.kind)
def test_an_obstacle_is_where_the_camera_sees_it(item: Obstacle, lookup: FrameLookup) -> None:
    found = moved(item, lookup)
    np.testing.assert_allclose(found.position, CAMERA.act(np.array(item.position)), atol=1e-12)
    assert (found.name, found.kind, found.size) == (item.name, item.kind, item.size)


def test_a_box_turns_with_the_camera(lookup: FrameLookup) -> None:
    found = pinocchio.Quaternion(np.array(moved(BOX, lookup).quaternion)).toRotationMatrix()
    np.testing.assert_allclose(found, CAMERA.rotation @ TURN, atol=1e-12)


def test_generators_turn_and_are_not_shifted(lookup: FrameLookup) -> None:
    expected = [CAMERA.rotation @ generator for generator in RAMP.generators]
    np.testing.assert_allclose(moved(RAMP, lookup).generators, expected, atol=1e-12)


def test_a_frame_that_tf2_does_not_know_is_refused_in_one_line(lookup: FrameLookup) -> None:
    message = to_obstacles(Scene((BOX,)), "lidar")
    with pytest.raises(InputError, match="no transform from 'lidar' to 'base_link': lidar does not exist"):
        to_scene(message, "base_link", lookup)


def test_without_tf2_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "tf2_ros", None)
    message = to_obstacles(Scene((BOX,)), "camera")
    with pytest.raises(InputError, match="tf2_ros, which would know the way, is missing"):
        to_scene(message, "base_link", FrameLookup(None))  # type: ignore[arg-type]


def test_what_is_in_the_base_frame_asks_nobody() -> None:
    assert to_scene(to_obstacles(Scene((BOX, RAMP)), "base_link"), "base_link").obstacles == (BOX, RAMP)
