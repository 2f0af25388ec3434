"""Checks measurements against their assumptions, and names each contradiction in one line.

Only contradictions are reported; the absence of findings does not prove an assumption.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import JointSamples

Array = npt.NDArray[np.float64]
PerJoint = Array | float

_SHARE_EXPLAINED = 0.7
"""Share of a signal's energy a scale factor must explain before the factor is believed."""

_UNIT_SCALES = {"degrees instead of radians": 180.0 / np.pi, "revolutions per minute instead of rad/s": 30.0 / np.pi}

_HIDDEN = 0.01
"""A motion that no encoder's step hides, nor an offset of the velocity of a joint at rest explains [rad]."""


@dataclass(frozen=True)
class Finding:
    """One contradiction between data and an assumption.

    Attributes:
        assumption: the contradicted one: `signal`, `velocity`, `acceleration`, `torque_rate`, `torque_sign` or
            `torque_unit`.
        joint: joint name, or `all joints`.
        t: stamp of the worst sample, or of the first where the finding is about the whole of them [s].
        message: the finding in one line.
    """

    assumption: str
    joint: str
    t: float
    message: str


def constant_signals(samples: JointSamples) -> list[Finding]:
    """Signals that never change although the others say they should; needs at least two samples."""
    if len(samples) < 2:
        return []
    start = float(samples.t[0])
    still = {name: np.ptp(getattr(samples, name), axis=0) == 0.0 for name in ("q", "qd", "tau")}
    steps = 0.5 * (samples.qd[1:] + samples.qd[:-1]) * np.diff(samples.t)[:, None]
    travelled = np.ptp(np.cumsum(steps, axis=0), axis=0)
    findings = []
    if still["q"].all() and still["qd"].all():
        findings.append(Finding("signal", "all joints", start, "no joint moves"))
    for k, joint in enumerate(samples.names):
        if still["tau"][k]:
            value = samples.tau[0, k]
            findings.append(Finding("signal", joint, start, f"effort of '{joint}' never changes (always {value:g})"))
        if still["qd"][k] and not still["q"][k] and np.ptp(np.diff(samples.q[:, k])) > 0.0:
            line = f"velocity of '{joint}' never changes while its position does"
            findings.append(Finding("signal", joint, start, line))
        if still["q"][k] and travelled[k] > _HIDDEN:
            line = f"position of '{joint}' never changes while its velocity does"
            findings.append(Finding("signal", joint, start, line))
    return findings


def velocity_against_position(
    samples: JointSamples,
    velocity_error: PerJoint,
    position_error: PerJoint,
    acceleration: PerJoint,
    stamp_error: float = 0.0,
) -> list[Finding]:
    """Velocity against the differences of the positions: sign and unit first, the stated bounds otherwise.

    Between two samples dt apart the trapezoid rule of a velocity whose slope is at most A errs by at most A dt^2 / 4;
    velocity and position errors add e_v dt and 2 e_q, and stamps that err by e_t leave dt uncertain by 2 e_t.

    Args:
        samples: N samples without long gaps.
        velocity_error: (n,) or scalar bound [rad/s].
        position_error: (n,) or scalar bound [rad].
        acceleration: (n,) or scalar bound [rad/s2].
        stamp_error: bound [s].
    """
    if len(samples) < 2:
        return []
    dt = np.diff(samples.t)[:, None]
    moved = np.diff(samples.q, axis=0)
    mean = 0.5 * (samples.qd[1:] + samples.qd[:-1])
    integral = dt * mean
    slack = 2.0 * stamp_error + np.spacing(samples.t[-1])  # stamps since 1970 are rounded to 0.24 us
    longest = dt + slack
    allowed = velocity_error * longest + 2.0 * position_error + 0.25 * acceleration * longest**2 + slack * np.abs(mean)
    excess = np.abs(moved - integral) - allowed * (1.0 + 1e-9) - 1e-12
    findings = []
    for k, joint in enumerate(samples.names):
        worst = int(np.argmax(excess[:, k]))
        if excess[worst, k] <= 0.0:
            continue
        scale, share = _scale(moved[:, k], integral[:, k])
        line = _velocity_line(scale) if share > _SHARE_EXPLAINED else ""
        if not line:
            line = (
                f"changes by {moved[worst, k]:.3g} rad where its velocity gives {integral[worst, k]:.3g} rad, "
                f"{excess[worst, k] / dt[worst, 0]:.3g} rad/s more than the stated errors allow"
            )
        findings.append(Finding("velocity", joint, float(samples.t[worst + 1]), f"position of '{joint}' {line}"))
    return findings


def _velocity_line(scale: float) -> str:
    if scale < 0.0:
        return f"runs against its velocity (factor {scale:.3g}): one of them has the wrong sign"
    for unit, factor in _UNIT_SCALES.items():
        for side, ratio in (("its velocity", scale * factor), ("it", scale / factor)):
            if abs(ratio - 1.0) <= 0.15:
                return f"and its velocity differ by the factor {factor:.4g}: {side} seems to be in {unit}"
    return ""


