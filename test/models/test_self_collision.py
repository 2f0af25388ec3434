# SPDX-License-Identifier: Apache-2.0
"""Which of a robot's shapes are compared with each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.self_collision import (
    Reason,
    joints_of,
    mostly_overlapping,
    place,
    self_collision_pairs,
    self_collision_words,
)
from sysid_nodes.models.separation import distances
from sysid_nodes.robots import Primitive, load_robot
from sysid_nodes.robots.covering import covering_shapes
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume

START = (-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415)


def test_every_pair_is_kept_or_skipped_for_a_reason() -> None:
    robot = load_robot("kinova_gen3")
    shapes = (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))
    pairs = self_collision_pairs(robot, shapes)
    joints = joints_of(robot, shapes)
    assert pairs.shapes == shapes
    # bracelet, gripper and payload are on joint 7; every other box has a body of its own
    assert joints.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 7, 7]
    everything = {(int(i), int(j)) for i, j in pairs.kept} | {(pair.first, pair.second) for pair in pairs.skipped}
    assert everything == {(i, j) for j in range(10) for i in range(j)}
    assert len(pairs.kept) + len(pairs.skipped) == len(everything)
    for pair in pairs.skipped:
        apart = joints[pair.second] - joints[pair.first]
        assert pair.reason is (Reason.SAME_BODY if apart == 0 else Reason.BY_DESIGN)
        assert apart < 2
    near = [(int(i), int(j)) for i, j in pairs.kept if joints[j] - joints[i] < 2]
    assert near == [(6, 9)]  # the load is kept from the body before the one that holds it


def test_the_gen3_is_clear_of_itself_where_the_authors_start() -> None:
    robot = load_robot("kinova_gen3")
    shapes = (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))
    kept = self_collision_pairs(robot, shapes).kept
    placed = place(robot, shapes, np.array([START]))
    # 46 mm between forearm and the wrist's second half, which only joint 5 moves against each other
    assert distances(placed, placed, kept).distance.min() == pytest.approx(0.0462, abs=1e-3)
    # the hand at the base: folded up as no limit forbids
    folded = place(robot, shapes, np.array([[0.0, 2.2, 0.0, 2.5, 0.0, 0.3, 0.0]]))
    assert distances(folded, folded, kept).distance.min() < 0.0


@pytest.mark.parametrize("grasp_error", [0.02, 0.21, 1.0])
@pytest.mark.parametrize("shape", ["box", "capsule"])
def test_a_load_is_kept_from_all_but_what_holds_it_however_large_its_room_is(shape: str, grasp_error: float) -> None:
    robot = load_robot("kinova_gen3")
    shapes = (*cover("gripper"), *payload_volume(PayloadVolumeConfig(shape=shape, grasp_error=grasp_error)))
    load = len(shapes) - 1
    pairs = self_collision_pairs(robot, shapes)
    assert [int(i) for i, j in pairs.kept if j == load] == list(range(7))
    assert {pair.reason for pair in pairs.skipped if pair.second == load} == {Reason.SAME_BODY}


def test_shapes_that_are_wider_than_their_bodies_are_named_and_kept() -> None:
    """Spheres at both ends of the elbow's housing overlap in every posture."""
    robot = load_robot("kinova_gen3")
    ends = [("joint_2", -0.43, 0.07), ("joint_4", -0.07, 0.07)]
    wide = tuple(Primitive(frame, "sphere", np.array([0.0, y, 0.0]), np.eye(3), np.array([r])) for frame, y, r in ends)
    shapes = (*robot.geometry, *wide)
    pairs = self_collision_pairs(robot, shapes)
    joints = joints_of(robot, shapes)
    assert (len(shapes) - 2, len(shapes) - 1) in {(int(i), int(j)) for i, j in pairs.kept}
    assert {(int(joints[i]), int(joints[j])) for i, j in mostly_overlapping(robot, pairs)} == {(2, 4)}
    assert self_collision_words(robot, shapes).endswith("overlap in most postures: joint_2 and joint_4")
    assert self_collision_pairs(robot).shapes == robot.geometry  # nothing given: the robot's own


def test_the_shapes_that_certificates_use_leave_nothing_that_mostly_overlaps() -> None:
    robot = load_robot("kinova_gen3")
    shapes = covering_shapes(robot, PayloadVolumeConfig())
    assert not len(mostly_overlapping(robot, self_collision_pairs(robot, shapes)))
    assert self_collision_words(robot, shapes) == (
        "certificates keep all parts of the robot and its load apart but what moves with the base and joint_1, joint_1 "
        "and joint_2, joint_2 and joint_3, joint_3 and joint_4, joint_4 and joint_5, joint_5 and joint_6, joint_6 and "
        "joint_7: meeting by design, as the robot's description says"
    )


def test_only_what_the_description_lists_is_left_alone() -> None:
    robot = load_robot("kinova_gen3")
    shapes = cover("bare")
    other = replace(robot, may_overlap=(("joint_7", "joint_2"),))
    skipped = self_collision_pairs(other, shapes).skipped
    assert [(pair.first, pair.second, pair.reason) for pair in skipped] == [(2, 7, Reason.BY_DESIGN)]
    unlisted = self_collision_pairs(replace(robot, may_overlap=None), shapes)
    assert {pair.reason for pair in unlisted.skipped} == {Reason.NEIGHBOURS}
    assert [(pair.first, pair.second) for pair in unlisted.skipped] == [(i, i + 1) for i in range(7)]
    assert "joint_6 and joint_7: neighbours" in self_collision_words(replace(robot, may_overlap=None), shapes)
    with pytest.raises(RobotError, match="no joint 'joint_9'"):
        self_collision_pairs(replace(robot, may_overlap=(("joint_1", "joint_9"),)), shapes)


def test_a_urdf_of_ones_own_keeps_the_room_of_the_load() -> None:
    own = load_robot("kinova_gen3", urdf_text=load_robot("kinova_gen3", variant="bare").urdf)
    assert own.variant == "urdf"
    assert covering_shapes(own, PayloadVolumeConfig())[-1].load
    assert own.may_overlap == load_robot("kinova_gen3").may_overlap


def test_shapes_are_where_pinocchio_puts_them() -> None:
    robot = load_robot("kinova_gen3")
    shapes = cover("gripper")
    q = np.random.default_rng(1).uniform(-2.0, 2.0, (3, 7))
    placed = place(robot, shapes, q)
    data = robot.model.createData()
    for k, row in enumerate(q):
        pinocchio.forwardKinematics(robot.model, data, row)
        for s, shape in enumerate(shapes):
            centre = data.oMi[robot.model.getJointId(shape.frame)].act(shape.position)
            np.testing.assert_allclose(placed.centre[k, s], centre, atol=1e-14)


def test_a_robot_without_shapes_has_no_pairs() -> None:
    pairs = self_collision_pairs(load_robot("panda"), ())
    assert pairs.kept.shape == (0, 2) and pairs.skipped == ()


def test_a_shape_on_a_joint_that_is_not_there() -> None:
    stray = Primitive("joint_9", "sphere", np.zeros(3), np.eye(3), np.array([0.1]))
    with pytest.raises(RobotError, match="robot 'kinova_gen3' has no joint 'joint_9' to carry a shape"):
        self_collision_pairs(load_robot("kinova_gen3"), (stray,))
