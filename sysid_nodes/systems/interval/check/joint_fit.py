# SPDX-License-Identifier: Apache-2.0
"""Fit of one joint's torque reading by rigid torque, friction and armature, with its sign."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import nnls

from sysid_nodes.systems.interval.check.window_means import MOVES

Array = npt.NDArray[np.float64]

_STEPS = 6
_HUBER = 1.345
_FITTED = 2
"""Numbers that a fit takes from the data, as most of its coefficients are zero or known beforehand."""

_DIRECTION = 1
"""Column of Coulomb friction."""

_SMALLEST = 1e-9
_ALIKE = 0.3
"""Time that residuals stay alike for at least, whatever a short run shows of it [s]."""

_APART = 1e-6
"""Largest change of a column, relative to its size, that counts as none."""

_ONE_WAY = 0.05
"""Largest change of the direction of motion that counts as none: its slope would be that of the friction's rounding."""

_A_STRETCH = 2
"""Independent windows of a joint's friction that a stretch of motion in one direction shows: errors that depend on
place or come slowly stay alike all along it."""


@dataclass(frozen=True)
class JointFit:
    """reading = sign (factor rigid + coulomb sign(qd) + viscous qd + armature qdd) + offset, all but offset >= 0.

    Attributes:
        sign: 1 or -1, the likelier one.
        evidence: log-likelihood ratio of that sign to the other.
        factor: from rigid torque to reading.
        factor_error: its standard deviation; inf where the motion says nothing.
        friction: (3,) coulomb, viscous and armature, in units of the reading.
        friction_error: (3,) standard deviations.
        offset: in units of the reading.
        rms: robust spread of what is left, in units of the reading.
        residual: (W,) reading less fit.
    """

    sign: int
    evidence: float
    factor: float
    factor_error: float
    friction: Array
    friction_error: Array
    offset: float
    rms: float
    residual: Array

    @property
    def is_measured(self) -> bool:
        """Whether the factor is known to a fifth or better."""
        return self.factor > 5.0 * self.factor_error


def fit_joint(
    t: Array, reading: Array, rigid: Array, motion: Array, *, carries: bool = True, braking: float = 0.0
) -> JointFit:
    """Fits one joint.

    The sign comes from both: weight and inertia that a joint carries, and friction, which takes energy and never
    gives any. A joint that carries nothing still has the latter.

    Args:
        t: (W, 2) first and last stamp of each window [s].
        reading: (W,) mean torque readings.
        rigid: (W,) mean rigid torque [N m].
        motion: (W, 3) mean sign of the velocity, velocity and acceleration.
        carries: the joint holds much; if not, its friction has to tell the sign, which takes turns.
        braking: what the turns of its friction say by themselves, `braking_evidence`. Both look at the same reading, so
            that where they agree the larger counts; else what one has more than the other.
    """
    columns = np.column_stack([rigid, motion])
    fits = {sign: _fit(sign * reading, columns) for sign in (1, -1)}
    sign = min(fits, key=lambda sign: float(fits[sign][3] @ fits[sign][2] ** 2))
    _, _, residual, weight = fits[sign]
    # Both judged by the weights of the better fit, so that neither has outliers of its own.
    worse = _fit(-sign * reading, columns, weight)[2]
    span = float((t[:, 1] - t[:, 0]).sum())
    independent = max(min(len(reading) / _correlation_time(residual), span / _ALIKE), 2.0)
    if not carries:
        independent = max(min(independent, _A_STRETCH * _stretches(motion[:, 0])), 2.0)
    ratio = max(float(weight @ worse**2), _SMALLEST**2) / max(float(weight @ residual**2), _SMALLEST**2)
    evidence, other = 0.5 * max(independent - _FITTED, 0.0) * float(np.log(ratio)), sign * braking
    evidence = max(evidence, other) if other > 0.0 else evidence + other
    if evidence < 0.0:
        sign, evidence = -sign, -evidence
    best, offset, residual, weight = fits[sign]
    spread = float(np.sqrt(weight @ residual**2 / max(weight.sum(), _SMALLEST)))
    error = _errors(columns, weight, spread, independent)
    return JointFit(
        sign=sign,
        evidence=evidence,
        factor=float(best[0]),
        factor_error=float(error[0]),
        friction=best[1:],
        friction_error=error[1:],
        offset=sign * offset,
        rms=spread,
        residual=sign * residual,
    )


def _fit(reading: Array, columns: Array, weight: Array | None = None) -> tuple[Array, float, Array, Array]:
    """Coefficients >= 0, offset, residuals and the weights of Huber's M-estimate (or those given)."""
    w = np.ones(len(reading)) if weight is None else weight
    scale = np.maximum(np.sqrt((columns**2).mean(axis=0)), _SMALLEST)
    for _ in range(_STEPS if weight is None else 1):
        total = max(float(w.sum()), _SMALLEST)
        centre, mean = w @ columns / total, float(w @ reading) / total
        root = np.sqrt(w)[:, None]
        # A joint that turns one way all along: its friction cannot be told from the offset, and rounding must not try.
        apart = columns - centre
        apart[:, np.abs(apart).max(axis=0) < _APART * scale] = 0.0
        apart[:, _DIRECTION] *= float(np.abs(apart[:, _DIRECTION]).max() >= _ONE_WAY)
        found = nnls(root * apart / scale, root[:, 0] * (reading - mean))[0] / scale
        residual = reading - mean - apart @ found
        if weight is None:
            spread = max(1.4826 * float(np.median(np.abs(residual))), _SMALLEST)
            w = np.minimum(1.0, _HUBER * spread / np.maximum(np.abs(residual), _SMALLEST))
    return found, mean - float(centre @ found), residual, w


def _stretches(direction: Array) -> int:
    """Stretches of motion in one direction, of (W,) means of its sign."""
    way = np.sign(direction[np.abs(direction) > MOVES])
    return int((np.diff(way) != 0.0).sum()) + 1


def _errors(columns: Array, weight: Array, spread: float, independent: float) -> Array:
    """(k,) standard deviations of unconstrained coefficients, with as many windows as are independent."""
    total = max(float(weight.sum()), _SMALLEST)
    centred = columns - weight @ columns / total
    scale = np.maximum(np.sqrt((centred**2).mean(axis=0)), _SMALLEST)
    gram = (centred / scale).T @ (weight[:, None] * centred / scale) / total
    values, vectors = np.linalg.eigh(gram)
    inverse = (vectors**2) @ (1.0 / np.maximum(values, 1e-12))
    return np.asarray(spread * np.sqrt(inverse / independent) / scale)


def _correlation_time(residual: Array) -> float:
    """Windows that tell as much as one independent one: 1 + 2 x the first positive correlations."""
    centred = residual - residual.mean()
    power = max(float(centred @ centred), _SMALLEST**2)
    time = 1.0
    for lag in range(1, max(len(residual) // 4, 1)):
        correlation = float(centred[lag:] @ centred[:-lag]) / power
        if correlation <= 0.0:
            break
        time += 2.0 * correlation
    return time
