# SPDX-License-Identifier: Apache-2.0
"""Cost of a planning step: proposal and certificate together, in CPU time of one core.

The authors' C++ needs about 5 s of CPU for its reachable sets alone (2.5 s of wall time on two threads), then 40 ms and
more an iteration; a step has 1.5 s. Steps are those of an identification, from the authors' start configuration,
with bounds that tighten as data come in.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np

from benchmarks.certified_motion import Identified, loop, make_planner, obstacles, retry_excitation, true_arm
from benchmarks.report import Report, parser, progress
from benchmarks.truth import Array
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.plan_result import PlanResult, PlanStatus

AUTHORS = 5.0
"""CPU of the authors' reachable sets [s]."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("planning_speed", __doc__)
    options.add_argument("--runs", type=int, default=10, help="identifications")
    chosen = options.parse_args(arguments)
    steps: list[list[PlanResult]] = []
    for seed in progress(range(chosen.seed, chosen.seed + chosen.runs), "planning_speed"):
        rng = np.random.default_rng(seed)
        planner = make_planner(PlannerConfig(), seed)
        arm = true_arm(rng.uniform(4.0, 8.0), rng)
        identified = Identified(arm, 1000.0, rng)
        choose = retry_excitation(planner, obstacles(), identified.allows)
        steps.append(loop(planner, identified, choose, planner.config.exciting).results)
    report = Report("planning_speed", "Planning speed", chosen.out, chosen.command)
    summarise(report, steps)
    print(report.write())
    return 0


def summarise(report: Report, steps: Sequence[Sequence[PlanResult]]) -> None:
    """Fills the report."""
    every = [step for run in steps for step in run]
    total = np.array([step.elapsed for step in every])
    report.text(
        f"**Proposal and certificate: {np.median(total):.2f} s of CPU (median of {len(every)} steps), "
        f"{total.max():.2f} s at most; the authors' reachable sets alone take {AUTHORS:g} s, "
        f"{AUTHORS / np.median(total):.0f} times as much.**"
    )
    certified = sum(step.status is PlanStatus.CERTIFIED for step in every)
    first = sum(not step.refusals for step in every)
    refusals: Counter[str] = Counter()
    for step in every:
        refusals.update({verdict.name: count for verdict, count in step.refusals.items()})
    words = ", ".join(f"{name} {count}" for name, count in sorted(refusals.items())) or "none"
    report.text(
        f"{certified} of {len(every)} steps ended with a certified trajectory, {first} with their first certificate. "
        f"Refusals: {words}. Milliseconds of CPU; quartiles in brackets."
    )
    rows = [("all", every)] + [
        (f"plan {index + 1}", [run[index] for run in steps if len(run) > index])
        for index in range(max(map(len, steps), default=0))
    ]
    report.table(
        ("", "steps", "whole step", "search", "certificates", "certificates made"),
        [
            (
                name,
                len(chosen),
                _spread(np.array([step.elapsed for step in chosen])),
                _spread(np.array([step.elapsed - step.certifying for step in chosen])),
                _spread(np.array([step.certifying for step in chosen])),
                f"{np.mean([step.certificates for step in chosen]):.2f}",
            )
            for name, chosen in rows
            if chosen
        ],
    )


def _spread(seconds: Array) -> str:
    low, middle, high = 1e3 * np.quantile(seconds, (0.25, 0.5, 0.75))
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


if __name__ == "__main__":
    sys.exit(main())
