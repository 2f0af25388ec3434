# SPDX-License-Identifier: Apache-2.0
"""A Gen3 under the robust law whose torques come late, by a plant of its own: nothing here but the law is the suite's.

M qdd + C qd + g + F_v qd + F_c sign(qd) + I_a qdd + beta = tau is integrated by semi-implicit Euler in steps of 0.1 ms.
Each millisecond a state is measured with errors at their bounds; its torque acts after a delay that jitters, or is
always the longest, and is held until the next.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio

from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw, gains
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots.robot import Array, MotorConstants, Robot
from sysid_nodes.systems.certified.certificate.error_proof import closed_loop

_STEP = 1e-4


@dataclass(frozen=True)
class Reached:
    """Largest shares of what was proven that were reached: of each |r_j|, each |e_j|, the torque limits, V, |e|."""

    reference: float
    position: float
    torque: float
    level: float
    norm: float


class Adversary:
    """What may be chosen against the loop within its bounds.

    Args:
        theta, motor: the true model.
        smart: errors of sensors push along r and delays are the longest; otherwise both are random.
        rng: of those.
    """

    def __init__(self, theta: Array, motor: MotorConstants, *, smart: bool, rng: np.random.Generator) -> None:
        self.theta, self.motor, self.smart, self.rng = theta, motor, smart, rng

    def signs(self, r: Array) -> Array:
        """(n,) directions of the errors."""
        return np.where(r >= 0.0, 1.0, -1.0) if self.smart else self.rng.choice([-1.0, 1.0], r.size)

    def delay(self, most: float, jitter: float) -> float:
        """Of one torque [s]."""
        return most if self.smart else float(self.rng.uniform(most - jitter, most))


def follow(
    robot: Robot,
    box: ModelBox,
    control: RobustControlConfig,
    plan: Bezier,
    certificate: Certificate,
    adversary: Adversary,
    *,
    jitter: float,
    duration: float,
    speed: float = 0.003,
) -> Reached:
    """Tracks a plan from rest and compares with its certificate.

    Args:
        robot, box, control: of the certificate.
        plan: certified.
        certificate: with an envelope.
        adversary: true model and choices.
        jitter: of the delay, below its longest [s].
        duration: simulated [s].
        speed: of all joints at the start [rad/s].
    """
    found, envelope, n = gains(robot, control), certificate.envelope, robot.n
    assert envelope is not None
    law = RobustLaw(robot, box.theta, box.motor, control)
    model = robot.model.copy()
    for body in range(n):
        model.inertias[body + 1] = pinocchio.Inertia.FromDynamicParameters(adversary.theta[body])
    data, motor = model.createData(), adversary.motor
    signs = adversary.rng.choice([-1.0, 1.0], n)
    q, qd = plan.q0 + 0.0005 * signs, speed * signs
    hold = None  # the robot's own, until the first torque acts
    queue: list[tuple[float, Array]] = []
    every = round(control.period / _STEP)
    loop = closed_loop(box, found, control, delayed=certificate.proof == "delayed")
    most = np.zeros(5)
    for k in range(round(duration / _STEP)):
        t = k * _STEP
        desired = plan(np.array([min(t, plan.duration)]))
        q_d, qd_d, qdd_d = (x[0] for x in desired)
        if t >= plan.duration:
            qd_d, qdd_d = 0.0 * qd_d, 0.0 * qdd_d
        e = q_d - q
        r = qd_d - qd + found.position_gain * e
        i = envelope.interval(t)
        shares = (np.abs(r) / envelope.reference_error[i], np.abs(e) / envelope.position_error[i])
        most[:2] = np.maximum(most[:2], [x.max() for x in shares])
        if k % every == 0:
            push = adversary.signs(r)
            # Errors of position and velocity that make r look smaller.
            seen_q, seen_qd = q + push * found.position_error, qd + push * found.velocity_error
            command = law.command(seen_q, seen_qd, (q_d, qd_d, qdd_d), certificate.robust_limit)
            queue.append((t + adversary.delay(control.delay, jitter), command.torque))
            most[2] = max(most[2], float((np.abs(command.torque) / robot.limits.torque).max()))
        while queue and queue[0][0] <= t + 1e-9:
            hold = queue.pop(0)[1]
        mass = pinocchio.crba(model, data, q)
        mass = np.triu(mass) + np.triu(mass, 1).T + np.diag(motor.armature)
        size = float(np.sqrt(loop.metric @ e**2))
        level = 0.5 * float(r @ mass @ r) / (envelope.weight * envelope.level[i])
        most[3:] = np.maximum(most[3:], [level, size / envelope.position[i]])
        bias = pinocchio.nonLinearEffects(model, data, q, qd) + motor.viscous * qd + motor.offset
        if hold is None:
            q = q + _STEP * qd
            continue
        qd = qd + _STEP * np.linalg.solve(mass, hold - bias - motor.coulomb * np.sign(qd))
        q = q + _STEP * qd
    return Reached(*most)
