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
        position = samples.q[:, k]  # of a joint at rest an encoder may flicker
        if still["qd"][k] and np.ptp(position) > _HIDDEN and np.ptp(np.diff(position)) > 0.0:
            line = f"velocity of '{joint}' never changes while its position does"
            findings.append(Finding("signal", joint, start, line))
        if still["q"][k] and travelled[k] > _HIDDEN:
            line = f"position of '{joint}' never changes while its velocity does"
            findings.append(Finding("signal", joint, start, line))
    return findings
