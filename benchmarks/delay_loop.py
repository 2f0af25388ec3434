# SPDX-License-Identifier: Apache-2.0
"""A Gen3 under the robust law whose torques come late, by a plant of its own: nothing here but the law is the suite's.

M qdd + C qd + g + F_v qd + F_c sign(qd) + I_a qdd + beta = tau is integrated by semi-implicit Euler in steps of 0.1 ms.
Each millisecond a state is measured with errors at their bounds; its torque acts after a delay that jitters, or is
always the longest, is off by what a drive's may be, and is held until the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw, gains
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots.robot import Array, MotorConstants, Robot
from sysid_nodes.systems.certified.certificate.error_proof import closed_loop

_STEP = 1e-4


class Leg(NamedTuple):
    """A certified motion from a time [s] on; its certificate has an envelope."""

    start: float
    plan: Bezier
    certificate: Certificate


@dataclass(frozen=True)
class Reached:
    """Largest shares that were reached of what was proven, and of the torque limits.

    Attributes:
        reference, position: each |r_j| and |e_j|.
        torque: the torque limits.
        level, norm: V and |e|.
        command, velocity: the certified ranges of each joint's command and velocity.
    """

    reference: float
    position: float
    torque: float
    level: float
    norm: float
    command: float = 0.0
    velocity: float = 0.0

    @property
    def root(self) -> float:
        """Share of r in the norm of M, whose square is V's."""
        return float(np.sqrt(self.level))


class Adversary:
    """Choices against the loop within its bounds.

    Args:
        theta, motor: the true model.
        smart: errors of sensors and drives push along r and delays are the longest; otherwise all are random.
        rng: of those.
        quantised: drives round torques to steps of twice their error, whatever r is.
        pattern: (n,) signs of r that errors push towards all the time; None: wherever r is.
    """

    def __init__(
        self,
        theta: Array,
        motor: MotorConstants,
        *,
        smart: bool,
        rng: np.random.Generator,
        quantised: bool = False,
        pattern: Array | None = None,
    ) -> None:
        self.theta, self.motor, self.smart, self.rng = theta, motor, smart, rng
        self._quantised, self._pattern = quantised, pattern

    def signs(self, r: Array) -> Array:
        """(n,) directions of the errors."""
        if self._pattern is not None:
            return self._pattern
        return np.where(r >= 0.0, 1.0, -1.0) if self.smart else self.rng.choice([-1.0, 1.0], r.size)

    def delay(self, most: float, jitter: float) -> float:
        """Of one torque [s]."""
        return most if self.smart else float(self.rng.uniform(most - jitter, most))

    def drive_torque(self, torque: Array, push: Array, error: Array) -> Array:
        """(n,) torque of the drives, off by no more than ``error``, for one commanded; ``push`` as of `signs`."""
        if not self._quantised:
            return torque - push * error
        step = np.where(error > 0.0, 2.0 * error, 1.0)
        return np.where(error > 0.0, step * np.rint(torque / step), torque)


def follow(
    robot: Robot,
    box: ModelBox,
    control: RobustControlConfig,
    legs: Sequence[Leg],
    adversary: Adversary,
    *,
    jitter: float,
    duration: float,
    speed: float = 0.003,
    distance: float = 0.0005,
) -> Reached:
    """Tracks certified motions, the first from rest, and compares with their certificates.

    Args:
        robot, box, control: of the certificates.
        legs: the motions in their order, each begun where the former one is.
        adversary: true model and choices.
        jitter: of the delay, below its longest [s].
        duration: simulated [s].
        speed, distance: of all joints at the start [rad/s], and from where the first motion begins [rad].
    """
    found, n = gains(robot, control), robot.n
    law = RobustLaw(robot, box.theta, box.motor, control)
    metrics = [closed_loop(box, found, control, delayed=leg.certificate.proof == "delayed").metric for leg in legs]
    model, motor = _true_model(robot, adversary), adversary.motor
    data = model.createData()
    signs = adversary.rng.choice([-1.0, 1.0], n)
    q, qd = legs[0].plan.q0 + distance * signs, speed * signs
    hold = None  # the robot's own, until the first torque acts
    queue: list[tuple[float, Array]] = []
    every = round(control.period / _STEP)
    most = np.zeros(7)
    times = _STEP * np.arange(round(duration / _STEP), dtype=np.float64)
    which, desired = _desired_states(legs, times)
    for k, t in enumerate(times):
        leg, (q_d, qd_d, qdd_d) = legs[which[k]], (x[k] for x in desired)
        certificate, envelope = leg.certificate, leg.certificate.envelope
        assert envelope is not None
        e = q_d - q
        r = qd_d - qd + found.position_gain * e
        i = envelope.interval(t - leg.start)
        allowed = robot.limits.velocity - certificate.margins.velocity
        most[0] = max(most[0], (np.abs(r) / envelope.reference_error[i]).max())
        most[1] = max(most[1], (np.abs(e) / envelope.position_error[i]).max())
        most[6] = max(most[6], (np.abs(qd) / allowed).max())
        if k % every == 0:
            push = adversary.signs(r)
            # Errors of position and velocity that make r look smaller.
            seen_q, seen_qd = q + push * found.position_error, qd + push * found.velocity_error
            torque = law.command(seen_q, seen_qd, (q_d, qd_d, qdd_d), certificate.robust_limit).torque
            queue.append(
                (t + adversary.delay(control.delay, jitter), adversary.drive_torque(torque, push, found.torque_error))
            )
            mass = np.triu(pinocchio.crba(model, data, q))
            energy = 0.5 * float(r @ (mass + np.triu(mass, 1).T) @ r)
            most[2] = max(most[2], (np.abs(torque) / robot.limits.torque).max())
            most[3] = max(most[3], energy / (envelope.weight * envelope.level[i]))
            most[4] = max(most[4], float(np.sqrt(metrics[which[k]] @ e**2)) / envelope.position[i])
            most[5] = max(most[5], (np.abs(torque) / certificate.torque).max())
        while queue and queue[0][0] <= t + 1e-9:
            hold = queue.pop(0)[1]
        if hold is not None:
            friction = motor.viscous * qd + motor.offset + motor.coulomb * np.sign(qd)
            qd = qd + _STEP * pinocchio.aba(model, data, q, qd, hold - friction)
        q = q + _STEP * qd
    return Reached(*most)


def _true_model(robot: Robot, adversary: Adversary) -> pinocchio.Model:
    model = robot.model.copy()
    for body in range(robot.n):
        model.inertias[body + 1] = pinocchio.Inertia.FromDynamicParameters(adversary.theta[body])
    model.armature = adversary.motor.armature
    return model


def _desired_states(legs: Sequence[Leg], times: Array) -> tuple[npt.NDArray[np.int64], tuple[Array, ...]]:
    """Which motion is executed at times (T,), and its position, velocity and acceleration (T, n)."""
    which = np.searchsorted([leg.start for leg in legs], times + 1e-9, side="right") - 1
    states = [leg.plan(np.maximum(times[which == i] - leg.start, 0.0)) for i, leg in enumerate(legs)]
    return which, tuple(map(np.concatenate, zip(*states, strict=True)))
