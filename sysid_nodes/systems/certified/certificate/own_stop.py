# SPDX-License-Identifier: Apache-2.0
"""The way of the robot's own stop, which may begin at any moment and listens to no controller.

What brings a robot to rest without joint states is its maker's. Until it does, the last torque is held and nobody sees
what that does. Of both is assumed that no joint strays further than

    travel + reaction (|qd| + v) / 2 + v^2 / (2 deceleration),  v = |qd| + reaction acceleration,

the way it moves, and as if qd were zero the other way, from where the last command that the certificate knows found it,
each joint in its own time. Postures of the stop are then those of the motion with every joint anywhere on that way: its
levers are those of the posture, and at rest little is left of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.intervals import Affine
from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.recursion import Placement, place


@dataclass(frozen=True)
class OwnStop:
    """Distance over which a stop carries the joints.

    Attributes:
        deceleration: (n,) at least [rad/s2].
        reaction: time from the last answered joint state until it begins [s].
        acceleration: of a joint in that time at most [rad/s2].
        travel: beyond that, either way [rad].
    """

    deceleration: Array
    reaction: float
    acceleration: float
    travel: float

    @classmethod
    def of(cls, config: CertifierConfig, n: int) -> OwnStop | None:
        """That of a configuration; None where certificates are not to keep its way clear.

        Raises:
            ConfigError: some joints have a deceleration and others none.
        """
        deceleration = per_joint(config.stop_deceleration, n, "certifier.stop_deceleration")
        if (deceleration > 0.0).all():
            return cls(deceleration, config.stop_reaction, config.stop_acceleration, config.stop_travel)
        if (deceleration > 0.0).any():
            raise ConfigError("'certifier.stop_deceleration' must be positive for every joint, or 0 for all of them")
        return None

    def reach(self, least: Array, most: Array) -> tuple[Array, Array]:
        """How far joints may get below and above where the last command found them, both (T, n) and not negative [rad].

        Args:
            least, most: (T, n) bounds on their velocity then [rad/s].
        """
        back, forth = np.maximum(-least, 0.0), np.maximum(most, 0.0)
        return self._way(back), self._way(forth)

    def _way(self, speed: Array) -> Array:
        fastest = speed + self.reaction * self.acceleration
        braking = fastest**2 / (2.0 * self.deceleration)
        return np.asarray((self.travel + 0.5 * self.reaction * (speed + fastest) + braking) * INFLATE)


def sweep_stop(tree: Tree, q: Affine, below: Array, above: Array, *, boxed: bool) -> Placement:
    """Frames of all joints at any of the positions q, and during a stop from there.

    Args:
        tree: the robot.
        q: (T, n) positions, which leave the second half of the errors' symbols to the stop; see motion.py.
        below, above: (T, n) of `OwnStop.reach`.
        boxed: position errors fill a box.
    """
    n = q.shape[1]
    terms = q.terms.copy()
    centre = q.centre + 0.5 * (above - below)
    # A few roundings of the centre and of the half-widths.
    half = 0.5 * (above + below) + 1e-15 * (np.abs(q.centre) + above + below)
    for j in range(n):
        terms[1 + n + j, :, j] = half[:, j]
    return replace(place(tree, Affine(centre, terms, q.remainder), boxed=boxed), swept=True)


def own_stop_words(config: CertifierConfig, n: int) -> str:
    """The certificates' statement about the robot's own stop, in one line; see `OwnStop.of`."""
    stop = OwnStop.of(config, n)
    if stop is None:
        return "certificates do not keep the way of the robot's own stop clear (certifier.stop_deceleration)"
    slowest = f"{stop.deceleration.min():g} rad/s2 or more after {stop.reaction:g} s of at most "
    slowest += f"{stop.acceleration:g} rad/s2, {stop.travel:g} rad beyond"
    return f"certificates keep the way of the robot's own stop clear: {slowest}"
