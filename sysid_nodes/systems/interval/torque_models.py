# SPDX-License-Identifier: Apache-2.0
"""Torque of a log by models of an arm: calibrated, described, or plain least squares, as means over windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import linalg

from sysid_nodes.models.known_robot import KnownRobotConfig, known_box, nominal_parameters
from sysid_nodes.results.torque_comparison import TorqueComparison
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.estimate.window_model import WindowModel
from sysid_nodes.systems.interval.momentum_rows import MomentumRows

Array = npt.NDArray[np.float64]

_RANK = 1e-6
"""Conditioning of the scaled regressor's part that counts as known."""


def compare_torque(rows: MomentumRows, body: int, models: Mapping[str, Array]) -> TorqueComparison:
    """Torque of the windows by models (16 n,): 15 n parameters in the order of `Unknowns`, then the load frictions."""
    windows = WindowModel.of_rows(rows, body, -1)
    predicted = {name: windows.measured + windows.residual(x)[0] for name, x in models.items()}
    return TorqueComparison(rows.t.mean(axis=1), windows.measured, predicted)


def description_parameters(robot: Robot, known: KnownRobotConfig) -> Array:
    """(16 n,) the description's links alone: no friction, armature or offset, and the stated gain."""
    n = robot.n
    parameters = nominal_parameters(robot, known)
    parameters[10 * n : 14 * n] = 0.0
    return np.concatenate([parameters, np.zeros(n)])


def stated_parameters(robot: Robot, known: KnownRobotConfig) -> Array:
    """(16 n,) the middle of what is stated of the robot before any data."""
    return np.concatenate([known_box(robot, known)[0], np.zeros(robot.n)])


def plain_least_squares(runs: Sequence[MomentumRows], gain: Array) -> Array:
    """(15 n,) ordinary least squares of links, friction, armature and offsets, unweighted; the shortest where blind.

    Args:
        runs: without payload.
        gain: (n,) from torque reading to torque, taken as it is.
    """
    n = len(gain)
    mean = np.concatenate([run.coefficients / (run.t[:, 1] - run.t[:, 0])[:, None, None] for run in runs])
    joint = np.arange(n)
    rows = mean[:, :, : 14 * n].reshape(-1, 14 * n)
    scale = np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    torque = (-mean[:, joint, 14 * n + joint] * gain).ravel()
    # By pivoted QR, which has no iteration that may fail to converge.
    found = linalg.lstsq(rows / scale, torque, cond=_RANK, lapack_driver="gelsy")[0] / scale
    return np.concatenate([np.where(scale > 1e-12, found, 0.0), gain])
