# SPDX-License-Identifier: Apache-2.0
"""The robot as its actuators moved it, beside its commands and what the identified law makes of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.reports.drawing.moving_scene import MovingScene
from sysid_nodes.reports.drawing.plots import GREY, VERMILION
from sysid_nodes.reports.drawing.posture_scene import FAINT, Version, on_a_stand, posture_scene
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]


def motion_scene(robot: Robot, t: Array, command: Array, measured: Array, replayed: Array) -> MovingScene:
    """A scene of joint positions (S, n) [rad] at times t (S,) [s]; the encoders do not tell where a base is."""
    versions = [
        Version("measured", on_a_stand(robot, measured)),
        Version("replayed by the identified law", on_a_stand(robot, replayed), VERMILION, FAINT),
        Version("commanded", on_a_stand(robot, command), GREY, FAINT),
    ]
    return posture_scene(robot, t, versions, "The robot's motion, its commands and the replay over time")
