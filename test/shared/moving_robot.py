# SPDX-License-Identifier: Apache-2.0
"""Random short trajectories of floating-base robots, for checks of derivatives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.discrete_motion import retract
from sysid_nodes.models.floating_base import FloatingBase
from sysid_nodes.robots import load_robot

Array = npt.NDArray[np.float64]


def random_trajectory(name: str, seed: int, stages: int = 5, step: float = 0.05) -> Array:
    """(stages, nq): a random posture and small random moves from stage to stage."""
    rng = np.random.default_rng(seed)
    model = load_robot(name).model
    q = np.zeros(model.nq)
    q[3:7] = rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    q[:3], q[7:] = rng.normal(size=3), rng.uniform(-1.0, 1.0, model.nq - 7)
    path = [q]
    for _ in range(stages - 1):
        path.append(retract(path[-1], step * rng.normal(size=model.nv)))
    return np.array(path)


def base_of(name: str, implementation: str = "") -> FloatingBase:
    """A registered robot's rigid-body model."""
    return FloatingBase.from_robot(load_robot(name), implementation=implementation)


def by_stage(function: Callable[[Array], Array], q: Array, stage: int, step: float = 1e-6) -> Array:
    """Central differences of a function of a trajectory by the tangent of one stage: (*shape, nv)."""
    nv = q.shape[1] - 1
    columns = []
    for axis in np.eye(nv):
        ends = []
        for sign in (1.0, -1.0):
            moved = q.copy()
            moved[stage] = retract(q[stage], sign * step * axis)
            ends.append(function(moved))
        columns.append((ends[0] - ends[1]) / (2.0 * step))
    return np.stack(columns, axis=-1)
