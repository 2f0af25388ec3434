# SPDX-License-Identifier: Apache-2.0
"""Actuators as PACE (arXiv 2509.06342, Isaac Lab) finds them, in MuJoCo: 4 n + 1 parameters at once by CMA-ES.

Armature, viscous and Coulomb friction and encoder bias of every joint, and one delay in whole steps of the commands for
all; a candidate's cost is the squared error of one rollout of the whole, coupled robot over the whole log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import cma
import numpy as np

from benchmarks.peers.coupled_robot import CoupledRobot, Drives, error
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.solvers.shooting.problem import Array

LOWER = np.array([0.0, 0.0, 0.0, -0.1])
UPPER = np.array([0.1, 2.0, 2.0, 0.1])
"""Of armature [kg m2], viscous [N m s/rad], Coulomb [N m] and bias [rad]; PACE's own."""

_LONGEST = 10.0  # delay in samples
_SPREAD = 0.25  # of the first population, relative to the ranges


@dataclass(frozen=True)
class Pace:
    """A search's end: the drives found, and rollouts of the whole log."""

    drives: Drives
    rollouts: int


def fit_pace(
    robot: CoupledRobot, log: ActuatorLog, budget: int, seed: int, progress: Callable[[int, float], None]
) -> Pace:
    """CMA-ES until it has spent `budget` rollouts."""
    options = {"seed": seed, "maxfevals": budget, "verbose": -9, "bounds": [0.0, 1.0]}
    search = cma.CMAEvolutionStrategy(np.full(4 * log.n + 1, 0.5), _SPREAD, options)
    while not search.stop():
        candidates = np.array(search.ask())
        costs = error(log, robot.replay(log, [_drives(log, candidate) for candidate in candidates]))
        search.tell(list(candidates), (costs**2).tolist())
        progress(search.countevals, float(np.sqrt(search.best.f)))
    return Pace(_drives(log, np.array(search.result.xbest)), int(search.countevals))


def _drives(log: ActuatorLog, candidate: Array) -> Drives:
    """Of a candidate (4 n + 1,) relative to the ranges."""
    armature, viscous, coulomb, bias = (LOWER + candidate[:-1].reshape(-1, 4) * (UPPER - LOWER)).T
    delay = round(_LONGEST * float(candidate[-1])) * float(np.median(np.diff(log.t)))
    return Drives(armature, viscous, coulomb, bias, np.full(log.n, delay))
