# SPDX-License-Identifier: Apache-2.0
"""Torque that a proposal asks of the motors, and its derivative by the displacement: a guess of the certificate.

The certifier gives the robust input what the fed-forward torque leaves of the motors, and needs it to outweigh what a
model anywhere in the box can do; and its proof of the tracking errors closes only while that is small against the
gains.
So a proposal is asked to keep, with w_j = sum |W_j| radius + friction and armature off by their radii,

    max_t |tau_0,j| + gap max_t w_j <= limit_j,      sqrt(sum_j w_j^2 / I_a,j) <= doubt  at all times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots.robot import Array

_STEP = 1e-5


@dataclass(frozen=True)
class Effort:
    """At S instants.

    Attributes:
        nominal: (S, n) |fed-forward torque| without any error [N m].
        doubt: (S, n) w [N m].
        nominal_slope, doubt_slope: (S, n, n) their derivatives, the last axis by k.
    """

    nominal: Array
    doubt: Array
    nominal_slope: Array
    doubt_slope: Array


def effort(chain: Chain, box: ModelBox, plan: Bezier, t: Array) -> Effort:
    """Torques along a plan at times t (S,), differentiated by forward differences."""
    n, count = chain.n, len(t)
    state, shares = plan(t), plan.derivative_wrt_k(t)
    # One batch: the plan, and the plan with each joint's displacement a little larger.
    moved = [np.broadcast_to(x, (n + 1, count, n)).copy() for x in state]
    for x, share in zip(moved, shares, strict=True):
        x[np.arange(1, n + 1), :, np.arange(n)] += _STEP * share
    q, qd, qdd = (x.reshape(-1, n) for x in moved)
    regressor = standard_regressor(chain, q, qd, qdd)
    motor, radius = box.motor, box.motor_radius
    torque = regressor @ box.theta.ravel() + motor.viscous * qd + motor.armature * qdd + motor.offset
    nominal = np.abs(torque) + motor.coulomb
    doubt = np.abs(regressor) @ box.theta_radius.ravel() + radius.viscous * np.abs(qd) + radius.armature * np.abs(qdd)
    doubt = doubt + radius.coulomb + radius.offset
    nominal, doubt = nominal.reshape(n + 1, count, n), doubt.reshape(n + 1, count, n)
    slopes = [np.moveaxis((x[1:] - x[0]) / _STEP, 0, -1) for x in (nominal, doubt)]
    return Effort(nominal[0], doubt[0], slopes[0], slopes[1])


def torque_rows(found: Effort, limit: Array, gap: float) -> tuple[Array, Array]:
    """How much each limit has left, as a share of it, and the derivative by k: (M,), (M, n).

    The largest values over time are taken apart: every instant of one goes with the worst instant of the other.
    """
    n = len(limit)
    joints = np.arange(n)
    top, doubtful = found.nominal.argmax(axis=0), found.doubt.argmax(axis=0)
    worst = (found.doubt[doubtful, joints], found.doubt_slope[doubtful, joints])
    high = (found.nominal[top, joints], found.nominal_slope[top, joints])
    values = [found.nominal + gap * worst[0], high[0] + gap * found.doubt]
    slopes = [found.nominal_slope + gap * worst[1], high[1] + gap * found.doubt_slope]
    value, slope = np.concatenate(values), np.concatenate(slopes)
    return ((limit - value) / limit).reshape(-1), (-slope / limit[:, None]).reshape(-1, n)


def doubt_norm(found: Effort, armature: Array) -> Array:
    """(S,) what the model's uncertainty can do, in the norm of the inverse armature [N m / (kg m2)^0.5]."""
    return np.asarray(np.sqrt((found.doubt**2 / armature).sum(axis=1)))


def doubt_rows(found: Effort, armature: Array, most: float) -> tuple[Array, Array]:
    """Room left by the norm of the doubt, as a share of its largest value, and the derivative by k: (S,), (S, n)."""
    norm = doubt_norm(found, armature)
    slope = np.einsum("tj,tjk->tk", found.doubt / armature, found.doubt_slope) / np.maximum(norm, 1e-12)[:, None]
    return (most - norm) / most, -slope / most
