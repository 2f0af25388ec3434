# SPDX-License-Identifier: Apache-2.0
"""Units of an arm's positions and velocities: measured, mended, and what contradicts the configuration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding, Mend
from sysid_nodes.signals.plausibility import ALL_JOINTS
from sysid_nodes.systems.interval.check.angles import AngleUnits, angle_units, unwrap
from sysid_nodes.systems.interval.check.signal_record import Signals

_CLOCK, _FITS, _ALIKE, _CLOCK_JOINTS = 0.01, 0.2, 0.3, 3
"""Relative error of a pace from which it is said, and where it is a unit's; how far joints may differ beside it, and
how many have to agree."""


def arm_units(robot: Robot, signals: Signals, close: npt.NDArray[np.bool_]) -> tuple[AngleUnits | None, ...]:
    """Units of each joint's position and velocity, None of a sliding joint.

    Args:
        robot: the arm.
        signals: N joint states.
        close: (N - 1,) which of them follow one another without a pause.
    """
    limits = robot.limits
    far = np.maximum(np.abs(limits.position_lower), np.abs(limits.position_upper))
    return tuple(
        angle_units(
            signals.t,
            signals.q[:, k],
            signals.qd[:, k],
            close,
            limit=float(far[k]),
            top_speed=float(limits.velocity[k]),
        )
        if _is_revolute(robot, k)
        else None
        for k in range(robot.n)
    )


def mended_samples(robot: Robot, signals: Signals, units: Sequence[AngleUnits | None]) -> JointSamples:
    """Samples in SI units, turns undone."""
    q, qd = signals.q.copy(), signals.qd.copy()
    speeds = {"rad/s": 1.0, "deg/s": np.pi / 180.0, "rpm": np.pi / 30.0}
    for k, unit in enumerate(units):
        if unit is None:
            continue
        q[:, k] *= np.pi / 180.0 if unit.degrees else 1.0
        qd[:, k] *= speeds[unit.speed] * (-1.0 if unit.reversed else 1.0)
        q[:, k] = unwrap(signals.t, q[:, k], qd[:, k])
    return JointSamples(robot.joint_names, signals.t, q, qd, signals.tau)


def unit_findings(robot: Robot, units: Sequence[AngleUnits | None], start: float) -> list[Finding]:
    """Findings that contradict the configuration in the units of positions and velocities."""
    findings = []
    for joint, unit in zip(robot.joint_names, units, strict=True):
        if unit is None:
            continue
        if unit.degrees:
            line = f"position of '{joint}' seems to be in degrees instead of rad ({unit.evidence})"
            findings.append(
                Finding("position_unit", joint, start, line, (Mend("signals.position_unit", "deg", joint),))
            )
        if unit.speed != "rad/s":
            line = f"velocity of '{joint}' seems to be in {unit.speed} instead of rad/s ({unit.evidence})"
            mend = Mend("signals.velocity_unit", unit.speed, joint)
            findings.append(Finding("velocity_unit", joint, start, line, (mend,)))
        if unit.reversed:
            line = f"runs against its velocity (factor {unit.ratio:.3g}): one of them has the wrong sign"
            findings.append(Finding("velocity", joint, start, f"position of '{joint}' {line}"))
    return findings + _clock_findings(units, start)


def _clock_findings(units: Sequence[AngleUnits | None], start: float) -> list[Finding]:
    """Positions that move at another pace than velocities, by one factor at all joints: that is not a joint's."""
    ratio = np.array([unit.ratio for unit in units if unit is not None and unit.speed == "rad/s" and not unit.degrees])
    ratio = ratio[np.isfinite(ratio)]
    if len(ratio) < _CLOCK_JOINTS:
        return []
    pace = float(np.median(ratio))
    off = abs(pace - 1.0)
    if not _CLOCK <= off < _FITS or np.abs(ratio - pace).max() > _ALIKE * off:
        return []
    line = f"positions of all joints move {pace:.4g} times as fast as velocities say: stamps, or velocities, are scaled"
    return [Finding("clock", ALL_JOINTS, start, line)]


def _is_revolute(robot: Robot, k: int) -> bool:
    kind = str(robot.model.joints[k + 1].shortname())
    return kind.startswith("JointModelR")
