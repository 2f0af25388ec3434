# SPDX-License-Identifier: Apache-2.0
"""Doubts about bounds that rest on a calibration, before the data contradict them."""

from __future__ import annotations

import numpy as np

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.plausibility import ALL_JOINTS
from sysid_nodes.systems.interval.calibration_file import INTERVAL, Calibration
from sysid_nodes.systems.interval.estimate.estimator import StatisticalEstimator
from sysid_nodes.systems.interval.estimate.untold_effects import LOAD
from sysid_nodes.systems.interval.method import Method

_FASTER, _SLOWEST = 1.2, 1e-3
"""Times as fast as in the calibration that are worth a word, and the slowest speed that they are of [rad/s or m/s]."""

_CLEAR = 4.0
"""Standard deviations from which an effect that nobody stated is taken for seen."""


class Doubts:
    """Notes, once and for all, that the data do not look like the calibration's.

    Args:
        robot: the robot.
        chain: its kinematic chain.
        calibration: what the bounds rest on; None: nothing is doubted.

    Attributes:
        found: why bounds that contradict nothing may miss the truth; None while nothing speaks for it.
    """

    def __init__(self, robot: Robot, chain: Chain, calibration: Calibration | None) -> None:
        self._robot, self._chain, self._calibration = robot, chain, calibration
        self._speed = np.zeros(robot.n)
        self.found: Finding | None = None

    def weigh(self, samples: JointSamples, method: Method, fit: StatisticalEstimator | None) -> None:
        """Looks at what the method made of samples.

        Args:
            samples: the newest ones, not empty.
            method: with their windows in it.
            fit: the statistical fit if these windows changed it.
        """
        if self._calibration is None or self.found is not None:
            return
        self._speed = np.maximum(self._speed, np.abs(samples.qd).max(axis=0))
        line = _judge_margin(self._calibration.margin, method)
        if not line and fit is not None and method.contradiction is None:
            line = self._judge_effects(self._calibration, fit)
        if line:
            line = f"{line}{self._faster(self._calibration)}, and the bounds may miss the truth"
            self.found = Finding("margin", ALL_JOINTS, float(samples.t[-1]), line)

    def _faster(self, calibration: Calibration) -> str:
        """That joints move faster than when calibrated, for errors of torque grow with the speed; else empty."""
        if calibration.speed is None:
            return ""
        times = self._speed / np.maximum(calibration.speed, _SLOWEST)
        k = int(times.argmax())
        if times[k] < _FASTER:
            return ""
        return f" ({self._robot.joint_names[k]} moves {times[k]:.1f} times as fast as it did when it was calibrated)"

    def _judge_effects(self, calibration: Calibration, fit: StatisticalEstimator) -> str:
        """Says what effect that nobody stated the residuals of the fit look like, or nothing.

        Not where the fit begins with a posterior: that is surer of the robot than any box, and a real UR10e with its
        right load looked 4.5 standard deviations off by it, 3.5 off by the fit that bounds go with.
        """
        if calibration.method != INTERVAL:
            return ""
        found = fit.clearest_effect(self._chain, calibration.coupling, with_load=calibration.transmitted is None)
        if found is None or found.sigmas < _CLEAR:
            return ""
        where = "" if found.joint is None else f", most of all {self._robot.joint_names[found.joint]}"
        room = "; a calibration with known_robot.load_friction makes room for that" if found.name == LOAD else ""
        return f"the torques look like {found.name}{where}, {found.sigmas:.1f} standard deviations from none{room}"


def _judge_margin(margin: float, method: Method) -> str:
    """Says that the data need more torque error than any of the calibration's own runs, or nothing.

    Bounds hold as long as no error is larger than those times the margin. But errors that those runs did not have are
    seldom noise: what bends with the load or rubs the more for it pushes the bounds off the truth long before the data
    contradict them.
    """
    usual = 1.0 / margin
    needed = min(method.error_needed(usual), 1.0)
    if not needed > usual:
        return ""
    return (
        f"the data need {100.0 * needed:.0f} % of the torque error that the calibration allows, its own runs "
        f"{100.0 * usual:.0f} % at most: something errs with the load that did not without (joints that bend, "
        "friction that grows with it, a cable, a tilted base)"
    )
