# SPDX-License-Identifier: Apache-2.0
"""Claims of a calibration: the bound on torque errors that its runs leave, and the intervals that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.robots.robot import Robot
from sysid_nodes.solvers.polytope import Polytope
from sysid_nodes.systems.interval.calibration_fit import estimate, excess, held_out_excess, partial_fits
from sysid_nodes.systems.interval.calibration_runs import Run, run_windows
from sysid_nodes.systems.interval.calibration_system import CalibrationSystem
from sysid_nodes.systems.interval.config import NoiseConfig
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.noise import unread_joints
from sysid_nodes.systems.interval.window_sums import LEAST_SUMS, LENGTHS, neighbours

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-12


def torque_error(
    robot: Robot,
    noise: NoiseConfig,
    system: CalibrationSystem,
    xi: Array,
    runs: Sequence[Run],
    rows: Sequence[MomentumRows],
    margin: float,
    progress: Callable[[int, int], None],
) -> tuple[Array, dict[int, Array]]:
    """(n,) bound on the error of a window's mean torque: what the unloaded runs leave over, times the margin.

    And shares (n,) of it that bound the mean over several windows in a row, for those lengths of which the runs have
    enough: found in the same way, but no less than the mean of independent errors would be.

    A run with a known mass is to narrow, not to widen: it counts where it refutes a bound, and without margin. Where
    the stated error covers whatever a joint can exert it stays: unloaded runs say nothing of what is not read.
    """
    least = np.where(unread_joints(robot, noise.torque_absolute), noise.torque_absolute, 0.0)
    windows = run_windows(rows)
    own = [k for k, run in enumerate(runs) if run.mass == 0.0]
    bare = system if len(own) == len(runs) else system.of_unloaded()
    fit = xi if bare is system else estimate(bare)
    ends = np.cumsum([0, *(len(windows[k]) for k in own)])
    parts = [np.arange(a, b) for a, b in pairwise(ends)]
    fits = partial_fits(bare, fit, parts, progress)
    loaded = [k for k in range(len(runs)) if k not in own]
    stamps = [np.concatenate([rows[k].t for k in some]) if some else np.zeros((0, 2)) for some in (own, loaded)]
    foreign = np.concatenate([windows[k] for k in loaded]) if loaded else np.zeros(0, dtype=np.intp)

    bounds: dict[int, Array] = {}
    for length in (1, *(LENGTHS if noise.model == "window" else ())):
        if length > 1 and len(neighbours(stamps[0], length)[0]) < LEAST_SUMS:
            continue
        bare_blocks, loaded_blocks = (neighbours(t, length, overlapping=True)[0] for t in stamps)
        largest = margin * held_out_excess(bare, fit, fits, bare_blocks).max(axis=0)
        largest = np.maximum(largest, bounds[1] / np.sqrt(length) if length > 1 else 0.0)
        if len(loaded_blocks):
            refuting = excess(system.sum_up(foreign[loaded_blocks]), xi).max(axis=0)
            largest = np.maximum(largest, refuting)
        bounds[length] = np.maximum(largest, least)
    single = bounds.pop(1)
    known = np.maximum(single, _ROUNDING)
    return single, {length: np.minimum(bound / known, 1.0) for length, bound in bounds.items()}


def add_torque_error(
    system: CalibrationSystem, rows: Sequence[MomentumRows], torque_absolute: Array, shares: Mapping[int, Array]
) -> CalibrationSystem:
    """The rows with their bound on the torque error (n,), and sums over neighbouring windows with its share of each."""
    stamps = np.concatenate([run.t for run in rows])
    widened = system.add_torque_error(torque_absolute)
    for length, share in shares.items():
        sums = system.sum_up(neighbours(stamps, length)[0])
        widened = widened.join(sums.add_torque_error(share * torque_absolute))
    return widened


def bound_and_keep(
    system: CalibrationSystem, max_rows: int, progress: Callable[[int, int], None]
) -> tuple[Array, Array, npt.NDArray[np.intp]]:
    """Intervals' ends by all runs, and the rows to keep; what those without payload say stays: others only narrow."""
    poly, kept = _bound(system, max_rows, progress)
    lower, upper = _intervals(system, poly)
    if not system.unloaded.all():
        bare = system.of_unloaded()
        poly, alone = _bound(bare, max_rows, progress)
        low, high = _intervals(bare, poly)
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        kept = np.union1d(kept, np.flatnonzero(system.unloaded)[alone])
    return lower, upper, kept


def _intervals(system: CalibrationSystem, poly: Polytope) -> tuple[Array, Array]:
    """Ends of the intervals of all parameters; of those that the polytope does not bound, the middles twice."""
    k, columns = system.robot_size, system.robot_columns
    lower, upper = system.centre.copy(), system.centre.copy()
    lower[columns] += system.scale[:k] * poly.lower[:k]
    upper[columns] += system.scale[:k] * poly.upper[:k]
    slack = _ROUNDING * (np.abs(system.centre[columns]) + system.scale[:k])
    lower[columns] -= slack
    upper[columns] += slack
    return lower, upper


def _bound(
    system: CalibrationSystem, max_rows: int, progress: Callable[[int, int], None]
) -> tuple[Polytope, npt.NDArray[np.intp]]:
    """Intervals of the robot's unknowns, and the rows without payload that carry them most."""
    poly = Polytope(-np.ones(system.size), np.ones(system.size), system.robot_size)
    used = poly.add(system.rows, -system.radius - system.offset, system.radius - system.offset)
    for done in range(0, 2 * poly.k, 4):
        progress(done, 2 * poly.k)
        poly.tighten(4)
    progress(2 * poly.k, 2 * poly.k)
    useful = np.zeros(len(system.rows))
    useful[used] = poly.usefulness()
    free = np.flatnonzero(system.unloaded)
    return poly, np.sort(free[np.argsort(-useful[free], kind="stable")][:max_rows])
