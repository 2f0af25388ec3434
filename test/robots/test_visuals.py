# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path
from urllib.request import url2pathname

import numpy as np
import pinocchio
import pytest

from sysid_nodes.robots import load_robot
from sysid_nodes.robots.visuals import visible_urdf


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
