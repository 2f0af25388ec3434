# SPDX-License-Identifier: Apache-2.0
"""A robot's kinematic tree as frozen arrays, taken from a pinocchio model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import RobotError, SamplesError
from sysid_nodes.kernel import reference
from sysid_nodes.kernel.tree import Array, Tree

if TYPE_CHECKING:
    from sysid_nodes.robots.robot import Robot

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class Chain:
    """A fixed-base tree of n one-degree-of-freedom joints; body i is what joint i carries.

    Attributes:
        joint_names: n names, the column order of every q and qd.
        tree: parents, placements, axes, joint types and gravity.
    """

    joint_names: tuple[str, ...]
    tree: Tree

    def __post_init__(self) -> None:
        for array in self.tree:
            array.setflags(write=False)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @classmethod
    def from_model(cls, model: Any) -> Chain:
        """Read a pinocchio.Model whose joints are all revolute or prismatic with nq = nv = 1.

        Raises:
            RobotError: another kind of joint, a free base or no joint at all.
        """
        names = tuple(model.names)[1:]
        if not names:
            raise RobotError("the model has no moving joint")
        axes, revolute = [], []
        for name, joint in zip(names, list(model.joints)[1:], strict=True):
            axis, turns = _axis(name, joint)
            axes.append(axis)
            revolute.append(turns)
        placements = list(model.jointPlacements)[1:]
        return cls(
            names,
            Tree(
                parents=np.array(list(model.parents)[1:], dtype=np.int64) - 1,
                rotation=np.array([placement.rotation for placement in placements]),
                translation=np.array([placement.translation for placement in placements]),
                axis=np.array(axes),
                revolute=np.array(revolute, dtype=np.bool_),
                gravity=np.array(model.gravity.linear),
            ),
        )

    @classmethod
    def from_robot(cls, robot: Robot) -> Chain:
        """The tree of a robot with a fixed base.

        Raises:
            RobotError: the base floats, or a joint is neither revolute nor prismatic.
        """
        if robot.floating_base:
            raise RobotError(f"robot '{robot.name}' has a floating base; its joint regressors need a fixed one")
        return cls.from_model(robot.model)

    def samples(self, *arrays: Array) -> tuple[Array, ...]:
        """Arrays of joints' samples as float64.

        Raises:
            SamplesError: one is not (N, n), with the same N.
        """
        out = tuple(np.asarray(array, dtype=np.float64) for array in arrays)
        for array in out:
            if array.ndim != 2 or array.shape != (len(out[0]), self.n):
                raise SamplesError(f"joint arrays must have shape (N, {self.n}), the same N, got {array.shape}")
        return out

    def supports(self) -> npt.NDArray[np.bool_]:
        """(n, n) True at [k, i] where moving joint k moves body i."""
        return reference.supports(self.tree)


def _axis(name: str, joint: Any) -> tuple[Array, bool]:
    """Unit axis in the joint frame and whether the joint turns about it."""
    kind = joint.shortname()
    if joint.nq == 1 and joint.nv == 1:
        for prefix, revolute in (("JointModelR", True), ("JointModelP", False)):
            if (aligned := kind.removeprefix(prefix)) in _AXES:
                return np.array(_AXES[aligned]), revolute
        if kind in ("JointModelRevoluteUnaligned", "JointModelPrismaticUnaligned"):
            concrete = joint.extract()  # owns the axis: must outlive the copy
            return np.array(concrete.axis, dtype=np.float64), kind == "JointModelRevoluteUnaligned"
    raise RobotError(f"joint '{name}' is a {kind}; only revolute and prismatic joints of one coordinate are handled")
