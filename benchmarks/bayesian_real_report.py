# SPDX-License-Identifier: Apache-2.0
"""The words and tables of bayesian_real.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.report import Asked, Report
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]

_AS_GOOD = 1.05
"""Times another's root mean square that still counts as good: two fits of one run differ by that."""


def tell(report: Report, result: BayesianResult) -> None:
    """How an identification ended."""
    report.text(f"{result.status.name}, {result.stages} stages. " + " ".join(f"{text}." for text in result.findings))


def compare(report: Report, robot: Robot, found: dict[str, dict[str, Array]]) -> None:
    """A table of root mean squares by joint, of errors (K, n) by run and method."""
    rows = []
    for run, errors in found.items():
        for name, error in errors.items():
            rows.append((f"{run}, {name}", *(f"{value:.2f}" for value in np.sqrt(np.mean(error**2, axis=0)))))
    report.table(("", *robot.joint_names), rows)


def believed(what: str, results: Sequence[BayesianResult]) -> Asked:
    """Whether all identifications may be believed."""
    trusted = sum(result.status.trusted for result in results)
    return f"{what}: claimed", f"{trusted} of {len(results)}", trusted == len(results)


def no_worse(what: str, found: Sequence[tuple[dict[str, Array], str, Sequence[str]]]) -> Asked:
    """Whether ours is as good as the better of others on every joint.

    Args:
        what: is predicted.
        found: errors (K, n) of each run by method, ours, and the others.
    """
    ratios = []
    for errors, ours, others in found:
        size = {name: np.sqrt(np.mean(error**2, axis=0)) for name, error in errors.items()}
        ratios.append(size[ours] / np.min([size[other] for other in others], axis=0))
    every = np.concatenate(ratios)
    worse = int(np.sum(every > _AS_GOOD))
    words = f"{every.min():.2f} to {every.max():.2f} of its error; more than {_AS_GOOD} in {worse} of {len(every)}"
    return f"{what}, as good as least squares on every joint", words, not worse


def sides(behind: Sequence[tuple[float, float]], before: Sequence[tuple[float, float]]) -> Asked:
    """Whether rotors' intervals tell sensors behind the gears from those before them at every joint."""
    apart = sum(upper < lower for (_, upper), (lower, _) in zip(behind, before, strict=True))
    return "Gen3, the side of the gears told at every joint", f"{apart} of {len(behind)}", apart == len(behind)
