# SPDX-License-Identifier: Apache-2.0
"""Commands of the simulated Go2: a list of phases in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.robots.robot import Array


@dataclass(frozen=True)
class Sway:
    """Smooth oscillations of the standing body about its rest pose; amplitude a, frequency f, from rest to rest.

    Attributes:
        amplitude: (6,) of x, y, z [m], roll, pitch, yaw [rad].
        frequency: (6,) [Hz].
    """

    amplitude: Array = field(default_factory=lambda: np.array([0.02, 0.02, 0.035, 0.22, 0.18, 0.25]))
    frequency: Array = field(default_factory=lambda: np.array([0.9, 0.7, 1.1, 1.0, 0.8, 0.6]))


@dataclass(frozen=True)
class Phase:
    """Stand, trot or hop.

    Attributes:
        kind: ``stand``, ``trot`` or ``hop``.
        duration: [s]; a hop is repeated until the phase is over.
        velocity: (3,) forward, left [m/s] and yaw rate [rad/s] of a trot; forward and left speed of a hop's flight.
        sway: of a standing body; None to stand still.
    """

    kind: str
    duration: float
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    sway: Sway | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("stand", "trot", "hop"):
            raise InputError(f"a Go2 phase is stand, trot or hop, not '{self.kind}'")
        if not self.duration > 0.0:
            raise InputError(f"a phase needs a positive duration, got {self.duration:g} s")


def phase_at(phases: Sequence[Phase], time: float) -> tuple[Phase, float]:
    """The phase at a time and the time since its start; after the last one, standing still."""
    for phase in phases:
        if time < phase.duration:
            return phase, time
        time -= phase.duration
    return Phase("stand", np.inf), time


def sway_at(phase: Phase, elapsed: float) -> tuple[Array, Array]:
    """(6,) offset and (6,) rate of x, y, z, roll, pitch, yaw; both zero at the phase's ends."""
    if phase.sway is None:
        return np.zeros(6), np.zeros(6)
    ramp = min(0.4, 0.5 * phase.duration)
    envelope, slope = 1.0, 0.0
    remaining = min(elapsed, phase.duration - elapsed)
    if remaining < ramp:
        s = max(remaining, 0.0) / ramp
        envelope, slope = s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / ramp
        slope = slope if elapsed < 0.5 * phase.duration else -slope
    omega = 2.0 * np.pi * phase.sway.frequency
    wave, rate = np.sin(omega * elapsed), omega * np.cos(omega * elapsed)
    amplitude = phase.sway.amplitude
    return amplitude * envelope * wave, amplitude * (envelope * rate + slope * wave)


SHOW = (
    Phase("stand", 0.4),
    Phase("stand", 3.6, sway=Sway()),
    Phase("trot", 1.0),
    Phase("trot", 1.4, velocity=(0.4, 0.0, 0.0)),
    Phase("trot", 0.4),
    Phase("hop", 1.9),
    Phase("hop", 1.1, velocity=(0.35, 0.0, 0.0)),
    Phase("stand", 0.2),
)
"""Ten seconds: body rotations, trot in place and forward, two hops in place and one forward."""
