# SPDX-License-Identifier: Apache-2.0
"""Efforts that do not show what the described links need: not measured, of an idle motor, or of a balanced joint.

A payload would be invisible to such a joint, and rows that take its reading for its torque would exclude the payload.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding, Mend
from sysid_nodes.systems.interval.check.arm_fit import STILL, ArmFit
from sysid_nodes.systems.interval.check.joint_fit import JointFit, fit_joint
from sysid_nodes.systems.interval.check.window_means import MOVES, WindowMeans
from sysid_nodes.systems.interval.noise import unread_joints

Array = npt.NDArray[np.float64]

UNREAD = "torque_unread"
"""Kind of these findings."""

_SHOWN = 0.5
"""Share of the torque needed that a reading must not surely lack: links are described better than that."""

_SURELY = 4.0
"""Standard deviations of that share."""

_CLEARLY = 5.0
"""How many times what the fit leaves the torque needed must be; errors of the accelerations look like a lack, too."""

_CONSTANT = 1e-9
"""Relative change of a constant signal's window means, which are integrals."""

_FEWEST = 12
"""Windows in motion that it takes."""


def unread_torques(fit: ArmFit, means: WindowMeans, allowed: Array, robot: Robot, body: int) -> list[Finding]:
    """A finding for each joint whose effort lacks most of the torque that its motion and weight need.

    Args:
        fit: of the arm.
        means: of the windows it was made of.
        allowed: (n,) torque error that is stated [N m]; joints where it covers the limit are known to be unread.
        robot: the arm; the limits of its torques are what would mend it.
        body: index of the link that may carry something. It is looked at as described and as fitted: a joint has to
            lack the torque of both, for the last joints' is mostly that link's.
    """
    stated, described = unread_joints(robot, allowed), robot.inertial_parameters()
    fitted = described.copy()
    fitted[body] = fit.body
    needs = np.array([means.rigid(theta) for theta in (fitted, described)])
    found = []
    for k, joint in enumerate(robot.joint_names):
        # At rest friction holds what it likes of the weight; a constant signal has a finding of its own.
        moves = np.abs(means.motion[:, k, 0]) > MOVES
        reading = means.reading[moves, k] / fit.unit[k]
        too_little = moves.sum() < _FEWEST or np.ptp(means.place[moves, k]) < STILL
        if stated[k] or too_little or np.ptp(reading) <= _CONSTANT * np.abs(reading).max():
            continue
        t, motion, most = means.t[moves], means.motion[moves, k], float(allowed[k])
        lacks = (_lack(fit_joint(t, reading, own, motion), own, reading, most) for own in needs[:, moves, k])
        if (said := next(lacks)) and all(lacks):
            found.append(_finding(joint, said, float(robot.limits.torque[k]), float(means.t[0, 0])))
    return found


def _finding(joint: str, said: str, limit: float, start: float) -> Finding:
    line = f"effort of '{joint}' {said}: not measured, or does the motor idle, a spring or a brake hold it?"
    if not np.isfinite(limit) or limit <= 0.0:
        return Finding(UNREAD, joint, start, line)
    enough = float(f"{1.05 * limit:.3g}")
    line += f" With noise.torque_absolute at its limit, {enough:g}, nothing rests on it"
    return Finding(UNREAD, joint, start, line, (Mend("noise.torque_absolute", enough, joint),))


def _lack(fit: JointFit, needed: Array, reading: Array, allowed: float) -> str:
    """The lack of a reading (W,) of the torque needed (W,) [N m] in words; empty where that is not clear."""
    share, error, left = fit.factor, fit.factor_error, fit.rms
    if float(needed.std()) > _CLEARLY * left and share + _SURELY * error < _SHOWN:
        return f"shows {share:.2g} +- {2.0 * error:.2g} (two sigma) of the torque that the described links need"
    weight, read = abs(float(needed.mean())), abs(float(reading.mean()))
    if not fit.is_measured and _SHOWN * weight > read + _CLEARLY * left + allowed:
        return f"is {read:.3g} in the mean where the described links need {weight:.3g}"
    return ""
