# SPDX-License-Identifier: Apache-2.0
"""A motion that tells much of a robot's links, friction and rotors, put together from the chirp and many others.

Torques are linear in these constants. With W their derivative, in units of the torques' noise and of what is known
beforehand (log-Cholesky coordinates of each link to 30 %, friction and rotors to a tenth of the joint's torques), a
motion tells

    log det(1 + W'W) / 2

nats of them (Lindley's expected information). Appendix B of arXiv 2602.16358 minimises a surrogate of W's condition
number; that asks for base parameters and does not see how large a motion is. Of one motion after the other all joints',
or a single joint's, take the place of the best so far where that tells more, unless torques of the robot as described
come too near to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import give_extent, log_cholesky_jacobian, parameters_to_log_cholesky
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import Robot
from sysid_nodes.systems.actuators.excitation import Excitation, ExcitationConfig, candidates, excite

Array = npt.NDArray[np.float64]

_LINKS = 0.3  # sigma of each log-Cholesky coordinate of a link
_MOTORS = 0.1  # of friction and rotors: torques at 1 rad/s and 1 rad/s2, of the joint's own along the chirp
_NOISE = 0.01  # of torques, likewise
_TURNS = 0.05  # speed over which dry friction turns [rad/s]
_SAMPLES = 200  # of a motion that are looked at, at most
_LEAST = 0.01  # of the largest joint's torque: as much has any joint at least


def excite_links(config: ExcitationConfig, robot: Robot, middle: Array) -> Excitation:
    """A motion about a posture, see the module.

    Args:
        config: which; of its motions, `draws` are looked at beside the chirp.
        robot: to be moved.
        middle: (n,) posture where it begins and ends [rad].

    Raises:
        ConfigError: as `excite`; the robot's base floats, or all motions ask for more torque than there is.
    """
    if robot.floating_base:
        raise ConfigError("kind=links is for robots with a fixed base: what a floating one stands on takes part")
    motions = candidates(config, robot.limits, middle)
    judge = Judge.of(robot, excite(replace(config, kind="chirp"), robot.limits, middle), config.share)
    best = next(motions)
    most = judge.information(best) if judge.allows(best) else -np.inf
    for motion in motions:
        for taken in (np.ones(robot.n, dtype=np.bool_), *np.eye(robot.n, dtype=np.bool_)):
            tried = Excitation(best.t, *(np.where(taken, *pair) for pair in zip(motion[1:], best[1:], strict=True)))
            if (told := judge.information(tried)) > most and judge.allows(tried):
                best, most = tried, told
    if not np.isfinite(most):
        raise ConfigError(f"none of {config.draws + 1} motions keeps to {config.share:g} of the torque limits")
    return best


@dataclass(frozen=True)
class Judge:
    """Says what motions tell of a robot.

    Attributes:
        chain: of n joints.
        thetas: (n, 10) its bodies as described.
        slopes: (n, 10, 10) of these by what is not known of them, in units of how well it is known.
        size: (n,) of the joints' torques [N m].
        limit: (n,) of the same [N m].
    """

    chain: Chain
    thetas: Array
    slopes: Array
    size: Array
    limit: Array

    @classmethod
    def of(cls, robot: Robot, usual: Excitation, share: float) -> Judge:
        """With the torques of a usual motion for their sizes, and a share of the robot's limits."""
        chain, thetas = Chain.from_robot(robot), robot.inertial_parameters()
        etas = np.array([parameters_to_log_cholesky(give_extent(theta)[0]) for theta in thetas])
        size = np.sqrt(np.mean((_rows(chain, usual)[0] @ thetas.ravel()) ** 2, axis=0))
        size = np.maximum(size, _LEAST * size.max())
        return cls(chain, thetas, _LINKS * log_cholesky_jacobian(etas), size, share * robot.limits.torque)

    def allows(self, motion: Excitation) -> bool:
        """Whether the robot as described has the torque for it."""
        return bool((np.abs(standard_regressor(self.chain, *motion[1:]) @ self.thetas.ravel()) <= self.limit).all())

    def information(self, motion: Excitation) -> float:
        """Nats that a motion tells."""
        rows, v, a = _rows(self.chain, motion)
        links = [rows[:, :, 10 * i : 10 * i + 10] @ slope for i, slope in enumerate(self.slopes)]
        motors = [np.eye(self.chain.n) * (_MOTORS * self.size * by)[:, None] for by in (np.tanh(v / _TURNS), v, a)]
        every = (np.concatenate([*links, *motors], axis=2) / (_NOISE * self.size)[:, None]).reshape(-1, 13 * len(links))
        return float(0.5 * np.linalg.slogdet(np.eye(every.shape[1]) + every.T @ every)[1])


def _rows(chain: Chain, motion: Excitation) -> tuple[Array, Array, Array]:
    """Regressor (K, n, 10 n), speeds and accelerations (K, n) of K samples."""
    some = slice(None, None, -(-len(motion.t) // _SAMPLES))
    q, v, a = motion.q[some], motion.qd[some], motion.qdd[some]
    return standard_regressor(chain, q, v, a), v, a
