# SPDX-License-Identifier: Apache-2.0
"""Distances of MuJoCo's geometry engine against coal, with pinocchio's kinematics, and against plain geometry."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.data.scene import Obstacle
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import Primitive, Robot, load_robot
from sysid_nodes.rollouts.contact_watch import FARTHEST, ContactWatch

coal = pytest.importorskip("coal", reason="pinocchio's collision library")

HELD = Primitive("joint_7", "capsule", np.array([0.0, 0.0, -0.18]), np.eye(3)[:, [2, 0, 1]], np.array([0.04, 0.08]))
OBSTACLES = (
    Obstacle("cube", "box", (0.4, 0.3, 0.3), (0.3, 0.2, 0.4), quaternion=(0.1, 0.2, 0.3, np.sqrt(0.86))),
    Obstacle("ball", "sphere", (-0.3, -0.5, 0.6), (0.1,)),
    Obstacle("pole", "capsule", (-0.2, 0.6, 0.5), (0.05, 0.8), quaternion=(0.0, 0.6, 0.0, 0.8)),
    Obstacle(
        "ramp", "zonotope", (0.6, -0.4, 0.2), generators=((0.1, 0, 0.05), (0, 0.2, 0), (0, 0.1, 0.1), (0.03, 0, 0.1))
    ),
    Obstacle("sheet", "zonotope", (-0.6, 0.1, 0.5), generators=((0.1, 0.0, 0.2), (0.0, 0.2, 0.0))),
)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("kinova_gen3")


def _coal_shape(kind: str, size: np.ndarray) -> object:
    if kind == "sphere":
        return coal.Sphere(size[0])
    return coal.Box(*(2.0 * size)) if kind == "box" else coal.Capsule(size[0], 2.0 * size[1])


def _coal_obstacle(obstacle: Obstacle) -> tuple[object, object]:
    rotation = pinocchio.Quaternion(np.array(obstacle.quaternion)).normalized().toRotationMatrix()
    pose, size = coal.Transform3s(rotation, np.array(obstacle.position)), np.array(obstacle.size)
    if obstacle.kind != "zonotope":
        half = size * {"box": [0.5, 0.5, 0.5], "sphere": [1.0], "capsule": [1.0, 0.5]}[obstacle.kind]
        return _coal_shape(obstacle.kind, half), pose
    generators = np.array(obstacle.generators)
    if len(generators) == 2:  # two orthogonal edges: a box; coal's hull needs a volume
        lengths = np.linalg.norm(generators, axis=1)
        axes = generators / lengths[:, None]
        turned = np.column_stack([*axes, np.cross(*axes)])
        return coal.Box(*(2.0 * lengths), 2e-6), coal.Transform3s(turned, np.array(obstacle.position))
    signs = np.array(np.meshgrid(*[(-1.0, 1.0)] * len(generators))).reshape(len(generators), -1).T
    points = coal.StdVec_Vec3s()
    points.extend(list(signs @ generators))
    return coal.Convex.convexHull(points, True, None), pose


def _coal_distance(first: object, pose: object, second: object, other: object) -> float:
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = 1e-9
    return float(coal.distance(first, pose, second, other, request, result))


def test_distances_are_coal_s(robot: Robot) -> None:
    """All kinds of shapes against all kinds of obstacles, 150 postures. A flat zonotope is 1e-6 m thick here."""
    shapes = (*robot.geometry, HELD)
    joints = [robot.model.getJointId(shape.frame) if shape.frame != "universe" else 0 for shape in shapes]
    apart = [(i, j) for i in range(len(shapes)) for j in range(len(shapes)) if joints[j] - joints[i] >= 4]
    watch = ContactWatch(robot, shapes, OBSTACLES, apart)
    others = [_coal_obstacle(obstacle) for obstacle in OBSTACLES]
    rng, data, free, hits = np.random.default_rng(0), robot.model.createData(), 0, 0
    bodies = [_coal_shape(shape.kind, shape.size) for shape in shapes]
    for _ in range(150):
        q = rng.uniform(-2.0, 2.0, 7)
        pinocchio.forwardKinematics(robot.model, data, q)
        poses = [
            coal.Transform3s(data.oMi[joint].rotation @ shape.rotation, data.oMi[joint].act(shape.position))
            for joint, shape in zip(joints, shapes, strict=True)
        ]
        moving = [k for k, joint in enumerate(joints) if joint]
        outer = min(_coal_distance(bodies[k], poses[k], *other) for k in moving for other in others)
        inner = min(_coal_distance(bodies[i], poses[i], bodies[j], poses[j]) for i, j in apart)
        for found, expected in ((watch.to_obstacles(q), outer), (watch.to_itself(q), inner)):
            if expected > 1e-5:
                assert found.distance == pytest.approx(expected, abs=3e-6)
                free += 1
            else:
                assert found.distance < 2e-5
                hits += 1
        assert watch.closest(q).distance == min(watch.to_obstacles(q).distance, watch.to_itself(q).distance)
    assert free > 80
    assert hits > 40


def test_plain_distance_and_names() -> None:
    """A ball at the Gen3's joint 2 below a ball overhead: on one vertical line, so the gap is a subtraction."""
    robot = load_robot("kinova_gen3")
    shape = Primitive("joint_1", "sphere", np.zeros(3), np.eye(3), np.array([0.1]))
    base = Primitive("universe", "box", np.zeros(3), np.eye(3), np.array([0.5, 0.5, 0.5]))
    above = Obstacle("above", "sphere", (0.0, 0.0, 0.15643 + 0.5), (0.15,))
    beside = Obstacle("beside", "box", (5.0, 0.0, 0.0), (0.1, 0.1, 0.1))
    watch = ContactWatch(robot, (base, shape), (beside, above), [(0, 1)])
    found = watch.to_obstacles(np.zeros(7))
    assert found.distance == pytest.approx(0.25, abs=1e-9)
    assert (found.first, found.second) == ("joint_1/1", "above")
    overlap = watch.to_itself(np.zeros(7))
    assert overlap.distance < 0.0
    assert (overlap.first, overlap.second) == ("universe/0", "joint_1/1")
    assert watch.closest(np.zeros(7)) == overlap


def test_what_does_not_move_is_not_compared(robot: Robot) -> None:
    base = next(shape for shape in robot.geometry if shape.frame == "universe")
    table = Obstacle("table", "box", (0.0, 0.0, 0.0), (2.0, 2.0, 0.01))
    watch = ContactWatch(robot, (base,), (table,))
    assert watch.to_obstacles(np.zeros(7)) == (FARTHEST, "", "")
    assert watch.to_itself(np.zeros(7)) == (FARTHEST, "", "")


def test_shape_on_an_unknown_joint_is_refused(robot: Robot) -> None:
    shape = Primitive("joint_9", "sphere", np.zeros(3), np.eye(3), np.array([0.1]))
    with pytest.raises(RobotError, match="'kinova_gen3' has no joint 'joint_9' to carry a shape"):
        ContactWatch(robot, (shape,))


@pytest.mark.parametrize("pair", [(0, 30), (-1, 2)])
def test_pairs_out_of_range_are_refused(robot: Robot, pair: tuple[int, int]) -> None:
    with pytest.raises(RobotError, match="pairs of shapes must lie in 0 to 3"):
        ContactWatch(robot, robot.geometry[:4], (), [pair])
