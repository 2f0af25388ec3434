# SPDX-License-Identifier: Apache-2.0
"""Units of positions and velocities, found from how they go together and how far they reach; and the turns undone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_DEGREE = np.pi / 180.0
_RATIOS = {
    (True, "deg/s"): 1.0,
    (True, "rad/s"): 1.0 / _DEGREE,
    (True, "rpm"): 6.0,
    (False, "rad/s"): 1.0,
    (False, "deg/s"): _DEGREE,
    (False, "rpm"): 6.0 * _DEGREE,
}
"""Change of position over integral of velocity, for (position in degrees, unit of velocity)."""

_FITS = 0.15
_BEYOND = 2.0
"""A position or speed this many times beyond its limit is in another unit."""

_NO_ARM_S_SPEED = 30.0
"""Faster than any arm's joint [rad/s]."""

_FEWEST = 10

_STEPS = 8.0
"""Steps of the encoder in a stretch of motion from which it tells a speed."""

_SEVERAL_TURNS = 4.0 * np.pi


@dataclass(frozen=True)
class AngleUnits:
    """Units of one joint's position and velocity.

    Attributes:
        degrees: the position is in degrees.
        speed: unit of the velocity: rad/s, deg/s, rpm.
        ratio: robust slope of the position's change over the velocity's integral; nan where the joint hardly moves.
        reversed: position runs against its velocity.
        evidence: why, in words.
    """

    degrees: bool
    speed: str
    ratio: float
    reversed: bool
    evidence: str


def angle_units(
    t: Array, q: Array, qd: Array, close: npt.NDArray[np.bool_], *, limit: float, top_speed: float
) -> AngleUnits:
    """Judges one turning joint.

    Args:
        t, q, qd: (N,) stamps [s], positions (wrapped or not) and velocities as they came.
        close: (N - 1,) pairs of samples without a gap between them.
        limit: largest position by the robot's description [rad], inf where none.
        top_speed: largest speed by the description [rad/s], inf where none.
    """
    ratio = _slope(np.diff(q)[close], (0.5 * (qd[1:] + qd[:-1]) * np.diff(t))[close])
    size = abs(ratio)
    degrees, evidence = _in_degrees(q, np.diff(q)[close], qd, size, limit, top_speed)
    speed = "deg/s" if degrees else "rad/s"
    if np.isfinite(size):
        near = [unit for (deg, unit), value in _RATIOS.items() if deg is degrees and abs(size / value - 1.0) <= _FITS]
        speed = near[0] if near else speed
    if speed != ("deg/s" if degrees else "rad/s") or (degrees and speed == "deg/s"):
        evidence = "; ".join(filter(None, [evidence, f"position moves {ratio:.4g} times as fast as velocity says"]))
    return AngleUnits(degrees, speed, ratio, bool(ratio < 0.0), evidence)


def _in_degrees(q: Array, moved: Array, qd: Array, ratio: float, limit: float, top_speed: float) -> tuple[bool, str]:
    """Whether a position is in degrees, and why."""
    reach, speed = float(np.abs(q).max()), float(np.abs(qd).max())
    if abs(ratio * _DEGREE - 1.0) <= _FITS:
        return True, ""  # against a velocity in rad/s
    jumps = np.abs(moved)
    if (turns := jumps[(jumps > 300.0) & (jumps <= 361.0)]).size:
        return True, f"position jumps by {turns.max():.4g}, a turn in degrees"
    if 5.5 < jumps.max(initial=0.0) < 6.5:
        return False, ""
    within = limit if np.isfinite(limit) else 0.0  # of a joint that turns several times, and is described so
    if reach > max(within, min(_BEYOND * limit, _SEVERAL_TURNS)):
        bound = f"{limit:.3g} rad" if np.isfinite(limit) else "any turn of an arm"
        return True, f"position reaches {reach:.4g}, beyond {bound}"
    slow = abs(ratio - 1.0) <= _FITS  # position and velocity are of one unit
    if slow and speed > min(5.0 * top_speed, _NO_ARM_S_SPEED):
        return True, f"velocity reaches {speed:.4g}, beyond what the arm can in rad/s"
    return False, ""


def unwrap(t: Array, q: Array, qd: Array) -> Array:
    """(N,) position [rad] with whole turns added so that it goes where the velocity [rad/s] says."""
    predicted = 0.5 * (qd[1:] + qd[:-1]) * np.diff(t)
    turns = np.rint((predicted - np.diff(q)) / (2.0 * np.pi))
    return np.asarray(q + 2.0 * np.pi * np.concatenate([[0.0], np.cumsum(turns)]))


def _slope(moved: Array, integral: Array) -> float:
    """Median-like slope of one on the other, by the larger half of the motion; nan where there is none but noise.

    Of stretches so long that most are several steps of the encoder: where single samples move by none or one, those
    that move say how fine the encoder is and not how fast the joint.
    """
    step = _STEPS * np.min(np.abs(moved[moved != 0.0]), initial=np.inf)
    while len(moved) > _FEWEST and np.median(np.abs(moved)) < step:
        moved, integral = (x[: len(x) // 2 * 2].reshape(-1, 2).sum(axis=1) for x in (moved, integral))
    moves = (np.abs(integral) > 0.0) & (np.abs(moved) > 0.0)
    if moves.sum() < _FEWEST:
        return float("nan")
    large = moves & (np.abs(integral) >= np.median(np.abs(integral[moves])))
    low, middle, high = np.quantile(moved[large] / integral[large], (0.25, 0.5, 0.75))
    return float(middle) if low * high > 0.0 else float("nan")
