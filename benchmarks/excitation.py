"""What does the planner's motion tell about the payload, against random certified motion and the paper's?

Five dumbbells (4 to 8 lb) for 7.5 s each: condition number of the momentum regressor (the paper's Table V) and the
widths that the interval identifier is left with. Random motion is certified as well, with the authors' half-ranges
(pi/48, and pi/20 for the last three joints) and with ours. Everything is planned with what was identified by then.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.certified_motion import Identified, Run, drawn, exciting, loop, make_planner, obstacles, true_arm
from benchmarks.motions import HALF_RANGE
from benchmarks.report import Report, parser, progress
from benchmarks.truth import Array
from sysid_nodes.data.bounds import PARAMETER_NAMES
from sysid_nodes.planners.excitation import momentum_condition
from sysid_nodes.planners.planner_config import ExciteConfig, PlannerConfig

POUNDS = (4.0, 5.0, 6.0, 7.0, 8.0)
PAPER = (274.0, 283.0, 251.0, 259.0, 234.0)
PAPER_RANDOM = (480.0, 418.0, 373.0, 312.0, 413.0)
OURS, NARROW, WIDE = "ours", "random, authors' ranges", "random, our ranges"
WINDOW, RATE = 400.0 / 3750.0, 3750.0
"""The authors' windows [s] and samples a second, for the condition number."""


@dataclass(frozen=True)
class Case:
    """One dumbbell with one kind of motion: (10,) half-widths, condition number, and how it went."""

    pounds: float
    motion: str
    half_width: Array
    condition: float
    contains: bool
    run: Run


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--rate", type=float, default=4000.0, help="samples per second [Hz]")
    options.add_argument("--pounds", type=float, nargs="+", default=list(POUNDS), help="dumbbells [lb]")
    options.add_argument("--seeds", type=int, default=1, help="robots and motions drawn for each dumbbell")
    options.add_argument("--objective", default="", help="of the planner; empty takes the default")
    chosen = options.parse_args(arguments)
    objective = chosen.objective or ExciteConfig().objective
    jobs = [
        (pounds, motion, chosen.seed + k)
        for pounds in chosen.pounds
        for motion in (OURS, NARROW, WIDE)
        for k in range(chosen.seeds)
    ]
    cases = [
        case
        for pounds, motion, seed in progress(jobs, "excitation")
        if (case := run_case(pounds, motion, seed, chosen.rate, objective)) is not None
    ]
    command = f"python -m benchmarks.excitation --seed {chosen.seed} --seeds {chosen.seeds} --rate {chosen.rate:g}"
    report = Report("excitation", "Excitation", chosen.out, command)
    summarise(report, cases, len(jobs), chosen.rate, objective)
    print(report.write())
    return 0 if all(case.contains for case in cases) else 1


def run_case(pounds: float, motion: str, seed: int, rate: float, objective: str) -> Case | None:
    """One loop; None where not all plans were certified."""
    rng = np.random.default_rng([seed, round(10.0 * pounds)])
    arm = true_arm(pounds, rng)
    planner = make_planner(PlannerConfig(excite=ExciteConfig(objective=objective)), seed)
    scene = obstacles()
    widest = HALF_RANGE if motion == NARROW else np.full(7, max(planner.config.k_range))
    choose = exciting(planner, scene) if motion == OURS else drawn(planner, scene, widest, rng)
    run = loop(planner, Identified(arm, rate, rng), choose)
    if not run.complete or run.identified is None:
        return None
    found = run.identified
    condition = momentum_condition(
        planner.chain, planner.body_index, run.plans, planner.config.replan, window=WINDOW, rate=RATE
    )
    contains = bool(((found.lower <= arm.theta) & (arm.theta <= found.upper)).all())
    return Case(pounds, motion, 0.5 * (found.upper - found.lower), condition, contains, run)


def widths(cases: Sequence[Case], motion: str) -> Array:
    """(10,) geometric mean of the half-widths."""
    return np.asarray(np.exp(np.mean([np.log(case.half_width) for case in cases if case.motion == motion], axis=0)))


def summarise(report: Report, cases: Sequence[Case], jobs: int, rate: float, objective: str) -> None:
    """Fills the report."""
    present = [motion for motion in (OURS, NARROW, WIDE) if any(case.motion == motion for case in cases)]
    if OURS not in present or len(present) < 2:
        report.text("Too few loops were certified to compare anything.")
        return
    mine = widths(cases, OURS)
    ratios = {motion: float(np.exp(np.log(mine / widths(cases, motion)).mean())) for motion in present[1:]}
    words = ", ".join(f"{ratio:.2f} of {motion}" for motion, ratio in ratios.items())
    report.text(f"**Half-widths after 7.5 s, geometric mean over the ten parameters: {words}.**")
    report.text(
        f"Objective `{objective}`, samples at {rate:g} Hz, windows of 0.1 s. {len(cases)} of {jobs} loops had all four "
        f"plans certified; the truth lay inside every interval in {sum(case.contains for case in cases)} of them."
    )
    report.section("Condition number of Y")
    rows = []
    for index, pounds in enumerate(POUNDS):
        found = [_condition(cases, motion, pounds) for motion in present]
        rows.append((f"{pounds:g} lb", *found, f"{PAPER[index]:g}", f"{PAPER_RANDOM[index]:g}"))
    report.table(("", *present, "paper", "paper, random"), rows)
    report.section("Half-widths")
    rows_ = []
    for index, name in enumerate(PARAMETER_NAMES):
        values = [widths(cases, motion)[index] for motion in present]
        rows_.append((name, *(f"{x:.4f}" for x in values), *(f"{values[0] / x:.2f}" for x in values[1:])))
    report.table(("", *present, *(f"ours / {motion}" for motion in present[1:])), rows_)


def _condition(cases: Sequence[Case], motion: str, pounds: float) -> str:
    found = [case.condition for case in cases if case.motion == motion and case.pounds == pounds]
    return f"{np.median(found):.0f}" if found else "-"


if __name__ == "__main__":
    sys.exit(main())
