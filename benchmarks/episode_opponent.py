# SPDX-License-Identifier: Apache-2.0
"""Opponents of a closed-loop episode within its assumptions: drives that are off, and the worst model of all."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.delay_loop import Leg
from benchmarks.episode_world import PLANNER, Array, physical
from benchmarks.opponents import opponents, worst_model
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots import Robot
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig

DRIVES = ("exact", "round", "drag")
_SHRUNK = np.linspace(1.0, 0.0, 101)


class InexactArm(SimulatedArm):
    """A simulated arm whose drives give other torques than they are told, as far off as they may be.

    Args:
        drives: they round to steps of twice ``torque_error``, or drag by it against the motion.
        torque_error: [N m].
    """

    def __init__(self, *arguments: Any, drives: str, torque_error: float, **options: Any) -> None:
        self._drives, self._error = drives, torque_error
        super().__init__(*arguments, **options)

    def command(self, torque: npt.ArrayLike, stamp: float) -> bool:
        """See SimulatedArm."""
        asked = np.asarray(torque, dtype=np.float64)
        if self._drives == "round" and self._error:
            asked = 2.0 * self._error * np.rint(asked / (2.0 * self._error))
        elif self._drives == "drag":
            asked = asked - self._error * np.sign(self.qd)
        return super().command(asked, stamp)


def worst_truth(
    robot: Robot, control: RobustControlConfig, bounds: Bounds, start: Array, rng: np.random.Generator
) -> TrueRobot:
    """The worst physical model for standing still at the start, against one joint or against the norm of all errors.

    Bodies are as near to the corner of their boxes as the bounds on the last one and MuJoCo let them be.
    """
    box, body = model_box(robot, KnownRobotConfig(), bounds, robot.body_index()), robot.body_index()
    still, certifier = np.zeros(robot.n), Certifier(robot, (), control, CertifierConfig())
    rest = Bezier(start, still, still, still, PLANNER.duration)
    leg = Leg(0.0, rest, certifier.certify(rest, box, certifier.at_rest(box), Scene(())))
    found = opponents(robot, box, control, leg, 1)
    corner, motor = worst_model(box, found[int(rng.integers(len(found)))].pull)
    theta = box.theta.copy()
    for i, (middle, end) in enumerate(zip(box.theta, corner, strict=True)):
        tried = (middle + share * (end - middle) for share in _SHRUNK)
        theta[i] = next(x for x in tried if physical(x) and (i != body or bounds.contains(x)))
    return TrueRobot.from_parameters(theta, motor)
