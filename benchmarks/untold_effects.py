# SPDX-License-Identifier: Apache-2.0
"""Effects that no identifier is told of, and what is read of an arm that has those of its readings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Untold:
    """Effects, none by default.

    Attributes:
        bend: joints' elasticity [rad] at the torques of `HOLD`. backlash: play of gears [rad].
        tilt: of the base [rad]. load_friction: share of the torque that drives lose.
        ripple: of the torque by position, share of `HOLD`. delay: of efforts after positions [s].
        step: of encoders [rad]. drift: share of friction that is gone once the arm is loaded.
        gain: by how much readings of torque are too large. cable: springs across joints, share of `HOLD` a radian.
        swing: whether the load hangs on a hinge. touch: a hand that pushes the load for two seconds [N]. zero: of
        encoders, at most [rad]. warm: how far offsets of torques drift along a run, at most [N m]. jitter: of stamps
        [s]. lag: time constant of a filter on velocities [s].
    """

    bend: float = 0.0
    backlash: float = 0.0
    tilt: float = 0.0
    load_friction: float = 0.0
    ripple: float = 0.0
    delay: float = 0.0
    step: float = 0.0
    drift: float = 0.0
    gain: float = 0.0
    cable: float = 0.0
    swing: bool = False
    touch: float = 0.0
    zero: float = 0.0
    warm: float = 0.0
    jitter: float = 0.0
    lag: float = 0.0


@dataclass(frozen=True)
class Readings:
    """Attributes: t (N,) stamps [s]; q, qd, effort (N, n) what is read, without noise."""

    t: Array
    q: Array
    qd: Array
    effort: Array


def spoil(true: Readings, untold: Untold, sides: Array, rng: np.random.Generator) -> Readings:
    """With the effects on readings; sides (n,), between -1 and 1, are the arm's own shares of `zero` and `warm`."""
    t, q, qd = true.t, true.q + untold.zero * sides, true.qd
    effort = true.effort * (1.0 + untold.gain) + untold.warm * sides * (t / t[-1])[:, None]
    if untold.delay:
        effort = np.column_stack([np.interp(t - untold.delay, t, column) for column in effort.T])
    if untold.step:
        q = np.round(q / untold.step) * untold.step
    if untold.lag:
        qd = qd.copy()
        share = -np.expm1(-(t[1] - t[0]) / untold.lag)
        for k in range(1, len(t)):
            qd[k] = qd[k - 1] + share * (true.qd[k] - qd[k - 1])
    return Readings(t + untold.jitter * rng.uniform(-1.0, 1.0, len(t)), q, qd, effort)
