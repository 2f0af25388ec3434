# SPDX-License-Identifier: Apache-2.0
"""True distances of a robot to obstacles and to itself, by MuJoCo's kinematics and geometry engine.

It shares no code with what certifies motions, so that "no contact" is a finding and not an echo. Distances are good to
1e-6 m where shapes are apart (tested against coal); the depth of an overlap is MuJoCo's estimate, its sign is sure.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt

from sysid_nodes.data.scene import Obstacle
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import Primitive, Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.arm_model import arm_spec

FARTHEST = 100.0
"""[m] More is not told apart."""

_FLAT = 1e-6
"""[m] Half the thickness given to a zonotope without volume, which MuJoCo cannot have."""

_TYPES = {
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "box": mujoco.mjtGeom.mjGEOM_BOX,
}


class Closest(NamedTuple):
    """The closest pair of shapes.

    Attributes:
        distance: between their surfaces, negative where they overlap; FARTHEST where nothing is nearer [m].
        first: ``joint/number of the shape`` of the robot, empty where there is no pair.
        second: an obstacle's name, or another shape of the robot.
    """

    distance: float
    first: str
    second: str

    @property
    def joint(self) -> str:
        """Joint that moves the robot's shape; empty where there is no pair."""
        return self.first.rpartition("/")[0]


class ContactWatch:
    """Measures distances in any posture of a fixed-base robot.

    Args:
        robot: kinematics.
        shapes: of the robot and of what it carries, in joint frames.
        obstacles: in the base frame; those shapes that do not move are never compared with them.
        self_pairs: (P, 2) indices of the shapes to keep apart from one another.

    Raises:
        RobotError: floating base, a shape on a joint that the robot has not, or indices out of range.
    """

    def __init__(
        self,
        robot: Robot,
        shapes: Sequence[Primitive],
        obstacles: Sequence[Obstacle] = (),
        self_pairs: npt.ArrayLike = (),
    ) -> None:
        pairs = np.asarray(self_pairs, dtype=np.intp).reshape(-1, 2)
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < len(shapes)):
            raise RobotError(f"pairs of shapes must lie in 0 to {len(shapes) - 1}, got {pairs.min()} to {pairs.max()}")
        spec = arm_spec(robot, robot.model.inertias.tolist()[1:], robot.motor, None)
        spec.option.ccd_tolerance, spec.option.ccd_iterations = 1e-10, 200
        for k, shape in enumerate(shapes):
            _add_shape(robot, spec, shape, _shape_name(k))
        for k, obstacle in enumerate(obstacles):
            _add_obstacle(spec, obstacle, _obstacle_name(k))
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        names = [f"{shape.frame}/{k}" for k, shape in enumerate(shapes)]
        moving = [k for k, shape in enumerate(shapes) if shape.frame != "universe"]
        ids = [self._id(_shape_name(k)) for k in range(len(shapes))]
        there = [self._id(_obstacle_name(k)) for k in range(len(obstacles))]
        self._outer = np.array([(ids[k], j) for k in moving for j in there], dtype=np.intp).reshape(-1, 2)
        self._inner = np.array([(ids[i], ids[j]) for i, j in pairs], dtype=np.intp).reshape(-1, 2)
        self._names = dict(zip(ids, names, strict=True)) | {
            j: obstacle.name for j, obstacle in zip(there, obstacles, strict=True)
        }

    def to_obstacles(self, q: Array) -> Closest:
        """The closest pair of a moving shape and an obstacle at q (n,)."""
        return self._closest(q, self._outer)

    def to_itself(self, q: Array) -> Closest:
        """The closest of the robot's own pairs at q (n,)."""
        return self._closest(q, self._inner)

    def closest(self, q: Array) -> Closest:
        """The closer of both."""
        return min(self.to_obstacles(q), self.to_itself(q), key=lambda found: found.distance)

    def _closest(self, q: Array, pairs: npt.NDArray[np.intp]) -> Closest:
        model, data, best = self._model, self._data, Closest(FARTHEST, "", "")
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        first, second = pairs.T
        apart = np.linalg.norm(data.geom_xpos[first] - data.geom_xpos[second], axis=1)
        least = apart - model.geom_rbound[first] - model.geom_rbound[second]
        for k in np.argsort(least):
            if least[k] >= best.distance:
                break  # bounding spheres, nearest first: no later pair can be closer
            a, b = int(first[k]), int(second[k])
            distance = float(mujoco.mj_geomDistance(model, data, a, b, FARTHEST, None))
            if distance < best.distance:
                best = Closest(distance, self._names[a], self._names[b])
        return best

    def _id(self, name: str) -> int:
        return int(mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_GEOM, name))


def _shape_name(index: int) -> str:
    return f"shape {index}"


def _obstacle_name(index: int) -> str:
    return f"obstacle {index}"


def _add_shape(robot: Robot, spec: mujoco.MjSpec, shape: Primitive, name: str) -> None:
    if shape.frame != "universe" and shape.frame not in robot.joint_names:
        raise RobotError(f"robot '{robot.name}' has no joint '{shape.frame}' to carry a shape")
    body = spec.worldbody if shape.frame == "universe" else spec.body(shape.frame)
    geom = body.add_geom(name=name, type=_TYPES[shape.kind], pos=shape.position, size=_pad(shape.size))
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(shape.rotation, dtype=np.float64).ravel())
    geom.quat = quaternion


def _add_obstacle(spec: mujoco.MjSpec, obstacle: Obstacle, name: str) -> None:
    position = np.array(obstacle.position)
    if obstacle.kind == "zonotope":
        spec.add_mesh(name=name, uservert=_vertices(np.array(obstacle.generators)).ravel())
        spec.worldbody.add_geom(name=name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, pos=position)
        return
    size = np.array(obstacle.size)
    half = {"box": 0.5, "sphere": 1.0, "capsule": np.array([1.0, 0.5])[: size.size]}[obstacle.kind] * size
    geom = spec.worldbody.add_geom(name=name, type=_TYPES[obstacle.kind], pos=position, size=_pad(half))
    x, y, z, w = np.array(obstacle.quaternion) / np.linalg.norm(obstacle.quaternion)
    geom.quat = np.array([w, x, y, z])


def _vertices(generators: Array) -> Array:
    """(V, 3) points whose hull is the zonotope, given a little thickness where it has none."""
    directions, sizes, axes = np.linalg.svd(generators, full_matrices=True)
    del directions
    sizes = np.concatenate([sizes, np.zeros(3 - sizes.size)])
    thick = np.vstack([generators, _FLAT * axes[sizes < _FLAT]])
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(thick))))
    return np.asarray(signs @ thick)


def _pad(size: Array) -> Array:
    return np.concatenate([size, np.zeros(3 - size.size)])
