# SPDX-License-Identifier: Apache-2.0
"""Is the truth within the posterior's intervals as often as they say? A four-bar leg in MuJoCo, the noise estimated.

Each seed hides another leg: masses, centres, inertias, friction, losses. Only parameters that the log narrows to half
of the prior are counted; others are covered by the prior's width alone. Truth is MuJoCo's: its dry friction is a
constraint, and its loop is closed by its own solver.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from benchmarks.report import Report, parser, progress
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.systems.bayesian import identify

Array = npt.NDArray[np.float64]

LEVELS = (0.5, 0.9, 0.95)
QUANTILE = (0.6745, 1.6449, 1.96)
SPREAD = 0.3  # of the truths about the description: the prior's sigmas
GROUPS = ("inertia", "friction", "drive", "power")
CASES = {
    "torque and power": {"torque": True, "power": True},
    "torque": {"torque": True, "power": False},
    "power": {"torque": False, "power": True},
}


def trial(seed: int, case: str, duration: float) -> tuple[list[tuple[str, float, float, float]], BayesianResult]:
    """Group, error in sigmas, error and narrowing of every observed parameter, and the result."""
    truth, record = leg_run(seed, duration, SPREAD)
    result = identify(leg_log(record, **CASES[case]), leg(), CONFIG)
    values = truth.values()
    rows = []
    for told in result.parameters:
        if told.verdict == "observed":
            error = told.mean - values[told.name]
            rows.append((told.group, error / told.sigma, abs(error), told.narrowing))
    return rows, result


def main() -> int:
    """Writes the report."""
    options = parser("bayesian_coverage", __doc__)
    options.add_argument("--legs", type=int, default=50, help="hidden legs")
    options.add_argument("--duration", type=float, default=10.0, help="of each log [s]")
    options.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES), help="what is read")
    args = options.parse_args()
    report = Report("bayesian-coverage", "Coverage of posteriors of a four-bar leg", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    rows, notes = [], []
    for case in args.cases:
        trials = [trial(seed, case, args.duration) for seed in progress(range(args.seed, args.seed + args.legs), case)]
        found = [row for own, _ in trials for row in own]
        for group in (*GROUPS, "all"):
            errors = np.array([row[1] for row in found if group in ("all", row[0])])
            if len(errors):
                inside = [f"{100.0 * np.mean(np.abs(errors) < width):.1f} %" for width in QUANTILE]
                rows.append((case, group, len(errors), *inside))
        results = [result for _, result in trials]
        statuses = [result.status.name for result in results]
        notes.append(
            f"{case}: largest gap of a loop {max(result.loop_gap for result in results):.1e} m, "
            f"{int(np.median([result.iterations for result in results]))} iterations of the last descent (median), "
            + ", ".join(f"{statuses.count(name)} {name}" for name in sorted(set(statuses)))
        )
    report.table(("read", "parameters", "observed", *(f"{100 * level:.0f} %" for level in LEVELS)), rows)
    for note in notes:
        report.text(note + ".")
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
