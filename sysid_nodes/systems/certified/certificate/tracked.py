# SPDX-License-Identifier: Apache-2.0
"""Motion of a robot behind a position interface, whose controller follows as far off as was measured and no further.

Nothing is known of that controller but the worst that a log has shown: |q_d - q|, |qd_d - qd| and, where somebody knows
it, |qdd_d - qdd| joint by joint, the same at all times. A certificate made of it is as good as those numbers. They are
taken for motions no faster and no harder than the log's only.

Errors fill boxes here: joints may all be off as far as they can at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.known_robot import Numbers, per_joint
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.certificate import Envelope
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE
from sysid_nodes.systems.certified.certificate.config import TrackingConfig
from sysid_nodes.systems.certified.certificate.disturbance import inertia_bounds, model_torque
from sysid_nodes.systems.certified.certificate.judgement import Conduct
from sysid_nodes.systems.certified.certificate.motion import Desired, largest, tracked_motion
from sysid_nodes.systems.certified.certificate.recursion import dynamics

UNPROVEN = "torque is not proven, as no acceleration error is known: its margin is that of the desired acceleration"


@dataclass(frozen=True)
class KnownErrors:
    """Errors (n,) of a position controller and what they were seen with; None where nothing is known.

    Attributes:
        position, velocity, acceleration: bounds on desired less true [rad, rad/s, rad/s2].
        fastest, hardest: largest desired speed and acceleration they hold for [rad/s, rad/s2].
    """

    position: Array
    velocity: Array
    acceleration: Array | None
    fastest: Array | None
    hardest: Array | None


def known_errors(config: TrackingConfig, n: int) -> KnownErrors:
    """The errors for a robot of n joints.

    Raises:
        ConfigError: position or velocity errors are missing, numbers are not 1 or n, negative or not finite.
    """

    def values(name: str) -> Array | None:
        given: Numbers = getattr(config, name)
        if not given:
            return None
        found = per_joint(given, n, f"tracking.{name}")
        if not (np.isfinite(found) & (found >= 0.0)).all():
            raise ConfigError(f"'tracking.{name}' must be finite and not negative")
        return found

    position, velocity = values("position_error"), values("velocity_error")
    if position is None or velocity is None:
        name = "position_error" if position is None else "velocity_error"
        raise ConfigError(
            f"'tracking.{name}' is needed to certify what a position controller does; 'sysid tracking' measures it"
        )
    return KnownErrors(position, velocity, values("acceleration_error"), values("fastest"), values("hardest"))


def beyond_evidence(desired: Desired, errors: KnownErrors, names: tuple[str, ...]) -> str:
    """The part of a motion beyond the evidence for the errors, in words; empty where there is none."""
    checks = (
        (desired.velocity, errors.fastest, "faster", "rad/s"),
        (desired.acceleration, errors.hardest, "harder", "rad/s2"),
    )
    for part, most, word, unit in checks:
        if most is None:
            continue
        size = ((np.abs(part.centre) + np.abs(part.slope_term) + part.remainder) * INFLATE).max(axis=0)
        worst = int(np.argmax(size - most))
        if not size[worst] <= most[worst]:
            return (
                f"{names[worst]} would move {word} than the tracking errors were measured with, "
                f"{size[worst]:.3g} against {most[worst]:.3g} {unit}"
            )
    return ""


def tracked_conduct(tree: Tree, desired: Desired, box: ModelBox, errors: KnownErrors, torque_error: Array) -> Conduct:
    """All that the robot can do, and the torque that its drives must be told for it whichever model of the box it is.

    The acting torque is M qdd + C qd + g + friction at the true state, errors of acceleration included; without a
    bound on those, that of the desired acceleration at the true position and velocity. As limits are those of the
    torque that drives are told, the command is what counts: it may have to be larger by all that they lose.

    Args:
        tree: kinematics and gravity.
        desired: the trajectory.
        box: the models.
        errors: of the controller.
        torque_error: (n,) bound on commanded less acting torque [N m].
    """
    state = tracked_motion(desired, errors.position, errors.velocity)
    found = dynamics(tree, state.q, state.qd, state.qd, state.qdd)
    nominal, added = model_torque(found.torque, found.pairs, box, boxed=True)
    speed = desired.velocity
    qd = (np.abs(speed.centre) + np.abs(speed.slope_term) + speed.remainder + errors.velocity) * INFLATE
    qdd = largest(state.qdd, boxed=True)
    motor, radius = box.motor, box.motor_radius
    friction = state.qd * motor.viscous + state.qdd * motor.armature + motor.offset
    added = added + radius.viscous * qd + radius.armature * qdd + motor.coulomb + radius.coulomb + radius.offset
    added = added + torque_error
    if errors.acceleration is not None:
        _, inertia, _ = inertia_bounds(found.pairs, box, boxed=True)
        added = added + inertia @ errors.acceleration
    torque = ((largest(nominal + friction, boxed=True) + added) * INFLATE).max(axis=0)
    rate_error = np.broadcast_to(errors.velocity, qd.shape)
    return Conduct(desired, np.broadcast_to(errors.position, qd.shape), rate_error, qd, torque, state.q, boxed=True)


def tracked_envelope(desired: Desired, errors: KnownErrors, jerk: Array) -> Envelope:
    """The errors as a certificate holds them; of V and the like nothing is known."""
    shape = desired.position.centre.shape
    nothing = np.full(shape[0], np.inf)
    return Envelope(
        edges=desired.edges,
        level=nothing,
        position=nothing,
        position_error=np.broadcast_to(errors.position, shape),
        reference_error=np.broadcast_to(errors.velocity, shape),
        acceleration=np.full(shape, np.inf),
        speed=nothing,
        jerk=jerk,
    )
