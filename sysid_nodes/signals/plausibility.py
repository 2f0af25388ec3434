# SPDX-License-Identifier: Apache-2.0
"""Checks measurements against their assumptions, and names each contradiction in one line.

Only contradictions are reported; the absence of findings does not prove an assumption.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import JointSamples
from sysid_nodes.signals.finding import Finding

Array = npt.NDArray[np.float64]

_SHARE_EXPLAINED = 0.7
"""Share of a signal's energy a scale factor must explain before the factor is believed."""

_UNIT_SCALES = {"degrees instead of radians": 180.0 / np.pi, "revolutions per minute instead of rad/s": 30.0 / np.pi}

ALL_JOINTS = "all joints"
"""Subject of a finding that is not about one joint."""

_HIDDEN = 0.01
"""A motion that no encoder's step hides, nor an offset of the velocity of a joint at rest explains [rad]."""


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
        findings.append(Finding("signal", ALL_JOINTS, start, "no joint moves"))
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


def velocity_against_position(samples: JointSamples) -> list[Finding]:
    """Sign and unit of the velocity against the differences of the positions.

    Args:
        samples: N samples, close enough that the velocity is about linear between two of them.
    """
    if len(samples) < 2:
        return []
    moved = np.diff(samples.q, axis=0)
    integral = 0.5 * (samples.qd[1:] + samples.qd[:-1]) * np.diff(samples.t)[:, None]
    findings = []
    for k, joint in enumerate(samples.names):
        scale, share = _scale(moved[:, k], integral[:, k])
        if share > _SHARE_EXPLAINED and (line := _velocity_line(scale)):
            findings.append(Finding("velocity", joint, float(samples.t[0]), f"position of '{joint}' {line}"))
    return findings


def _velocity_line(scale: float) -> str:
    if scale < 0.0:
        return f"runs against its velocity (factor {scale:.3g}): one of them has the wrong sign"
    for unit, factor in _UNIT_SCALES.items():
        for side, ratio in (("its velocity", scale * factor), ("it", scale / factor)):
            if abs(ratio - 1.0) <= 0.15:
                return f"and its velocity differ by the factor {factor:.4g}: {side} seems to be in {unit}"
    return ""


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
        return [Finding(line[0], ALL_JOINTS, start, f"effort of all joints {line[1]}")]
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
