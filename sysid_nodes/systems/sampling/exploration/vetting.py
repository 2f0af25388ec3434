# SPDX-License-Identifier: Apache-2.0
"""Whether a segment is fit to be executed: robots drawn from the posterior follow it, and none may come to harm.

They stop at its end. Without that, a segment could end in a step too long from which no next one saves the robot; with
it, there is one way to go on that nearly always is fit: to stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.exploration import Vetting
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts import Walks
from sysid_nodes.systems.sampling.exploration.crowd import Crowd, Places
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves

Array = npt.NDArray[np.float64]

_STOPS = 0.03  # by which a joint presses into its soft stops [rad]

COARSE = 25
"""Steps between two states that are looked at."""


@dataclass(frozen=True)
class Vetted:
    """Behaviour of all robots in a segment.

    Attributes:
        harmed: (R,) robots that came to harm.
        places: (R) at the segment's end.
    """

    vetting: Vetting
    harmed: npt.NDArray[np.bool_]
    places: Places


def vet(crowd: Crowd, places: Places, curves: CommandCurves, robot: Robot, area: float, stop: float) -> Vetted:
    """All robots in a segment (curves of one robot), and in the stop after it.

    Args:
        crowd: the robots.
        places: where they are; positions are from where the plan begins.
        curves: of the segment.
        robot: its limits.
        area: furthest that a robot may go [m].
        stop: time in which it comes to rest [s].
    """
    everyone = np.arange(len(crowd))
    made = crowd.follow(everyone, places, curves.repeat(len(crowd)), curves.duration, every=COARSE)
    after = Places.after(made)
    stopped = crowd.follow(everyone, after, CommandCurves.standing(len(crowd), curves.height), stop, every=COARSE)
    excess, reach = (np.maximum(a, b) for a, b in zip(_extremes(made, robot), _extremes(stopped, robot), strict=True))
    harmed = harmful(made, robot, area) | harmful(stopped, robot, area)
    return Vetted(_judge_draws(made.fallen | stopped.fallen, excess, reach, area), harmed, after)


def harmful(walks: Walks, robot: Robot, area: float) -> npt.NDArray[np.bool_]:
    """(B,) whether robots come to harm."""
    excess, reach = _extremes(walks, robot)
    return np.asarray(walks.fallen | (excess > [_STOPS, 0.0, 0.0]).any(axis=1) | (reach > area))


def _extremes(walks: Walks, robot: Robot) -> tuple[Array, Array]:
    """(B, 3) by how much joints left their limits of position [rad], speed [rad/s] and torque [N m], and (B,) reach."""
    limits, q = robot.limits, np.nan_to_num(walks.states[..., 7 : 7 + robot.n])
    out = np.maximum(limits.position_lower - q, q - limits.position_upper).max(axis=(1, 2))
    fast, strong = (walks.rate - limits.velocity).max(axis=1), (walks.torque - limits.torque).max(axis=1)
    return np.column_stack([out, fast, strong]), np.linalg.norm(np.nan_to_num(walks.states[..., :2]), axis=2).max(
        axis=1
    )


def together(parts: Sequence[Vetting]) -> Vetting:
    """Of one segment after the other."""
    return Vetting(
        parts[0].draws,
        parts[-1].fallen,
        np.max([part.excess for part in parts], axis=0),
        max(part.reach for part in parts),
        parts[-1].faults,
    )


def _judge_draws(fallen: npt.NDArray[np.bool_], excess: Array, reach: Array, area: float) -> Vetting:
    most, furthest, drawn = excess.max(axis=0), float(reach.max()), len(fallen) - 1
    faults = []
    if fallen.any():
        faults.append(f"{fallen.sum()} of {len(fallen)} robots that the estimate allows fall")
    if most[0] > _STOPS:
        faults.append(f"a joint presses {most[0]:.2f} rad into its stop")
    if most[1] > 0.0:
        faults.append(f"a joint is {most[1]:.1f} rad/s faster than it may")
    if most[2] > 0.0:
        faults.append(f"a motor gives {most[2]:.1f} N m more than it may")
    if furthest > area:
        faults.append(f"a robot goes {furthest:.1f} m from its start, {area:.1f} m are free")
    return Vetting(drawn, int(fallen.sum()), most, furthest, tuple(faults))
