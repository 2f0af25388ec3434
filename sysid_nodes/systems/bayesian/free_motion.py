# SPDX-License-Identifier: Apache-2.0
"""Errors of torques that act on the motion, not on the readings of torques.

Where a drive holds its joint to a motion whatever that takes, what the model misses of torques is in their readings,
and a fit of torques to the motion is right. An arm that swings almost freely moves as the torques that nobody reads
have it: such a fit takes their motion for its own and has less inertia the less is driven, down to nothing. There the
accelerations are to be told by the torques that were read. With r = T(q, v, a) - tau, T = M a + ..., the accelerations
that they ask for are a' = a - b, M b = r, and

    u = M0 M^-1 r,      du = M0 M^-1 (dT at a' - d tau),

are the residuals, in N m with the mass matrix M0 of the estimate before. A motion on which white errors of covariance W
act has density |det M| N(r; 0, W), torques given: at M0 = M that is |det M0| N(u; 0, W), whose first factor no constant
changes. The derivatives are of accelerations that hold none of the errors, so that errors do not bend the estimate (as
in the simulated regressor of M. Gautier, A. Janot, P.-O. Vandanjon, A new closed-loop output error method, IEEE T-CST
21 (2013) 2).

Joints of which a torque was not read, or is not used, have the acceleration that they have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.systems.bayesian.rows import Rows

if TYPE_CHECKING:
    from sysid_nodes.systems.bayesian.estimate import Estimate
    from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion
    from sysid_nodes.systems.bayesian.problem import MechanismProblem

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def refuse_bound_motion(mechanism: Mechanism) -> None:
    """Raises where errors cannot be taken to act on the motion.

    Raises:
        ConfigError: loops or contacts hold the motion, friction depends on accelerations, or a user's own term may.
    """
    own = mechanism.parameters
    if mechanism.closures.count or mechanism.term is not None:
        raise ConfigError("'noise.acts_on' is 'motion': not with loops, contacts or a term of one's own")
    if own.bristles.any() or own.sigma[own.joint("load_friction")].any():
        raise ConfigError("'noise.acts_on' is 'motion': not with lugre's friction or 'friction.load_sigma'")


def accelerations_missed(
    problem: MechanismProblem, reference: Array, point: Estimate, motion: Motion, torque: Array, *, derive: bool
) -> tuple[Array, Rows | None]:
    """u (N - 2, n) [N m] and, if asked for, its derivatives; nothing where a torque is not used.

    Args:
        problem: of the log.
        reference: (N - 2, n, n) M0.
        point: the estimate.
        motion: of it.
        torque: (N - 2, n) T.
        derive: whether derivatives are asked for.
    """
    mechanism, log, own = problem.mechanism, problem.log, problem.mechanism.parameters
    n, (motors,) = own.n, np.nonzero(own.motors)
    gain, offset, delay = (own.constants(point.x, name)[motors] for name in ("gain", "offset", "delay"))
    rate, read = log.torque_rate[1:-1], log.torque[1:-1]
    used: BoolArray = np.ones(torque.shape, dtype=np.bool_)
    used[:, motors] = log.torque_stages[1:-1, None] & ~problem.uncounted
    left = torque.copy()
    left[:, motors] -= np.nan_to_num((read + delay * rate - offset) / gain)
    both, alone = used[:, :, None] & used[:, None, :], np.eye(n)
    mass = np.where(both, mechanism.mass(motion.q, point.x), alone)
    before = np.where(both, reference, alone)
    missed = np.linalg.solve(mass, np.where(used, left, 0.0)[:, :, None])[:, :, 0]
    value = np.where(used, np.einsum("kij,kj->ki", before, missed), 0.0)
    if not derive:
        return value, None
    asked = replace(motion, a=motion.a - missed)
    found = mechanism.linearise(asked, point.x)
    rows = Rows.of(found, np.arange(n))
    rows.by_x[:, motors, own.joint("gain").start + motors] = found.value[:, motors] / gain
    rows.by_x[:, motors, own.joint("offset").start + motors] = 1.0 / gain
    rows.by_x[:, motors, own.joint("delay").start + motors] = -rate / gain
    return value, rows.through(before @ np.linalg.inv(mass) * both)
