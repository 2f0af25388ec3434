# SPDX-License-Identifier: Apache-2.0
"""Whether a plan is fit to be executed: robots drawn from the posterior follow it, and none may come to harm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.exploration import Posterior, Vetting
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts import Walks
from sysid_nodes.rollouts.rotations import vertical
from sysid_nodes.rollouts.walking import FALLEN_HEIGHT, FALLEN_TILT
from sysid_nodes.systems.sampling.exploration.criteria import invert
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_STOPS = 0.03  # by which a joint presses into its soft stops [rad]


def draw(posterior: Posterior, unknowns: Unknowns, count: int, rng: np.random.Generator) -> list[Array]:
    """Vectors (K,) of robots that the estimate allows, within the bounds of the search.

    What a bound holds spreads, away from it, as the information has it.
    """
    held = np.diag(np.diag(posterior.covariance) <= 0.0).astype(np.float64)
    covariance = posterior.covariance + held @ invert(posterior.information) @ held
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    sample = posterior.values + rng.standard_normal((count, len(values))) @ root.T
    return list(np.clip(sample, unknowns.column("lower"), unknowns.column("upper")))


def vet(walks: Sequence[Walks], robot: Robot, area: float, period: float) -> Vetting:
    """Behaviour of robots, and the faults in it.

    Args:
        walks: of all draws.
        robot: its limits.
        area: furthest that a robot may go from its start [m].
        period: between two recorded states [s].
    """
    states = np.concatenate([each.states for each in walks])
    torque, rate = (np.concatenate([getattr(each, name) for each in walks]) for name in ("torque", "rate"))
    fallen = int(sum(each.fallen.sum() for each in walks))
    limits, q = robot.limits, np.nan_to_num(states[..., 7 : 7 + robot.n])
    out = np.maximum(limits.position_lower - q, q - limits.position_upper).max()
    excess = np.array([out, (rate - limits.velocity).max(), (torque - limits.torque).max()])
    reach = float(np.linalg.norm(np.nan_to_num(states[..., :2] - states[:, :1, :2]), axis=2).max())
    faults = []
    if fallen:
        faults.append(f"{fallen} of {len(states)} drawn robots fall")
    if excess[0] > _STOPS:
        faults.append(f"a joint presses {excess[0]:.2f} rad into its stop")
    if excess[1] > 0.0:
        faults.append(f"a joint is {excess[1]:.1f} rad/s faster than it may")
    if excess[2] > 0.0:
        faults.append(f"a motor gives {excess[2]:.1f} N m more than it may")
    if reach > area:
        faults.append(f"a robot goes {reach:.1f} m from its start, {area:.1f} m are free")
    return Vetting(len(states), fallen, excess, reach, _falls(states, period), tuple(faults))


def _falls(states: Array, period: float) -> Array:
    """Times at which robots (B, R, nq + nv) that fall do [s]."""
    upright = (vertical(states[..., 3:7])[..., 2] > FALLEN_TILT) & (states[..., 2] > FALLEN_HEIGHT)
    down = ~upright
    return np.asarray(period * np.argmax(down, axis=1)[down.any(axis=1)])
