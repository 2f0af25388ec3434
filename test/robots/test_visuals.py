# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path
from urllib.request import url2pathname

import numpy as np
import pinocchio
import pytest

from sysid_nodes.robots import load_robot
from sysid_nodes.robots.visuals import held_urdf, visible_urdf


@pytest.mark.parametrize("name", ["go2", "g1", "panda", "ur10", "z1"])
def test_meshes_of_a_description_are_files_that_are_there(name: str) -> None:
    text = visible_urdf(load_robot(name))
    assert "package://example-robot-data" not in text
    urls = re.findall(r'<mesh[^>]*filename="([^"]+)"', text)
    files = [Path(url2pathname(url.removeprefix("file://"))) for url in urls]
    assert files and all(file.is_file() for file in files)


def test_the_gen3_is_seen_as_the_shapes_that_cover_it() -> None:
    """Pinocchio, which reads the description anew, places every ball and box where the certificates have it."""
    robot = load_robot("kinova_gen3")
    text = visible_urdf(robot)
    model = pinocchio.buildModelFromXML(text)
    assert model == pinocchio.buildModelFromXML(robot.urdf), "only what is seen was added"
    seen = pinocchio.buildGeomFromUrdfString(model, text, pinocchio.GeometryType.VISUAL)
    q = np.linspace(-1.0, 1.0, robot.n)
    data, own = model.createData(), robot.model.createData()
    pinocchio.forwardKinematics(model, data, pinocchio.integrate(model, pinocchio.neutral(model), q))
    places = pinocchio.GeometryData(seen)
    pinocchio.updateGeometryPlacements(model, data, seen, places)
    pinocchio.forwardKinematics(robot.model, own, q)
    centres = np.array([place.translation for place in places.oMg])
    assert len(robot.geometry) == 9
    for shape in robot.geometry:
        joint = 0 if shape.frame == "universe" else robot.model.getJointId(shape.frame)
        centre = own.oMi[joint].act(shape.position)
        assert np.linalg.norm(centres - centre, axis=1).min() < 1e-6


def test_a_robot_without_any_shape_is_seen_as_rods_between_its_joints() -> None:
    robot = load_robot("fourbar_leg")
    text = visible_urdf(robot)
    assert pinocchio.buildModelFromXML(text) == pinocchio.buildModelFromXML(robot.urdf), "only what is seen was added"
    model = robot.model
    seen = pinocchio.buildGeomFromUrdfString(model, text, pinocchio.GeometryType.VISUAL)
    data, places = model.createData(), pinocchio.GeometryData(seen)
    pinocchio.framesForwardKinematics(model, data, np.array([0.4, -0.3, 0.7, 1.1]))
    pinocchio.updateGeometryPlacements(model, data, seen, places)
    ends = []
    for rod, place in zip(seen.geometryObjects, places.oMg, strict=True):
        half = rod.geometry.halfLength * place.rotation[:, 2]
        ends.append((place.translation - half, place.translation + half))
    # From the thigh to crank and knee, along crank, rod and lever.
    for parent, child in (
        ("thigh", "crank"), ("crank", "rod"), ("thigh", "shank"), ("rod", "rod_end"), ("shank", "lever_pin"),
    ):  # fmt: skip
        begin, end = (data.oMf[model.getFrameId(name)].translation for name in (parent, child))
        assert min(np.abs(np.array(pair) - [begin, end]).max() for pair in ends) < 1e-6, (parent, child)
    assert len(ends) == 5


def test_joints_that_nobody_reads_are_fixed_in_a_description_of_a_part() -> None:
    robot = load_robot("go2")
    leg = robot.joint_names[:3]
    model = pinocchio.buildModelFromXML(held_urdf(robot.urdf, leg))
    assert tuple(model.names)[1:] == leg
    full = pinocchio.buildModelFromXML(robot.urdf)
    data, own = model.createData(), full.createData()
    pinocchio.framesForwardKinematics(model, data, np.array([0.1, 0.2, -0.3]))
    q = np.zeros(full.nq)
    for name, value in zip(leg, (0.1, 0.2, -0.3), strict=True):
        q[full.joints[full.getJointId(name)].idx_q] = value
    pinocchio.framesForwardKinematics(full, own, q)
    for foot in ("FL_foot", "RR_foot"):
        pose, expected = data.oMf[model.getFrameId(foot)], own.oMf[full.getFrameId(foot)]
        np.testing.assert_allclose(pose.homogeneous, expected.homogeneous, atol=1e-12)
