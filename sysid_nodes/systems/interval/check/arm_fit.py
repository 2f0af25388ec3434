# SPDX-License-Identifier: Apache-2.0
"""All joints of an arm fitted together: signs and units of the torques, and what the last link really weighs.

A payload changes what a joint carries, and a wrong sign looks like an impossible payload. So they are found in turns:
each joint by itself with the body as last estimated, then the body from all joints whose sign is beyond doubt.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.check.friction_sign import braking_evidence
from sysid_nodes.systems.interval.check.joint_fit import JointFit, fit_joint
from sysid_nodes.systems.interval.check.window_means import WindowMeans

Array = npt.NDArray[np.float64]

SURE = 3.0
"""Log-likelihood ratio from which a sign is taken to be known: twenty to one."""

CERTAIN = 5.0
"""Log-likelihood ratio from which there is no doubt."""

STILL = 0.02
"""A joint that travels less tells nothing about its own friction [rad or m]."""

_ROUNDS = 4
_HEAVY = 0.25
"""Joints that hold less than this share of the largest rigid torque are light."""

_SHOWN = 0.5
"""Share of what a joint carries that its reading must not surely lack for friction to tell the sign: where others swing
a joint whose motor idles or brakes, what is described and read are at odds by more than friction is."""

_SURELY = 3.0
"""Standard deviations."""

_UNITS = (1.0, 1000.0)
_TOLERANCE = 5.0
"""A factor within this of a unit's may be an unexpected payload's doing."""

_BODY_SPREAD = np.array([3.0, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
"""Standard deviations that a body's ten parameters have before any data, about the description's."""


@dataclass(frozen=True)
class ArmFit:
    """Attributes: joints, the fits by joint; body (10,) parameters of the last link with all it carries, with their
    standard deviations body_error (10,); unit (n,) what N m are multiplied by in the reading (1, 1000 or any factor).
    """

    joints: tuple[JointFit, ...]
    body: Array
    body_error: Array
    unit: Array

    @property
    def sign(self) -> Array:
        """(n,) 1 or -1; 1 where nobody knows."""
        return np.array([fit.sign if fit.evidence > SURE else 1 for fit in self.joints])


def fit_arm(means: WindowMeans, theta: Array, body: int, largest: Array) -> ArmFit:
    """Fits an arm.

    Args:
        means: of its windows.
        theta: (n, 10) parameters of its links as described.
        body: index of the link that may carry something.
        largest: (n,) torque that no joint exceeds [N m]; more is in another unit.
    """
    theta = theta.copy()
    described, error = theta[body].copy(), _BODY_SPREAD
    for left in reversed(range(_ROUNDS)):
        rigid = means.rigid(theta)
        # What a light joint holds may be the payload's alone: it is judged once that is known from the others.
        size = np.sqrt((rigid**2).mean(axis=0))
        carries = size > _HEAVY * size.max()
        # At rest friction takes a share of what a joint carries, which tells nothing of the unit.
        heavy = means.moving & (carries | (left == 0))
        joints = tuple(
            _joint(means, rigid, k, carries=bool(carries[k]), last=not left) for k in range(means.reading.shape[1])
        )
        unit = np.array([_unit(fit, means.reading[:, k], largest[k], bool(heavy[k])) for k, fit in enumerate(joints)])
        theta[body], error = _body(means, joints, unit, theta, body, described)
    return ArmFit(joints, theta[body], error, unit)


def _joint(means: WindowMeans, rigid: Array, k: int, *, carries: bool, last: bool) -> JointFit:
    """Joint k by what it carries, and where that leaves doubt in the last round by how its friction turns as well."""
    reading, own, motion = means.reading[:, k], rigid[:, k], means.motion[:, k]
    fit = fit_joint(means.t, reading, own, motion, carries=carries)
    if last and carries and not fit.is_measured and fit.factor + _SURELY * fit.factor_error < _SHOWN:
        return replace(fit, evidence=0.0)
    if not last or fit.evidence > CERTAIN or np.ptp(means.place[:, k]) < STILL:
        return fit
    others = np.column_stack([own, motion[:, 1:]])
    braking = braking_evidence(means.t.mean(axis=1), means.place[:, k], reading, means.turns[:, k], others)
    return fit_joint(means.t, reading, own, motion, carries=carries, braking=braking) if braking else fit


def _unit(fit: JointFit, reading: Array, largest: float, heavy: bool) -> float:
    """Factor from torque in N m to the reading."""
    if np.ptp(reading) <= 1e-9 * np.abs(reading).max(initial=0.0):
        return 1.0  # a dead signal has no unit
    if not (heavy and fit.is_measured):
        return 1000.0 if float(np.abs(reading).max()) > largest else 1.0
    near = min(_UNITS, key=lambda unit: abs(np.log(fit.factor / unit)))
    return near if 1.0 / _TOLERANCE < fit.factor / near < _TOLERANCE else fit.factor


def _body(
    means: WindowMeans, joints: tuple[JointFit, ...], unit: Array, theta: Array, body: int, described: Array
) -> tuple[Array, Array]:
    """The body's parameters and their standard deviations from all joints whose sign and unit are known."""
    count, n = means.reading.shape
    columns = slice(10 * body, 10 * body + 10)
    rest = theta.copy()
    rest[body] = 0.0
    normal, gradient = np.diag(1.0 / _BODY_SPREAD**2), described / _BODY_SPREAD**2
    for k in range(n):
        fit = joints[k]
        scaled = 1.0 / _TOLERANCE < fit.factor / unit[k] < _TOLERANCE
        if fit.evidence <= SURE or not scaled:
            continue
        own = np.column_stack([means.motion[:, k], np.ones(count)])
        reading = fit.sign * means.reading[:, k] / unit[k] - means.regressor[:, k] @ rest.ravel()
        basis = np.linalg.qr(own)[0]
        rows = means.regressor[:, k, columns]
        rows, left = rows - basis @ (basis.T @ rows), reading - basis @ (basis.T @ reading)
        # Links are described to some percent: that is an error of the rows, whatever the sensors' noise is.
        spread = np.hypot(fit.rms / unit[k], 0.03 * float(np.sqrt(np.mean(left**2))))
        weight = 0.25 / max(spread, 1e-6) ** 2  # neighbouring windows are alike
        normal += weight * rows.T @ rows
        gradient += weight * rows.T @ left
    covariance = np.linalg.inv(normal)
    return covariance @ gradient, np.sqrt(np.diag(covariance))
