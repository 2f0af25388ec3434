# SPDX-License-Identifier: Apache-2.0
"""The room for a dumbbell in the Gen3's hand, and boxes that cover the arm."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio
import pytest

from sysid_nodes.data.config import from_flat, options
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.solids import from_primitive
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import DUMBBELLS, PayloadVolumeConfig, dumbbell_volume, payload_volume

# Least and largest coordinates of all vertices of the makers' meshes (ros2_kortex 1fdbef3; the bracelet with its camera
# and without) in the joint frames [m]; the last row is the 2F-85 with its fingers in any position, to 0.1 mm.
MESHES = """
-0.04605233 -0.04600001  0.00000000  0.04643971 0.04615673  0.17084999
-0.04635826 -0.04865137 -0.17437501  0.04635826 0.04605689 -0.00237499
-0.04600009 -0.22480001 -0.05537765  0.04600009 0.04600001  0.03962393
-0.04600009 -0.04900265 -0.25637501  0.04600009 0.04599850 -0.00237499
-0.04600010 -0.22090001 -0.05594068  0.04600009 0.04600001  0.02864506
-0.03499838 -0.05304648 -0.14100368  0.03500001 0.03500001 -0.00249999
-0.03500001 -0.11840001 -0.05332711  0.03500001 0.03507822  0.03482495
-0.04550001 -0.07467088 -0.06442501  0.04550000 0.03750002  0.00000001
-0.0762     -0.0375     -0.2356      0.0762     0.0375     -0.0615
"""


def _dumbbell(pounds: float, rng: np.random.Generator) -> np.ndarray:
    """Points of a dumbbell as wide and long as the published inertia allows, in the hand's frame."""
    scale = np.cbrt(pounds / 6.0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 500)
    radius = 0.037 * scale
    along = scale * rng.uniform(-0.2245 / 2.0, 0.2245 / 2.0, 500)
    return np.stack([radius * np.cos(angle), along, 0.12 + radius * np.sin(angle)], axis=1)


@pytest.mark.parametrize("shape", ["box", "capsule"])
@pytest.mark.parametrize("pounds", DUMBBELLS)
def test_a_room_holds_its_dumbbell_wherever_it_is_grasped(shape: str, pounds: float) -> None:
    rng = np.random.default_rng(1)
    robot = load_robot("kinova_gen3")
    hand = robot.model.frames[robot.model.getFrameId("end_effector_link")]
    solid = from_primitive(dumbbell_volume(pounds, shape=shape, grasp_error=0.02))
    assert robot.model.names[hand.parentJoint] == "joint_7"
    directions = rng.normal(size=(200, 3))
    for shift in (np.zeros(3), *rng.choice([-0.02, 0.02], (8, 3))):
        points = np.array([hand.placement.act(point + shift) for point in _dumbbell(pounds, rng)])
        assert (solid.support(directions) >= (directions @ points.T).max(axis=1)).all()


def test_the_largest_room_holds_all_others() -> None:
    directions = np.random.default_rng(2).normal(size=(200, 3))
    (largest,) = payload_volume(PayloadVolumeConfig())
    for pounds in DUMBBELLS:
        smaller = from_primitive(dumbbell_volume(pounds, shape="box", grasp_error=0.02))
        assert (smaller.support(directions) <= from_primitive(largest).support(directions) + 1e-15).all()


def test_the_eight_pound_room_in_numbers() -> None:
    box = dumbbell_volume(8.0, shape="box", grasp_error=0.0)
    np.testing.assert_array_equal(box.size, [0.05, 0.125, 0.05])
    np.testing.assert_allclose(box.position, [0.0, 0.0, -0.061525 - 0.12], atol=1e-15)
    capsule = dumbbell_volume(8.0, shape="capsule", grasp_error=0.0)
    np.testing.assert_allclose(capsule.rotation @ [0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    assert np.linalg.det(capsule.rotation) == pytest.approx(1.0)


def test_the_published_yaw_lays_the_bar_along_y() -> None:
    """The six-pound dumbbell's small moment is about its x axis, turned by a yaw of 1.5708."""
    tensor = np.diag([0.00154549554, 0.01219668034, 0.01219668034])
    yaw = pinocchio.rpy.rpyToMatrix(0.0, 0.0, 1.5708)
    moments = np.diag(yaw @ tensor @ yaw.T)
    assert moments.argmin() == dumbbell_volume(6.0, shape="box", grasp_error=0.0).size.argmax() == 1


def test_an_empty_hand_has_no_room() -> None:
    assert payload_volume(PayloadVolumeConfig(shape="none")) == ()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"shape": "sphere"}, "'shape' must be one of none, box, capsule, got 'sphere'"),
        ({"dumbbell": -8.0}, "'dumbbell' must be at least 0.5, got -8.0"),
        ({"grasp_error": -0.01}, "'grasp_error' must be at least 0, got -0.01"),
        ({"grasp_error": float("nan")}, "'grasp_error' must be a finite number, got nan"),
    ],
)
def test_bad_configurations(values: dict[str, object], message: str) -> None:
    assert {item.name for item in options(PayloadVolumeConfig)} == {
        f.name for f in dataclasses.fields(PayloadVolumeConfig)
    }
    with pytest.raises(ConfigError, match=message):
        from_flat(PayloadVolumeConfig, values)


@pytest.mark.parametrize(
    ("pounds", "shape", "error", "message"),
    [
        (0.0, "box", 0.0, "a dumbbell needs a positive weight, got 0 lb"),
        (float("nan"), "box", 0.0, "a dumbbell needs a positive weight, got nan lb"),
        (8.0, "box", -0.1, "a grasp error must not be negative, got -0.1 m"),
        (8.0, "ball", 0.0, "a dumbbell's room is a box or a capsule, got 'ball'"),
    ],
)
def test_bad_rooms(pounds: float, shape: str, error: float, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        dumbbell_volume(pounds, shape=shape, grasp_error=error)


@pytest.mark.parametrize("variant", ["gripper", "bare"])
def test_the_cover_holds_the_vendor_s_meshes(variant: str) -> None:
    boxes = cover(variant)
    rows = np.array([[float(word) for word in line.split()] for line in MESHES.strip().splitlines()])
    assert [box.frame for box in boxes] == ["universe", *(f"joint_{k}" for k in range(1, 8)), "joint_7"][: len(boxes)]
    assert len(boxes) == (9 if variant == "gripper" else 8)
    for box, row in zip(boxes, rows, strict=False):
        assert (box.position - box.size <= row[:3]).all() and (box.position + box.size >= row[3:]).all()
        # a box is at most 5 mm too large anywhere
        assert (box.position - box.size >= row[:3] - 5e-3).all() and (box.position + box.size <= row[3:] + 5e-3).all()
