# SPDX-License-Identifier: Apache-2.0
"""All that joint states of an arm tell about themselves, before anything is identified."""

from __future__ import annotations

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
from sysid_nodes.systems.interval.check.angles import AngleUnits
from sysid_nodes.systems.interval.check.arm_fit import STILL, ArmFit, fit_arm
from sysid_nodes.systems.interval.check.arm_units import arm_units, mended_samples, unit_findings
from sysid_nodes.systems.interval.check.excitation import body_excitation
from sysid_nodes.systems.interval.check.gravity_sign import gross_findings
from sysid_nodes.systems.interval.check.noise_levels import NoiseLevels, noise_levels
from sysid_nodes.systems.interval.check.signal_record import Signals
from sysid_nodes.systems.interval.check.torque_delay import TorqueDelay, torque_delay
from sysid_nodes.systems.interval.check.torque_findings import LIKELY_SIGN, friction_and_offset, sign_and_unit, wrist
from sysid_nodes.systems.interval.check.unexplained_torque import noise_finding
from sysid_nodes.systems.interval.check.unread_torque import UNREAD, unread_torques
from sysid_nodes.systems.interval.check.window_means import WindowMeans, window_means, window_torque
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
"""Time of motion from which signs, friction, noise and delay are judged; less shows too few turns of any joint [s]."""

_SLOW = 0.02
"""Share of the fastest motion below which the robot counts as at rest."""

_MOSTLY = 0.5
"""Share of a window in motion from which it is judged: at rest friction holds whatever the last command asked for."""

SIGNAL_KINDS = frozenset({"position_unit", "velocity_unit", "velocity", "torque_sign", "torque_unit", UNREAD})
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
        long: enough moves for torques' signs and units to be judged by all that they tell, not by gravity alone.
    """

    samples: JointSamples
    units: tuple[AngleUnits | None, ...]
    fit: ArmFit | None = None
    means: WindowMeans | None = None
    delay: TorqueDelay | None = None
    levels: NoiseLevels | None = None
    excitation: Excitation | None = None
    findings: tuple[Finding, ...] = field(default=())
    long: bool = False


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
        return ArmCheck(mended_samples(robot, signals, (None,) * robot.n), (None,) * robot.n)
    units = arm_units(robot, signals, close)
    samples = mended_samples(robot, signals, units)
    findings = unit_findings(robot, units, float(signals.t[0]))
    edges, _ = cut(samples, _window(samples), max_gap)
    edges = edges[window_torque(samples.t, _moving_mask(samples)[:, None], edges)[:, 0] > _MOSTLY]
    if len(edges) < _FEWEST:
        return ArmCheck(samples, units, findings=(*findings, *gross_findings(robot, config, samples)))
    chain, body = Chain.from_robot(robot), robot.body_index(config.body)
    means = window_means(chain, samples, edges)
    theta = robot.inertial_parameters()
    fit = fit_arm(means, theta, body, _largest_torque(robot, means.rigid(theta)))
    theta[body] = fit.body
    start = float(samples.t[0])
    long = _moving_time(samples) >= _LONG
    if not long:  # a moment's motion cannot tell a load from a torque constant
        fit = replace(fit, unit=np.where(fit.unit == _MILLI, _MILLI, 1.0))
    findings += sign_and_unit(fit, config, robot.joint_names, start) if long else gross_findings(robot, config, samples)
    allowed = _stated_error(config, robot, samples)
    if long and not any(item.kind in _SPOILING for item in findings) and not config.calibration:
        findings += unread_torques(fit, means, allowed, robot, body)
        findings += wrist(fit, robot, config, start)
        findings += friction_and_offset(fit, means, allowed, robot, config)
        if not findings and signals.stride == 1:  # of a thinned record nobody knows a window's mean torque
            findings += noise_finding(fit, allowed, robot, config, samples, edges)
    if not thorough:
        return ArmCheck(samples, units, fit, means, findings=tuple(findings), long=long)
    delay = torque_delay(samples, means, means.rigid(theta), body)
    findings += _delay_finding(delay, config, start) if long and delay is not None else []
    return ArmCheck(
        samples, units, fit, means, delay,
        noise_levels(samples, max_gap),
        body_excitation(means, fit, body, config.prior.bounds),
        tuple(findings),
        long,
    )  # fmt: skip


def still_joints(check: ArmCheck) -> list[str]:
    """Joints that hardly move."""
    travel = np.ptp(check.samples.q, axis=0)
    return [name for name, far in zip(check.samples.names, travel, strict=True) if far < STILL]


def _moving_time(samples: JointSamples) -> float:
    """Time in which any joint moves, not counted what is slow beside the fastest motion [s]."""
    return float(np.diff(samples.t) @ _moving_mask(samples)[1:])


def _moving_mask(samples: JointSamples) -> Array:
    """(N,) 1 where some joint moves, 0 where the robot as good as rests."""
    speed = np.abs(samples.qd).max(axis=1, initial=0.0)
    return np.asarray(speed > _SLOW * speed.max(initial=0.0), dtype=np.float64)


def _step(samples: JointSamples) -> float:
    return float(np.median(np.diff(samples.t)))


def _window(samples: JointSamples) -> float:
    span = float(samples.t[-1] - samples.t[0])
    return float(np.clip(span / _WINDOWS, min(3.0 * _step(samples), _LONGEST), _LONGEST))


def _largest_torque(robot: Robot, rigid: Array) -> Array:
    """(n,) torque that no joint exceeds [N m]: its limit, or far more than the whole arm weighs."""
    weight = 20.0 * float(np.sqrt((rigid**2).mean(axis=0)).max())
    limit = robot.limits.torque
    return np.where(np.isfinite(limit), _BEYOND_LIMIT * limit, max(weight, 1.0))


def _stated_error(config: IntervalIdentifierConfig, robot: Robot, samples: JointSamples) -> Array:
    """(n,) error of a window's mean torque that is stated [N m]."""
    noise = config.noise
    relative = per_joint(noise.torque_relative, robot.n, "noise.torque_relative")
    absolute = per_joint(noise.torque_absolute, robot.n, "noise.torque_absolute")
    return np.asarray(absolute + relative * np.abs(samples.tau).mean(axis=0))


def _delay_finding(delay: TorqueDelay, config: IntervalIdentifierConfig, start: float) -> list[Finding]:
    stated = float(np.mean(config.signals.torque_delay))
    if delay.at_end or abs(delay.delay - stated) < max(_FAR * delay.error, _LATE):
        return []
    late = "late" if delay.delay > 0.0 else "early"
    line = (
        f"torque comes {1e3 * abs(delay.delay):.0f} ms {late} against position "
        f"(+- {2e3 * delay.error:.0f} ms, two sigma), stated are {1e3 * stated:.0f} ms"
    )
    mends = (Mend("signals.torque_delay", float(f"{delay.delay:.2g}")),) if config.noise.model == "window" else ()
    return [Finding("delay", "all joints", start, line, mends)]
