# SPDX-License-Identifier: Apache-2.0
"""All that joint states of an arm tell about themselves, before anything is identified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.results.identification import Excitation
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding, Mend
from sysid_nodes.signals.windows import cut
from sysid_nodes.systems.interval.check.angles import AngleUnits, angle_units, unwrap
from sysid_nodes.systems.interval.check.arm_fit import ArmFit, fit_arm
from sysid_nodes.systems.interval.check.excitation import body_excitation
from sysid_nodes.systems.interval.check.gravity_sign import gravity_factors
from sysid_nodes.systems.interval.check.noise_levels import NoiseLevels, noise_levels
from sysid_nodes.systems.interval.check.signal_record import Signals
from sysid_nodes.systems.interval.check.torque_delay import TorqueDelay, torque_delay
from sysid_nodes.systems.interval.check.torque_findings import LIKELY_SIGN, friction_and_offset, sign_and_unit, wrist
from sysid_nodes.systems.interval.check.unexplained_torque import noise_finding
from sysid_nodes.systems.interval.check.window_means import WindowMeans, window_means
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

Array = npt.NDArray[np.float64]

_FEWEST = 12
"""Windows needed before torque is judged."""

_WINDOWS = 60
_LONGEST = 0.2
"""Windows wanted, and how long one is at most [s]: short ones see friction turn, long ones average noise away."""

_FAR = 4.0
"""Standard deviations from which a delay is certain: they are of few parts."""

_LATE = 0.002
"""Delay that is worth a word [s]."""

_BEYOND_LIMIT = 3.0
"""No joint's torque is this many times its limit."""

_MILLI = 1000.0
"""Of a torque in N mm."""

_LONG = 2.0
"""Time from which friction, noise and delay are judged; less shows too few turns of any joint [s]."""

_STILL = 0.02
"""A joint that travels less tells nothing about its own friction [rad or m]."""

SIGNAL_KINDS = frozenset({"position_unit", "velocity_unit", "velocity", "torque_sign", "torque_unit"})
"""Findings after which no number means anything."""

_SPOILING = SIGNAL_KINDS | {LIKELY_SIGN}


@dataclass(frozen=True)
class ArmCheck:
    """Findings and measurements of one check.

    Attributes:
        samples: the joint states with units mended and turns undone.
        units: of each joint's position and velocity; None of a sliding joint.
        fit: of the torques; None where too little moves.
        means: the windows that it was made of.
        delay: between position and torque; None where it was not looked for, or with too few windows.
        levels: of the noise; likewise.
        excitation: how well this motion tells the body's parameters; None without a fit.
        findings: what contradicts the configuration, with what would mend it.
    """

    samples: JointSamples
    units: tuple[AngleUnits | None, ...]
    fit: ArmFit | None = None
    means: WindowMeans | None = None
    delay: TorqueDelay | None = None
    levels: NoiseLevels | None = None
    excitation: Excitation | None = None
    findings: tuple[Finding, ...] = field(default=())


def check_arm(robot: Robot, config: IntervalIdentifierConfig, signals: Signals, *, thorough: bool = True) -> ArmCheck:
    """Checks joint states of an arm.

    Args:
        robot: the arm, with a fixed base.
        config: as it would be identified with; findings are what contradicts it.
        signals: at least two joint states.
        thorough: also look for the delay and measure noise and excitation, which takes consecutive joint states.
    """
    max_gap = config.window.max_gap * signals.stride
    close = np.diff(signals.t) <= max_gap
    if close.sum() < _FEWEST:
        return ArmCheck(_mended(robot, signals, (None,) * robot.n), (None,) * robot.n)
    units = _angle_units(robot, signals, close)
    samples = _mended(robot, signals, units)
    findings = _angle_findings(robot, units, float(signals.t[0]))
    edges, _ = cut(samples, _window(samples), max_gap)
    if len(edges) < _FEWEST:
        return ArmCheck(samples, units, findings=(*findings, *_gross_findings(robot, config, samples)))
    chain, body = Chain.from_robot(robot), robot.body_index(config.body)
    means = window_means(chain, samples, edges)
    theta = robot.inertial_parameters()
    fit = fit_arm(means, theta, body, _largest_torque(robot, means.rigid(theta)))
    theta[body] = fit.body
    start = float(samples.t[0])
    long = samples.t[-1] - samples.t[0] >= _LONG
    if not long:  # a moment's motion cannot tell a load from a torque constant
        fit = replace(fit, unit=np.where(fit.unit == _MILLI, _MILLI, 1.0))
    gross = [] if long else _gross_findings(robot, config, samples)
    findings += gross or sign_and_unit(fit, config, robot.joint_names, start)
    allowed = _allowed(config, robot, samples)
    if long and not any(item.kind in _SPOILING for item in findings) and not config.calibration:
        findings += wrist(fit, robot, config, start)
        findings += friction_and_offset(fit, means, allowed, robot, config)
        if not findings and signals.stride == 1:  # of a thinned record nobody knows a window's mean torque
            findings += noise_finding(fit, allowed, robot, config, samples, edges)
    if not thorough:
        return ArmCheck(samples, units, fit, means, findings=tuple(findings))
    delay = torque_delay(samples, means, means.rigid(theta), body)
    findings += _delay_finding(delay, config, start) if long and delay is not None else []
    return ArmCheck(
        samples, units, fit, means, delay,
        noise_levels(samples, max_gap),
        body_excitation(means, fit, body, config.prior.bounds),
        tuple(findings),
    )  # fmt: skip


