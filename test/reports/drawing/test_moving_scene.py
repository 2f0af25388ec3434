# SPDX-License-Identifier: Apache-2.0
"""The scene's data put a robot where pinocchio puts it."""

from __future__ import annotations

import base64
import json

import numpy as np
import pinocchio
import pytest

from sysid_nodes.reports.drawing.moving_scene import FRAMES, MovingScene, frames, joint_poses, robot_bodies
from sysid_nodes.robots import load_robot


def document(scene: MovingScene) -> dict[str, object]:
    text = scene.markup().split('<script type="application/json">')[1].split("</script>")[0]
    found: dict[str, object] = json.loads(text)
    return found


@pytest.mark.parametrize("name", ["kinova_gen3", "go2", "g1"])
def test_every_part_of_a_robot_ends_where_the_next_joint_is(name: str) -> None:
    """Rods, carried along by their poses, reach from each joint to those that hang on it."""
    robot = load_robot(name)
    q = np.array(
        [pinocchio.neutral(robot.model), pinocchio.randomConfiguration(robot.model, *[np.ones(robot.model.nq)] * 2)]
    )
    bodies = robot_bodies(robot, q, colour="#fff", joint_colour="#000", group="robot")
    data = robot.model.createData()
    for row, posture in enumerate(q):
        pinocchio.forwardKinematics(robot.model, data, posture)
        places = np.array([placement.translation for placement in data.oMi])
        ends = []
        for body in bodies:
            pose = pinocchio.XYZQUATToSE3(body.pose[min(row, len(body.pose) - 1)])
            ends += [pose.act(np.array(part["rod"][1])) for part in body.parts if "rod" in part]
        rods = np.array(ends)
        known = [np.linalg.norm(rods - place, axis=1).min() < 1e-4 for place in places[2:]]
        # Joints at the same point as their parent, and those that a hull holds, have no rod of their own.
        assert np.mean(known) > 0.5


def test_a_robot_that_is_not_seen_has_no_pose() -> None:
    robot = load_robot("go2")
    q = np.array([pinocchio.neutral(robot.model)] * 2)
    q[1] = np.nan
    poses = joint_poses(robot, q)
    assert np.isfinite(poses[1:, 0]).all()
    assert np.isnan(poses[:, 1]).all()


def test_the_data_are_single_precision_and_times_are_kept() -> None:
    found = document(MovingScene(np.array([0.0, 0.5]), 'a "scene" </script>'))
    assert np.frombuffer(base64.b64decode(str(found["t"])), "<f4").tolist() == [0.0, 0.5]


def test_long_runs_are_thinned_from_end_to_end() -> None:
    assert frames(3).tolist() == [0, 1, 2]
    rows = frames(10_000)
    assert len(rows) == FRAMES
    assert (rows[0], rows[-1]) == (0, 9999)
