# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio
import pytest

from sysid_nodes.logs import BagWriter, read_messages, read_topics
from sysid_nodes.messages.robot_view import DESCRIPTION, TRANSFORMS, TYPES, RobotView
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.fourbar_leg import LOOP
from sysid_nodes.robots.links import base_link
from sysid_nodes.robots.loops import parse_loop
from sysid_nodes.simulation.fourbar.leg import MOTORS, LegTruth, simulate_leg


def _pose(transform: Any) -> pinocchio.SE3:
    place, turn = transform.translation, transform.rotation
    rotation = pinocchio.Quaternion(turn.w, turn.x, turn.y, turn.z).toRotationMatrix()
    return pinocchio.SE3(rotation, np.array([place.x, place.y, place.z]))


@pytest.mark.parametrize(("name", "world"), [("kinova_gen3", ""), ("go2", "map"), ("fourbar_leg", "")])
def test_a_recording_shows_every_link_of_the_description_where_it_is(tmp_path: Path, name: str, world: str) -> None:
    robot = load_robot(name)
    q = pinocchio.integrate(robot.model, pinocchio.neutral(robot.model), np.linspace(-0.6, 0.7, robot.model.nv))
    with BagWriter(tmp_path / "view.mcap") as bag:
        view = RobotView(bag, robot, "left/")
        for k in range(100):
            t = 50.0 + 0.01 * k
            if view.due(t):
                view.show(round(1e9 * t), t, q, world)
    counts = {topic.name: topic.count for topic in read_topics(tmp_path / "view.mcap")}
    assert counts == {f"/{DESCRIPTION}": 1, f"/{TRANSFORMS}": 25}
    _, description = next(iter(read_messages(tmp_path / "view.mcap", DESCRIPTION, TYPES[DESCRIPTION])))
    _, message = next(iter(read_messages(tmp_path / "view.mcap", TRANSFORMS, TYPES[TRANSFORMS])))
    parents = {t.child_frame_id: t.header.frame_id for t in message.transforms}
    links = {f"left/{link.get('name')}" for link in ElementTree.fromstring(description.data).findall("link")}
    assert links == {*parents, *parents.values()} - {world}
    # An independent reading of the same description agrees.
    root = pinocchio.JointModelFreeFlyer() if robot.floating_base else None
    model = pinocchio.buildModelFromXML(description.data, *([root] if root is not None else []))
    own = pinocchio.integrate(model, pinocchio.neutral(model), np.linspace(-0.6, 0.7, model.nv))
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, own)
    base = next(iter(parents[child] for child in parents if parents[child] != world)).removeprefix("left/")
    start = data.oMf[model.getFrameId(base)]
    for transform in message.transforms:
        pose = data.oMf[model.getFrameId(transform.child_frame_id.removeprefix("left/"))]
        expected = pose if transform.header.frame_id == world else start.actInv(pose)
        np.testing.assert_allclose(_pose(transform.transform).homogeneous, expected.homogeneous, atol=1e-9)


def test_a_floating_robot_is_shown_once_it_is_placed_and_messages_that_lack_a_joint_are_not(tmp_path: Path) -> None:
    robot = load_robot("go2")
    names = robot.joint_names[::-1]
    with BagWriter(tmp_path / "view.mcap") as bag:
        view = RobotView(bag, robot)
        view.follow(1, 1.0, names, np.arange(12.0))
        assert not view.shown
        view.place(np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0]), "map")
        view.follow(2, 1.0, names[1:], np.arange(11.0))
        view.follow(2, 1.0, names, np.full(12, np.nan))
        assert not view.shown
        view.follow(2, 1.0, names, np.arange(12.0))
    ((t, q),) = view.shown
    assert t == 1.0
    np.testing.assert_array_equal(q, [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0, *np.arange(12.0)[::-1]])


def test_positions_in_degrees_and_a_base_that_is_held_are_shown_in_radians_from_the_base(tmp_path: Path) -> None:
    robot = load_robot("go2")
    degrees = np.pi / 180.0
    with BagWriter(tmp_path / "view.mcap") as bag:
        view = RobotView(bag, robot)
        view.hold()
        view.follow(1, 1.0, robot.joint_names, np.full(12, 90.0), np.full(12, degrees))
    ((_, q),) = view.shown
    np.testing.assert_allclose(q, [0.0] * 6 + [1.0] + [0.5 * np.pi] * 12)
    _, message = next(iter(read_messages(tmp_path / "view.mcap", TRANSFORMS, TYPES[TRANSFORMS])))
    assert {transform.header.frame_id for transform in message.transforms} == {base_link(robot)}


def test_joints_that_nobody_reads_are_shown_where_the_loops_close(tmp_path: Path) -> None:
    """MuJoCo's own motion of the linkage says where: it closes its loop by a spring, to some nanometres."""
    robot, rng = load_robot("fourbar_leg"), np.random.default_rng(0)
    record = simulate_leg(LegTruth.draw(rng), 1.0, rng, rate=100.0, position_noise=0.0)
    with BagWriter(tmp_path / "view.mcap") as bag:
        view = RobotView(bag, robot, loops=[parse_loop(LOOP)])
        view.follow(1, 0.0, MOTORS[:1], record.position[0, :1])
        assert not view.shown, "one joint does not tell where four are"
        view.follow(1, 0.0, MOTORS, [0.3, 40.0])
        assert not view.shown, "nothing closes the loop there"
        for k, t in enumerate(record.t.tolist()):
            view.follow(round(1e9 * t) + 2, t, (*MOTORS, "gripper"), [*record.position[k], 1.0])
    shown = np.array([q for _, q in view.shown])
    expected = record.joints[[np.argmin(np.abs(record.t - t)) for t, _ in view.shown]]
    assert len(shown) > 20 and np.ptp(expected, axis=0).min() > 0.1
    np.testing.assert_allclose(shown, expected, atol=1e-6)
