# SPDX-License-Identifier: Apache-2.0
"""The four-bar leg, simulated by MuJoCo, as the Bayesian identification reads it."""

from __future__ import annotations

from functools import cache

import numpy as np

from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.fourbar_leg import LOOP
from sysid_nodes.simulation.fourbar.leg import MOTORS, LegRecord, LegTruth, simulate_leg
from sysid_nodes.systems.bayesian import BayesianConfig, Grid, MechanismLog, Series, mechanism_log
from sysid_nodes.systems.bayesian.config import DrivePriorConfig, FrictionPriorConfig, MechanismConfig

CONFIG = BayesianConfig(
    mechanism=MechanismConfig(loops=(LOOP,), passive=("rod_joint", "knee")),
    friction=FrictionPriorConfig(coulomb_sigma=2.0, viscous_sigma=1.0),
    drive=DrivePriorConfig(armature_sigma=0.05),
)


@cache
def leg_run(seed: int, duration: float, spread: float = 0.15) -> tuple[LegTruth, LegRecord]:
    """A hidden leg and its readings."""
    rng = np.random.default_rng(seed)
    truth = LegTruth.draw(rng, spread)
    return truth, simulate_leg(truth, duration, rng)


def leg_log(record: LegRecord, step: float = 0.01, *, torque: bool = True, power: bool = True) -> MechanismLog:
    """Readings of the motors alone."""
    robot = leg()
    position = np.full((len(record.t), robot.n), np.nan)
    order = [MOTORS.index(name) for name in robot.joint_names if name in MOTORS]
    for k, name in enumerate(MOTORS):
        position[:, robot.joint_names.index(name)] = record.position[:, k]
    read = record.torque[:, order] if torque else np.full((len(record.t), 2), np.nan)
    drawn = Series(record.t, (record.voltage * record.current)[:, None]) if power else None
    return mechanism_log(Series(record.t, position), Series(record.t, read), drawn, Grid.over(record.t, step))


@cache
def leg() -> Robot:
    return load_robot("fourbar_leg")
