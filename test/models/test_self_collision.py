"""Which of a robot's shapes are compared with each other."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.self_collision import Reason, joints_of, place, self_collision_pairs
from sysid_nodes.models.separation import distances
from sysid_nodes.robots import Primitive, load_robot
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
        assert pair.reason is (Reason.SAME_BODY if apart == 0 else Reason.NEIGHBOURS)
        assert apart < 2
    assert (joints[pairs.kept[:, 1]] - joints[pairs.kept[:, 0]] >= 2).all()


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


def test_shapes_that_are_wider_than_their_bodies_are_left_alone() -> None:
    """Spheres at both ends of the elbow's housing overlap in every posture."""
    robot = load_robot("kinova_gen3")
    ends = [("joint_2", -0.43, 0.07), ("joint_4", -0.07, 0.07)]
    wide = tuple(Primitive(frame, "sphere", np.array([0.0, y, 0.0]), np.eye(3), np.array([r])) for frame, y, r in ends)
    shapes = (*robot.geometry, *wide)
    pairs = self_collision_pairs(robot, shapes)
    joints = joints_of(robot, shapes)
    overlapping = [pair for pair in pairs.skipped if pair.reason is Reason.OVERLAPPING]
    assert (len(shapes) - 2, len(shapes) - 1) in {(pair.first, pair.second) for pair in overlapping}
    assert {(int(joints[pair.first]), int(joints[pair.second])) for pair in overlapping} == {(2, 4)}
    assert self_collision_pairs(robot).shapes == robot.geometry  # nothing given: the robot's own
    again = self_collision_pairs(robot, shapes)
    np.testing.assert_array_equal(pairs.kept, again.kept)
    assert pairs.skipped == again.skipped


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