def still_joints(check: ArmCheck) -> list[str]:
    """Joints that hardly move."""
    travel = np.ptp(check.samples.q, axis=0)
    return [name for name, far in zip(check.samples.names, travel, strict=True) if far < _STILL]


def _step(samples: JointSamples) -> float:
    return float(np.median(np.diff(samples.t)))


def _window(samples: JointSamples) -> float:
    span = float(samples.t[-1] - samples.t[0])
    return float(np.clip(span / _WINDOWS, min(3.0 * _step(samples), _LONGEST), _LONGEST))


def _turning(robot: Robot, k: int) -> bool:
    kind = str(robot.model.joints[k + 1].shortname())
    return kind.startswith("JointModelR")


def _angle_units(robot: Robot, signals: Signals, close: npt.NDArray[np.bool_]) -> tuple[AngleUnits | None, ...]:
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
        if _turning(robot, k)
        else None
        for k in range(robot.n)
    )


def _mended(robot: Robot, signals: Signals, units: Sequence[AngleUnits | None]) -> JointSamples:
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


def _angle_findings(robot: Robot, units: Sequence[AngleUnits | None], start: float) -> list[Finding]:
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
    return findings


def _largest_torque(robot: Robot, rigid: Array) -> Array:
    """(n,) torque that no joint exceeds [N m]: its limit, or far more than the whole arm weighs."""
    weight = 20.0 * float(np.sqrt((rigid**2).mean(axis=0)).max())
    limit = robot.limits.torque
    return np.where(np.isfinite(limit), _BEYOND_LIMIT * limit, max(weight, 1.0))


def _allowed(config: IntervalIdentifierConfig, robot: Robot, samples: JointSamples) -> Array:
    """(n,) error of a window's mean torque that is stated [N m]."""
    noise = config.noise
    relative = per_joint(noise.torque_relative, robot.n, "noise.torque_relative")
    absolute = per_joint(noise.torque_absolute, robot.n, "noise.torque_absolute")
    return np.asarray(absolute + relative * np.abs(samples.tau).mean(axis=0))


def _gross_findings(robot: Robot, config: IntervalIdentifierConfig, samples: JointSamples) -> list[Finding]:
    """Signs and units that a moment of data gives away, by gravity alone."""
    factors, start = gravity_factors(robot, config, samples), float(samples.t[0])
    wrong = {name: factor for name, factor in factors.items() if factor < 0.0 or 500.0 < factor < 2000.0}
    lines = {
        name: "has the opposite sign of the torque gravity needs" + (
            ", and seems to be in N mm instead of N m" if factor < -500.0 else ""
        ) if factor < 0.0 else "seems to be in N mm instead of N m"
        for name, factor in wrong.items()
    }  # fmt: skip
    now = dict(zip(robot.joint_names, np.broadcast_to(np.array(config.signals.torque_sign), robot.n), strict=True))
    mends = {
        name: (Mend("signals.torque_sign", -float(now[name]), name),) * (factor < 0.0)
        + (Mend("signals.torque_unit", "N mm", name),) * (abs(factor) > 500.0)
        for name, factor in wrong.items()
    }
    if len(wrong) == len(factors) > 1 and len(set(lines.values())) == 1:
        line, together = next(iter(lines.values())), tuple(mend for each in mends.values() for mend in each)
        return [Finding("torque_sign", "all joints", start, f"effort of all joints {line}", together)]
    return [
        Finding("torque_sign", name, start, f"effort of '{name}' {line}", mends[name]) for name, line in lines.items()
    ]


def _delay_finding(delay: TorqueDelay, config: IntervalIdentifierConfig, start: float) -> list[Finding]:
    stated = float(np.mean(config.signals.torque_delay))
    if delay.at_end or abs(delay.delay - stated) < max(_FAR * delay.error, _LATE):
        return []
    late = "late" if delay.delay > 0.0 else "early"
    line = (
        f"torque comes {1e3 * abs(delay.delay):.0f} ms {late} against position (+- {2e3 * delay.error:.0f} ms), "
        f"stated are {1e3 * stated:.0f} ms"
    )
    mends = (Mend("signals.torque_delay", float(f"{delay.delay:.2g}")),) if config.noise.model == "window" else ()
    return [Finding("delay", "all joints", start, line, mends)]
