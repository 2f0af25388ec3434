"""What a model anywhere in its box can do against the controller, and what the controller then commands.

Everything is bounded over whole time intervals and over all errors assumed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.intervals import Affine, concatenate, matvec
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.planners.bodies import BodyMotion, Placement, inertia_coefficients, move, place, torque_coefficients
from sysid_nodes.planners.motion import Desired, largest, motion
from sysid_nodes.planners.shift import Change, Magnitudes, coriolis, torque_change
from sysid_nodes.planners.tracking import INFLATE, Assumed, ClosedLoop, Disturbance
from sysid_nodes.robots.robot import Array


@dataclass(frozen=True)
class Demand:
    """What the robot can be asked for under an assumption.

    Attributes:
        disturbance: of the closed loop.
        nominal_torque: (T, n) bound on the fed-forward part of the command [N m].
        placement: joint frames over the tube of the true state, and a little more.
        qd: (T, n) bound on |qd| [rad/s].
    """

    disturbance: Disturbance
    nominal_torque: Array
    placement: Placement
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
    state = motion(desired, tube, gain)
    placed = place(tree, state.q)
    bodies = move(tree, placed, state.qd, state.qd_a, state.qdd, tree.gravity)
    qd, qd_a, qdd = (largest(x) for x in (state.qd, state.qd_a, state.qdd))
    nominal, model_error = _torques(bodies, box)
    friction = state.qd_a * box.motor.viscous + state.qdd * box.motor.armature + box.motor.offset
    radius = box.motor_radius
    model_error += radius.viscous * qd_a + radius.armature * qdd + radius.coulomb + radius.offset
    root, inertia_sum, inertia_error = _inertia(bodies, box)
    rate = tube.reference + gain * tube.position  # |de/dt|
    pulled = gain * rate  # |qdd_a - qdd_d|
    change, slope = _shifts(jerk, gains, loop, assumed, qd, qdd + pulled, rate)
    size = _magnitudes(bodies, pulled, qd, qd_a)
    moved = torque_change(tree, np.abs(box.theta), size, change)
    # The torque is linear in qdd_a. M0 is one of the box's models, so its entries are at most s_j s_k.
    moved += box.motor.armature * slope + root * (root * slope).sum(axis=1, keepdims=True)
    moved += box.motor.viscous * change.qd_a
    lever = np.linalg.norm(root * tube.reference, axis=1) + gain * np.linalg.norm(root * tube.position, axis=1)
    feedback = box.motor.armature * pulled + gain * root * lever[:, None]
    return Demand(
        Disturbance(
            torque=(model_error + moved + gains.torque_error) * INFLATE,
            inertia_error=inertia_error * INFLATE,
            coriolis=coriolis(tree, np.abs(box.theta) + box.theta_radius, size, tube.reference),
            inertia_root=root,
            inertia_sum=inertia_sum,
            reference_shift=change.qd_a,
        ),
        nominal_torque=(largest(nominal + friction) + feedback + moved + box.motor.coulomb) * INFLATE,
        placement=placed,
        qd=qd,
    )


def _torques(bodies: list[BodyMotion], box: ModelBox) -> tuple[Affine, Array]:
    """Nominal inertial torque (T, n), affine, and the bound (T, n) on what the box adds."""
    count, n = bodies[0].w.shape[0], len(bodies)
    error = np.zeros((count, n))
    parts: list[Affine | None] = [None] * n
    for i, body in enumerate(bodies):
        coefficients = torque_coefficients(body)
        torque = matvec(coefficients, box.theta[i])
        error[:, list(body.joints)] += largest(coefficients) @ box.theta_radius[i]
        for place_, joint in enumerate(body.joints):
            mine, before = torque[:, place_].reshape(count, 1), parts[joint]
            parts[joint] = mine if before is None else before + mine
    return concatenate([part for part in parts if part is not None], axis=1), error


def _inertia(bodies: list[BodyMotion], box: ModelBox) -> tuple[Array, Array, Array]:
    """Roots (T, n) of the largest diagonal entries of M - I_a over the box, their row sums, and |M - M0| (T, n, n).

    M - I_a is positive semidefinite for the true model and the nominal one, so its other entries are at most products of
    the roots.
    """
    count, n = bodies[0].w.shape[0], len(bodies)
    size, error = np.zeros((2, count, n, n))
    for i, body in enumerate(bodies):
        first, second = np.triu_indices(len(body.joints))
        coefficients = inertia_coefficients(body, first.tolist(), second.tolist())
        radius = largest(coefficients) @ box.theta_radius[i]
        rows, columns = np.array(body.joints)[first], np.array(body.joints)[second]
        size[:, rows, columns] += largest(matvec(coefficients, box.theta[i])) + radius
        error[:, rows, columns] += radius
    root = np.sqrt(np.diagonal(size, axis1=1, axis2=2)) * INFLATE
    size, error = (np.maximum(x, x.swapaxes(1, 2)) * INFLATE for x in (size, error))
    size = np.minimum(size, root[:, :, None] * root[:, None, :])
    return root, size.sum(axis=2) * INFLATE, error + np.diag(box.motor_radius.armature)


def _shifts(
    jerk: Array,
    gains: Gains,
    loop: ClosedLoop,
    assumed: Assumed,
    qd: Array,
    qdd_a: Array,
    rate: Array,
) -> tuple[Change, Array]:
    """How far the arguments of the torque in force are off: by noise, and by what passes while it is held."""
    h, gain = loop.age, gains.position_gain
    change = Change(
        q=gains.position_error + h * qd,
        qd=gains.velocity_error + h * (qdd_a + assumed.acceleration),
        qd_a=gain * gains.position_error + h * qdd_a,
    )
    slope = gain * gains.velocity_error + h * (jerk + gain * (assumed.acceleration + gain * rate))
    return change, slope


def _magnitudes(bodies: list[BodyMotion], pulled: Array, qd: Array, qd_a: Array) -> Magnitudes:
    """Norms of the bodies' motions, with what the errors' part of qdd_a adds to accelerations."""
    norms = [
        np.stack([np.linalg.norm(largest(getattr(body, name)), axis=-1) for body in bodies], axis=1)
        for name in ("w", "u", "alpha", "s")
    ]
    for i, body in enumerate(bodies):
        for rows, part in ((norms[2], body.angular), (norms[3], body.linear)):
            sizes = np.linalg.norm(largest(part), axis=-1)
            rows[:, i] += (sizes * pulled[:, list(body.joints)]).sum(axis=1)
    w, u, alpha, s = (INFLATE * x for x in norms)
    return Magnitudes(w, u, alpha, s, qd, qd_a)
