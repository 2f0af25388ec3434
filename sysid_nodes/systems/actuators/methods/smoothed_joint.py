# SPDX-License-Identifier: Apache-2.0
"""The torque oracle: a joint's motion smoothed under a prior on its torque, and the torque with its band.

Between neighbouring samples the joint obeys (M + I_a) qdd = law(u, q, qd) + s - load: the fitted law's torque is the
prior's mean and s, what the law lacks, a Wiener process. Its intensity and the encoder's noise come from the data,
see `solvers.wiener_smoother`. All samples are one problem, so that there is no horizon to choose, and a torque is
as free as the data speak for it, not a parameter a step.

The torque meant is that which the gear passes on to the body, M qdd + load: what a torque sensor behind the gear would
read. It needs the body's inertia and not the armature, which motions hardly tell. At low speed friction is anywhere
between its two signs and a joint may stick: s may change faster there, by a factor that the data choose, and the
prior's friction turns over no faster than the velocity is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.joint_law import INERTIA, LOAD
from sysid_nodes.models.actuator import INDEX, actuator_torque
from sysid_nodes.solvers.wiener_smoother import SmoothedMotion, smooth_motion
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

_SURE = 5.0  # sigmas of the velocity within which the prior's friction turns over


@dataclass(frozen=True)
class SmoothedJoint:
    """A joint along a log, S samples.

    Attributes:
        motion: as it was measured.
        config: of the identification.
        rows: (S, 11) signals of the law, at the samples.
        position, velocity, acceleration: (S,) [rad, rad/s, rad/s2].
        torque, sigma: (S,) passed on to the body, and its standard deviation [N m].
        speed_sigma: typical standard deviation of the velocity [rad/s].
        noise: standard deviation of the encoder [rad].
    """

    motion: JointMotion
    config: ActuatorConfig
    rows: Array
    position: Array
    velocity: Array
    acceleration: Array
    torque: Array
    sigma: Array
    speed_sigma: float
    noise: float

    def law_torque(self, law: Array) -> Array:
        """(S,) torque that a law passes on to the body along the smoothed motion [N m]."""
        drive = law_along(self.rows, self.position, self.velocity, law, self.config, self.config.law.rest_speed)
        return np.asarray(drive - law[INDEX["armature"]] * self.acceleration)


def law_along(rows: Array, q: Array, w: Array, law: Array, config: ActuatorConfig, smoothing: float) -> Array:
    """(S,) torque of a law at states (S,) [N m], armature apart."""
    hard = config.law.saturation == "hard"
    return actuator_torque(q, w, rows, law, smoothing=max(smoothing, config.law.rest_speed), hard=hard).torque


def rows_at_samples(motion: JointMotion, law: Array, config: ActuatorConfig) -> Array:
    """(S, 11) signals of the law, means of the steps before and after each sample."""
    rows = JointProblem(motion, config, law, ()).signals(law)
    after = np.concatenate([rows[:: motion.stride], rows[-1:]])
    before = np.concatenate([rows[:1], rows[motion.stride - 1 :: motion.stride]])
    return np.asarray(0.5 * (before + after))


def smooth_joint(motion: JointMotion, law: Array, config: ActuatorConfig) -> SmoothedJoint:
    """The torque oracle of a joint.

    Args:
        motion: what was measured.
        law: (L,) the fitted law.
        config: of the identification.

    Raises:
        SamplesError: the log is too short to be smoothed.
    """
    dt = motion.step * motion.stride
    rows = rows_at_samples(motion, law, config)
    inertia, load = rows[1:-1, INERTIA] + law[INDEX["armature"]], rows[1:-1, LOAD]
    slope = np.full(len(inertia), 0.5 / dt)
    found = smooth_motion(motion.q, motion.measured, inertia, -load, dt)
    for _ in range(config.oracle.passes):
        velocity = _derivatives(found.position, dt)[0]
        speed_sigma = float(np.median(found.sigma(-slope, 0.0 * slope, slope)))
        drive = law_along(rows, found.position, velocity, law, config, _SURE * speed_sigma)
        between = 0.5 * (velocity[1:-2] + velocity[2:-1])
        slow = np.exp(-((between / config.oracle.slow) ** 2))
        found = smooth_motion(motion.q, motion.measured, inertia, drive[1:-1] - load, dt, slow)
    speed_sigma = float(np.median(found.sigma(-slope, 0.0 * slope, slope)))
    velocity, acceleration = _derivatives(found.position, dt)
    torque = rows[:, INERTIA] * acceleration + rows[:, LOAD]
    sigma = _sigma(found, rows, torque, dt, config)
    return SmoothedJoint(
        motion, config, rows, found.position, velocity, acceleration, torque, sigma, speed_sigma, found.noise
    )


def _sigma(found: SmoothedMotion, rows: Array, torque: Array, dt: float, config: ActuatorConfig) -> Array:
    """(S,) of the torque: the posterior's, and the bodies' inertias, which may be wrong as configured."""
    factor = rows[1:-1, INERTIA] / dt**2
    own = found.sigma(factor, -2.0 * factor, factor)
    # At either end there is one neighbour only: the torque of the next sample, and what it may change by since.
    ends = np.sqrt(own[[0, -1]] ** 2 + found.intensity[[0, -1]] * dt)
    return np.asarray(np.hypot(np.concatenate([ends[:1], own, ends[1:]]), config.doubt.body_error * torque))


def _derivatives(q: Array, dt: float) -> tuple[Array, Array]:
    """(S,) central differences of first and second order; at the ends, the neighbour's second."""
    second = np.zeros_like(q)
    second[1:-1] = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / dt**2
    second[0], second[-1] = second[1], second[-2]
    return np.gradient(q, dt, edge_order=2), second