def acceleration_bound(
    samples: JointSamples, acceleration: PerJoint, velocity_error: PerJoint, stamp_error: float = 0.0
) -> list[Finding]:
    """Velocity differences against the stated bound on acceleration: |dqd| <= A (dt + 2 e_t) + 2 e_v.

    Args:
        samples: N samples.
        acceleration: (n,) or scalar bound [rad/s2].
        velocity_error: (n,) or scalar bound [rad/s].
        stamp_error: bound [s].
    """
    dt = np.diff(samples.t)[:, None] + 2.0 * stamp_error
    change = np.abs(np.diff(samples.qd, axis=0))
    needed = np.maximum(change - 2.0 * velocity_error, 0.0) / dt
    return _worst(samples, "acceleration", needed, np.broadcast_to(acceleration, needed.shape), "velocity", "rad/s2")


def torque_rate_bound(
    samples: JointSamples, torque_rate: PerJoint, relative: PerJoint, absolute: PerJoint, stamp_error: float = 0.0
) -> list[Finding]:
    """Torque differences against the stated bound on the torque's rate, with the stated noise of both readings.

    Args:
        samples: N samples.
        torque_rate: (n,) or scalar bound [N m/s].
        relative: (n,) or scalar noise relative to the reading.
        absolute: (n,) or scalar noise on top [N m].
        stamp_error: bound [s].
    """
    dt = np.diff(samples.t)[:, None] + 2.0 * stamp_error
    noise = relative * np.abs(samples.tau) + absolute
    needed = np.maximum(np.abs(np.diff(samples.tau, axis=0)) - noise[1:] - noise[:-1], 0.0) / dt
    return _worst(samples, "torque_rate", needed, np.broadcast_to(torque_rate, needed.shape), "effort", "N m/s")


def _worst(
    samples: JointSamples, assumption: str, needed: Array, stated: Array, signal: str, unit: str
) -> list[Finding]:
    findings = []
    for k, joint in enumerate(samples.names):
        over = needed[:, k] > stated[:, k] * (1.0 + 1e-9) + 1e-9
        if not over.any():
            continue
        worst = int(np.argmax(needed[:, k]))
        line = (
            f"{signal} of '{joint}' changes at {needed[worst, k]:.4g} {unit}; stated is at most "
            f"{stated[worst, k]:.4g} ({int(over.sum())} of {over.size} steps)"
        )
        findings.append(Finding(assumption, joint, float(samples.t[worst + 1]), line))
    return findings


def torque_against_gravity(samples: JointSamples, gravity: Array, *, significant: float = 1.0) -> list[Finding]:
    """Sign and unit of the measured torque against the torque that holds the robot up.

    The factor from predicted to measured torque is fitted robustly. An unknown payload changes it by a small factor
    at most, so only a negative one, one above 5 or one below 0.2 is reported, and only where the prediction explains
    most of the measurement.

    Args:
        samples: N samples.
        gravity: (N, n) predicted gravity torque [N m].
        significant: joints whose predicted torque has a smaller root mean square are not judged [N m].
    """
    if not len(samples):
        return []
    start = float(samples.t[0])
    judged: dict[str, tuple[str, str]] = {}
    joints = [k for k in range(len(samples.names)) if np.sqrt(np.mean(gravity[:, k] ** 2)) >= significant]
    for k in joints:
        scale, share = _scale(samples.tau[:, k], gravity[:, k])
        judged[samples.names[k]] = _torque_line(scale) if share > _SHARE_EXPLAINED else ("", "")
    lines = set(judged.values())
    if len(judged) > 1 and len(lines) == 1 and (line := lines.pop())[0]:
        return [Finding(line[0], "all joints", start, f"effort of all joints {line[1]}")]
    return [
        Finding(kind, joint, start, f"effort of '{joint}' {line}") for joint, (kind, line) in judged.items() if kind
    ]


def _torque_line(scale: float) -> tuple[str, str]:
    """Judges a factor from predicted to measured torque: kind of finding and text, empty for a plausible one."""
    size = abs(scale)
    if 500.0 < size < 2000.0:
        unit = "seems to be in N mm instead of N m"
    elif size > 5.0:
        unit = "is far above what gravity needs: its unit is not N m"
    elif size < 0.2:
        unit = "is far below what gravity needs: motor current or motor-side torque instead of joint torque"
    else:
        unit = ""
    if scale < 0.0:
        also = f", and {unit}" if unit else ""
        return "torque_sign", f"has the opposite sign of the torque gravity needs{also}"
    return ("torque_unit", unit) if unit else ("", "")


def _scale(measured: Array, predicted: Array) -> tuple[float, float]:
    """Factor f of measured = f * predicted by Huber's M-estimate, and the share of the measured energy it explains."""
    weights = np.ones_like(measured)
    factor = 0.0
    for _ in range(20):
        energy = float(np.sum(weights * predicted**2))
        if energy == 0.0:
            return 0.0, 0.0
        factor = float(np.sum(weights * predicted * measured)) / energy
        rest = np.abs(measured - factor * predicted)
        spread = 1.4826 * float(np.median(rest))
        if spread == 0.0:
            break
        weights = np.minimum(1.0, 1.345 * spread / np.maximum(rest, 1e-300))
    total = float(np.sum(weights * measured**2))
    return factor, 1.0 - float(np.sum(weights * rest**2)) / total if total > 0.0 else 0.0
