# SPDX-License-Identifier: Apache-2.0
"""The words and tables of bayesian_coverage.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.records import Record
from benchmarks.report import Asked, Report

LEVELS = (0.5, 0.9, 0.95)
QUANTILE = (0.6745, 1.6449)
"""Sigmas about the mean in which a half and nine tenths are; the 95 % are the interval that is told."""
GROUPS = ("inertia", "friction", "drive", "power")
KNOWN, MISSTATED, POWER = "noise known", "noise stated 30 times too large", "power"
_POINTS, _MORE = 0.05, 0.08
"""By how much shares may be off, as was asked; the latter with outliers or a gain that is off."""
_TIMES, _THIRD, _TENTH = 1.3, 1.0 / 3.0, 0.1
"""Asked for: friction's error over that with the noise known; errors over the prior's with a power meter alone."""


def shares(rows: Sequence[tuple[str, float, bool]]) -> list[float]:
    """Of parameters (group, error in sigmas, whether the 95 % interval holds), how many each level's interval holds."""
    sigmas = np.abs([row[1] for row in rows])
    return [*(float(np.mean(sigmas < width)) for width in QUANTILE), float(np.mean([row[2] for row in rows]))]


def verdict(case: str, trials: Sequence[Record], *, usual: bool) -> list[Asked]:
    """Whether a case's intervals hold the truth as often as was asked; less of it with outliers or a wrong gain."""
    rows = [row for trial in trials for row in trial.get("rows", [])]
    if not rows:
        return []
    most = _POINTS if usual else _MORE
    off = max(abs(share - level) for share, level in zip(shares(rows), LEVELS, strict=True))
    what = f"{case}: intervals of 50, 90, 95 % within {100.0 * most:.0f} points"
    return [(what, f"off by {100.0 * off:.1f} at most, of {len(rows)}", off <= most)]


def verdicts(accuracy: dict[str, tuple[float, ...]]) -> list[Asked]:
    """Judges errors (friction, rigid-body torque; the prior's first), by case."""
    asked: list[Asked] = []
    if KNOWN in accuracy and MISSTATED in accuracy:
        ratio = accuracy[MISSTATED][1] / accuracy[KNOWN][1]
        asked.append((f"{MISSTATED}: friction's error at most {_TIMES} times", f"{ratio:.2f} times", ratio <= _TIMES))
    if POWER in accuracy:
        before, after, torque, left = accuracy[POWER]
        for what, found, most in (("friction's", after / before, _THIRD), ("inertial", left / torque, _TENTH)):
            asked.append((f"a power meter alone: {what} error to {most:.2g}", f"to {found:.2f}", found <= most))
    return asked


def summarise(report: Report, case: str, trials: Sequence[Record]) -> list[tuple[object, ...]]:
    """Rows of the table of a case; says what is to be said of its searches."""
    statuses = [trial["status"] for trial in trials]
    trials = [trial for trial in trials if "rows" in trial]
    found = [row for trial in trials for row in trial["rows"]]
    rows: list[tuple[object, ...]] = []
    for group in (*GROUPS, "all"):
        mine = [row for row in found if group in ("all", row[0])]
        if mine:
            rows.append((case, group, len(mine), *(f"{100.0 * share:.1f} %" for share in shares(mine))))
    told = ", ".join(f"{statuses.count(name)} {name}" for name in sorted(set(statuses)))
    if not trials:
        report.text(f"{case}: {len(statuses)} legs, {told}.")
        return rows
    report.text(
        f"{case}: {len(statuses)} legs, largest gap of a loop {max(trial['gap'] for trial in trials):.1e} m, of the "
        f"truth's {max(trial['truth gap'] for trial in trials):.0e} m; iterations of the last descent "
        f"{np.median([trial['iterations'] for trial in trials]):.0f} (median), "
        f"{max(trial['iterations'] for trial in trials)} at most; {told}."
    )
    return rows
