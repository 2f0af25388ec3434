# SPDX-License-Identifier: Apache-2.0
"""Largest effect of a model anywhere in its box against the controller, and the controller's command against it.

Everything is bounded over whole time intervals and over all errors assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysid_nodes.intervals import Affine
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.bodies import Indices, Levers, inertia_coefficients
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE, Assumed, ClosedLoop, Disturbance, recent
from sysid_nodes.systems.certified.certificate.motion import Desired, deviation, largest, motion
from sysid_nodes.systems.certified.certificate.recursion import Dynamics, dynamics
from sysid_nodes.systems.certified.certificate.shift import (
    Change,
    Magnitudes,
    coriolis,
    inertia_drift,
    torque_change,
    torque_rate,
)


class Split(NamedTuple):
    """The disturbance of a robot whose parameters are constant, in what moves slowly and the rest; (T, n) bounds.

    With w_s what the model's error needs at the true state with the desired acceleration, w = w_s + rest.

    Attributes:
        steady: of |w_s| [N m].
        slope: of |dw_s/dt| [N m/s].
        rest: of what is left of `Disturbance.torque` [N m].
        drift: of |dM/dt x| for x = dr/dt as assumed, at any speed of the motion [N m/s].
        coefficients: of the inertial parameters in the torques, for `model_torque`.
        pairs: what they belong to.
    """

    steady: Array
    slope: Array
    rest: Array
    drift: Array
    coefficients: Affine
    pairs: Levers

    def jump(self, change: Array) -> Array:
        """(n,) bound on what a change (n, 10) of the nominal model adds to w_s in the first interval [N m]."""
        onto = _onto(self.pairs.joint, len(change))
        first = self.coefficients[:1]
        added = (first * change[self.pairs.body]).sum(axis=-1) @ onto
        return largest(added, boxed=True).ravel()


@dataclass(frozen=True)
class Demand:
    """Largest demands on the robot under an assumption.

    Attributes:
        disturbance: of the closed loop.
        split: the same in two parts.
        nominal_torque: (T, n) bound on the fed-forward part of the command [N m].
        qd: (T, n) bound on |qd| [rad/s].
    """

    disturbance: Disturbance
    split: Split | None
    nominal_torque: Array
    qd: Array


def demand(
    tree: Tree, desired: Desired, jerk: Array, box: ModelBox, gains: Gains, loop: ClosedLoop, assumed: Assumed
) -> Demand:
    """Disturbance and fed-forward torque over all intervals, for every model of the box and every error of the tube.

    Args:
        tree: kinematics and gravity.
        desired: the trajectory.
        jerk: (T, n) bound on its jerk [rad/s3].
        box: the models; its middle is what is fed forward.
        gains: the law's numbers.
        loop: the closed loop.
        assumed: the errors.
    """
    tube, gain = assumed.tube(loop), gains.position_gain
    boxed, ellipsoids = tube.boxed, assumed.ellipsoids(loop)
    state = motion(desired, tube, gain)
    bodies = dynamics(tree, state.q, state.qd, state.qd_a, state.qdd)
    qd, qd_a, qdd = (largest(x, boxed=boxed) for x in (state.qd, state.qd_a, state.qdd))
    pairs, coefficients = bodies.pairs, bodies.torque
    nominal, model_error = model_torque(coefficients, pairs, box, boxed=boxed)
    friction = state.qd_a * box.motor.viscous + state.qdd * box.motor.armature + box.motor.offset
    radius = box.motor_radius
    model_error += radius.viscous * qd_a + radius.armature * qdd + radius.offset
    root, inertia, inertia_error = inertia_bounds(pairs, box, boxed=boxed)
    rate = tube.reference + gain * tube.position  # |de/dt|
    pulled = gain * rate  # |qdd_a - qdd_d|
    change, slope = _shifts(jerk, gains, loop, assumed, qd, qdd + pulled, rate)
    # Torques are linear in qdd_a. What the measured one adds to the true one meets the inertia at the true position.
    turned = loop.age * recent(gain * assumed.acceleration)
    size = _magnitudes(bodies, pulled + slope + turned, qd_a, boxed=boxed)
    moved = torque_change(tree, box.theta, size, change) + box.motor.viscous * change.qd_a
    moved += np.einsum("tjk,tk->tj", inertia, slope)
    held = np.einsum("tjk,tk->tj", inertia, turned)
    lever = _together(root * tube.reference, boxed) + gain * _together(root * tube.position, boxed)
    feedback = box.motor.armature * pulled + gain * root * lever[:, None]
    heaviest, split = np.abs(box.theta) + box.theta_radius, None
    if loop.delayed:
        pace = Change(qd, qdd + pulled + assumed.acceleration, qdd + pulled)
        slope = torque_rate(tree, box.theta_radius, size, pace) + radius.viscous * pace.qd_a
        slope += np.einsum("tjk,tk->tj", inertia_error, jerk)
        split = Split(
            steady=model_error * INFLATE,
            slope=slope * INFLATE,
            rest=(radius.coulomb + moved + gains.torque_error) * INFLATE,
            drift=inertia_drift(tree, heaviest, assumed.speed[:, None] / np.sqrt(loop.metric), qd.max(axis=0)),
            coefficients=coefficients,
            pairs=pairs,
        )
    model_error = model_error + radius.coulomb
    nominal_torque = largest(nominal + friction, boxed=boxed) + feedback + moved + held + box.motor.coulomb
    return Demand(
        split=split,
        disturbance=Disturbance(
            torque=(model_error + moved + gains.torque_error) * INFLATE,
            held=held * INFLATE,
            inertia=inertia,
            inertia_error=inertia_error * INFLATE,
            coriolis=coriolis(tree, heaviest, size.w, ellipsoids.reference),
            inertia_root=root,
            reference_shift=change.qd_a,
        ),
        nominal_torque=nominal_torque * INFLATE,
        qd=qd,
    )


def model_torque(coefficients: Affine, pairs: Levers, box: ModelBox, *, boxed: bool) -> tuple[Affine, Array]:
    """Nominal inertial torque (T, n), affine, and the bound (T, n) on what the box adds."""
    onto = _onto(pairs.joint, len(box.theta))
    nominal = (coefficients * box.theta[pairs.body]).sum(axis=-1) @ onto
    error = (largest(coefficients, boxed=boxed) * box.theta_radius[pairs.body]).sum(axis=-1) @ onto
    return nominal, error


def inertia_bounds(pairs: Levers, box: ModelBox, *, boxed: bool) -> tuple[Array, Array, Array]:
    """Roots (T, n) of the largest diagonal entries of M - I_a over the box, |M| and |M - M0| (T, n, n).

    M - I_a is positive semidefinite for the true model and the nominal one, so its other entries are at most products
    of the roots.
    """
    parts = pairs.linear, pairs.angular
    found = inertia_coefficients(pairs, [x.centre for x in parts], [deviation(x, boxed=boxed) for x in parts])
    theta, theta_radius = box.theta[found.body], box.theta_radius[found.body]
    added = ((np.abs(found.centre) + found.radius) * theta_radius).sum(axis=-1)
    nominal = np.abs((found.centre * theta).sum(axis=-1))
    nominal += ((1e-14 * np.abs(found.centre) + found.radius) * np.abs(theta)).sum(axis=-1)
    n = len(box.theta)
    size, error = np.zeros((2, len(added), n, n))
    for q, (j, k) in enumerate(zip(found.first, found.second, strict=True)):
        size[:, j, k] += nominal[:, q] + added[:, q]
        error[:, j, k] += added[:, q]
    root = np.sqrt(np.diagonal(size, axis1=1, axis2=2)) * INFLATE
    size, error = (np.maximum(x, x.swapaxes(1, 2)) * INFLATE for x in (size, error))
    size = np.minimum(size, root[:, :, None] * root[:, None, :])
    return root, (size + np.diag(box.armature_upper)) * INFLATE, error + np.diag(box.motor_radius.armature)


def _shifts(
    jerk: Array, gains: Gains, loop: ClosedLoop, assumed: Assumed, qd: Array, qdd_a: Array, rate: Array
) -> tuple[Change, Array]:
    """How far the arguments of the torque in force are off by noise and by what passes meanwhile.

    The second is of qdd_a, without K_r times what r changes by.
    """
    h, gain = loop.age, gains.position_gain
    # |dqd_a/dt| = |qdd_a|, |dqd/dt| = |qdd_a - dr/dt| and |dqdd_a/dt| = |jerk + K_r (dr/dt - K_r de/dt)|.
    change = Change(
        q=gains.position_error + h * recent(qd),
        qd=gains.velocity_error + h * recent(qdd_a + assumed.acceleration),
        qd_a=gain * gains.position_error + h * recent(qdd_a),
    )
    slope = gain * gains.velocity_error + h * recent(jerk + gain**2 * rate)
    return change, slope


def _together(x: Array, boxed: bool) -> Array:
    """(T,) the largest sum of x_j times errors of a unit ball or box, x (T, n) not negative."""
    return np.asarray(x.sum(axis=1) if boxed else np.linalg.norm(x, axis=1))


def _magnitudes(bodies: Dynamics, added: Array, qd_a: Array, *, boxed: bool) -> Magnitudes:
    """Norms of the bodies' motions, with what ``added`` (T, n) to qdd_a adds to their accelerations."""

    def norm(form: Affine) -> Array:
        return np.asarray(np.linalg.norm(largest(form, boxed=boxed), axis=-1))

    w, u, alpha, s = (norm(form) for form in (bodies.w, bodies.u, bodies.alpha, bodies.s))
    pairs = bodies.pairs
    onto, rate = _onto(pairs.body, added.shape[1]), added[:, pairs.joint]
    alpha += (norm(pairs.angular) * rate) @ onto
    s += (norm(pairs.linear) * rate) @ onto
    return Magnitudes(INFLATE * w, INFLATE * u, INFLATE * alpha, INFLATE * s, qd_a)


def _onto(which: Indices, n: int) -> Array:
    """(P, n) ones where a pair's joint or body is the one of the column: what sums pairs by them."""
    return np.asarray(which[:, None] == np.arange(n), dtype=np.float64)
