# SPDX-License-Identifier: Apache-2.0
"""Friction, armature and offsets of a real Gen3, from a log of its motor-side torques that stays where it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import lsq_linear
from scipy.signal import savgol_filter

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot

_LOG = "kinova_gen3_real/motor_side_2.npz"
"""Of the two the one that the published model fits: on the other the rest is five to ten times as large."""

_SMOOTHING = 11
"""Samples of the local cubics that differentiate velocities."""

_STILL = 0.01
"""Speed [rad/s] below which the direction of Coulomb friction is not known."""

_OFFSET = 0.1
"""Uncertainty of the offsets that is left [N m]; all else as of the nominal robot."""


def measured_robot(data: Path) -> KnownRobotConfig | None:
    """The Gen3 with constants fitted by least squares, none negative but offsets; None where the log is missing."""
    path = data / _LOG
    if not path.is_file():
        return None
    with np.load(path) as log:
        t, q, qd, tau = (log[name] for name in ("t", "q", "qd", "tau"))
    robot = load_robot("kinova_gen3", variant="bare")
    qdd = savgol_filter(qd, _SMOOTHING, 3, deriv=1, delta=float(np.median(np.diff(t))), axis=0)
    bodies = standard_regressor(Chain.from_robot(robot), q, qd, qdd) @ robot.inertial_parameters().ravel()
    rest, sign = tau - bodies, np.sign(qd) * (np.abs(qd) > _STILL)
    least = np.array([0.0, 0.0, 0.0, -np.inf])
    found = np.array(
        [
            lsq_linear(np.column_stack([*terms, np.ones(len(t))]), right, (least, np.inf)).x
            for *terms, right in zip(sign.T, qd.T, qdd.T, rest.T, strict=True)
        ]
    )
    coulomb, viscous, armature, offset = (tuple(float(x) for x in column) for column in found.T)
    return KnownRobotConfig(
        coulomb=coulomb, viscous=viscous, armature=armature, offset=offset, offset_absolute=(_OFFSET,)
    )
