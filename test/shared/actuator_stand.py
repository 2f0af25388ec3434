# SPDX-License-Identifier: Apache-2.0
"""A Go2 leg on a stand with drives that hide what they are, chirp_log; for tests of actuator identification."""

from __future__ import annotations

from functools import cache

import numpy as np

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.robots import Robot, limb, load_robot
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand

POSTURE = np.array([0.0, 0.85, -1.95])
NOISE = 8e-4


@cache
def leg() -> Robot:
    return limb(load_robot("go2"), "FL_")


@cache
def chirp_log(last: float = 4.0, duration: float = 12.0, seed: int = 1) -> tuple[Drives, ActuatorLog]:
    """The hidden drives and the log; friction at rest, ripple and wrong masses are what no fit is told."""
    rng = np.random.default_rng(seed)
    drives = Drives.draw(3, rng).with_unknowns(rng)
    t, command = chirp(ChirpConfig(duration=duration, first=0.1, last=last, amplitude=0.25), POSTURE)
    return drives, move_on_stand(leg(), drives, t, command).read(noise=NOISE, rng=rng)
