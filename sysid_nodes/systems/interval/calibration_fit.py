# SPDX-License-Identifier: Apache-2.0
"""Estimates of a calibration's unknowns and of the torque error that is left, both from the same residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.interval.calibration_system import CalibrationSystem
from sysid_nodes.systems.interval.estimate.robust_fit import correlation_time

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

FOLDS = 4
"""Parts of every run; each is judged by a fit of the others."""

_FITS = 8
_FOLD_FITS = 4
"""Steps of a fit; that of a part of the windows starts from that of all and needs fewer."""

_SMALLEST = 1e-6
"""Residuals below this say nothing about their spread [N m]."""


def estimate(system: CalibrationSystem) -> Array:
    """(d,) fit of all windows.

    Gains come first and from a more careful fit, then the others with the gains held: a gain scales all the rest, and
    what the model lacks, such as friction that grows with the load, looks just like one.
    """
    seen = np.ones(system.windows, dtype=bool)
    first = _fit(system, seen, np.zeros(system.size), _FITS)
    gains = system.gains
    if not gains.any():
        return first
    careful = first
    # Neither independent nor centred errors: each may be as large as the largest, and neighbours share theirs.
    error = excess(system, first).max(axis=0) * np.sqrt(correlation_time(_damp_uncertain(system, first)))
    for _ in range(_FITS):
        careful = system.fit(1.0 / np.hypot(np.maximum(error, _SMALLEST), _radius_sigma(system, careful)), careful)
    start = np.where(gains, careful, first)
    return _fit(system, seen, start, _FITS, gains)


def _damp_uncertain(system: CalibrationSystem, xi: Array) -> Array:
    """(windows, n) residuals, scaled down where their own radius may explain them [N m]."""
    residual = system.residual(xi)
    spread = np.maximum(np.median(np.abs(residual), axis=0), _SMALLEST)
    return np.asarray(residual / np.hypot(1.0, _radius_sigma(system, xi) / spread))


def partial_fits(
    system: CalibrationSystem, xi: Array, runs: Sequence[Indices], progress: Callable[[int, int], None]
) -> list[tuple[Mask, Array]]:
    """Fits of a part of the windows each, every one with the windows (windows,) that it has not seen.

    Args:
        system: all rows.
        xi: (d,) fit of all windows; its gains are kept.
        runs: windows of each run.
        progress: called with (done, total).
    """
    fits = []
    parts = [part for run in runs for part in np.array_split(run, FOLDS)]
    for fold in range(FOLDS):
        progress(fold, FOLDS)
        unseen = np.zeros(system.windows, dtype=bool)
        unseen[np.concatenate(parts[fold::FOLDS])] = True
        fits.append((unseen, _fit(system, np.logical_not(unseen), xi, _FOLD_FITS, system.gains)))
    progress(FOLDS, FOLDS)
    return fits


def held_out_excess(system: CalibrationSystem, xi: Array, fits: Sequence[tuple[Mask, Array]], blocks: Indices) -> Array:
    """(B, n) largest of `excess` over each of the blocks (B, length) of windows, at xi and at fits that saw none of it.

    A fit of few windows leaves little over of those it has seen, however wrong it is.
    """
    sums = system.sum_up(blocks)
    worst = excess(sums, xi)
    for unseen, other in fits:
        own = unseen[blocks].all(axis=1)
        worst[own] = np.maximum(worst, excess(sums, other))[own]
    return worst


def excess(system: CalibrationSystem, xi: Array) -> Array:
    """(windows, n) residual beyond the row's own radius [N m]."""
    return np.maximum(np.abs(system.residual(xi)) - system.allowed_residual(xi), 0.0)


def _fit(system: CalibrationSystem, seen: Mask, start: Array, steps: int, held: Mask | None = None) -> Array:
    """(d,) fit of the windows seen (windows,), from start (d,).

    A residual has two parts: what the row's own radius explains, anything up to it, and the rest, whose spread is
    estimated along with the parameters. Weights and linearisation follow the last step.
    """
    xi, spread = start, np.ones(system.joints)
    for _ in range(steps):
        xi = system.fit(seen[:, None] / np.hypot(spread, _radius_sigma(system, xi)), xi, held)
        trust = seen[:, None] / (1.0 + (_radius_sigma(system, xi) / spread) ** 2)
        spread = np.sqrt((trust * system.residual(xi) ** 2).sum(axis=0) / np.maximum(trust.sum(axis=0), 1e-9))
        spread = np.maximum(spread, _SMALLEST)
    return xi


def _radius_sigma(system: CalibrationSystem, xi: Array) -> Array:
    """(windows, n) standard deviation of a number anywhere within a row's radius [N m]."""
    return np.asarray(system.allowed_residual(xi) / np.sqrt(3.0))
