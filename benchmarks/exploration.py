# SPDX-License-Identifier: Apache-2.0
"""Exploration plans against chance: what is left of tr(F^-1), for the same seconds and under the same vetting.

A Go2 with 4.7 kg at the rear sways, trots and hops for ten seconds; for the estimate from that plans are made that
minimise A, the trace of a covariance, each parameter in units of the precision asked of it: of the `errors` to be
expected, those of the simulations included, and of what `noise` alone leaves, the paper's tr(F^-1). `T` maximises the
trace of the information (what the paper's public release does), and random ones have uniform control points and gaits.
All are followed by the same robots drawn from the estimate; a segment under which one of them comes to harm is
replaced.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.report import Report, parser, progress
from benchmarks.sampling_log import simulated_session
from sysid_nodes.data.config import from_flat
from sysid_nodes.results.exploration import ExplorationPlan
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves
from sysid_nodes.systems.sampling.exploration.information import WalkInformation
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("exploration", __doc__)
    options.add_argument("--plans", type=int, default=20, help="random plans")
    options.add_argument("--duration", type=float, default=12.0, help="of each plan [s]")
    options.add_argument("--draws", type=int, default=24, help="robots that vet every plan")
    chosen = options.parse_args(arguments)
    session, _ = simulated_session(10.0, chosen.seed)
    posterior = session.identify().posterior
    assert posterior is not None  # only the paper's method has none
    base = from_flat(
        ExplorationConfig, {"duration": chosen.duration, "vetting.draws": chosen.draws, "seed": chosen.seed}
    )
    make = partial(ExplorationPlanner, session.robot, session.config.sampling)
    planner = make(base, posterior)
    before = sum(os.times()[:2])
    plans = {"errors": planner.plan()}
    took = sum(os.times()[:2]) - before
    noise = make(replace(base, model_errors=False), posterior)
    plans["noise"] = noise.plan()
    plans["T"] = make(replace(base, criterion="T"), posterior).plan()
    plans |= {f"chance {k}": planner.random(k) for k in progress(range(chosen.plans), "random plans")}
    costs = {name: _costs(planner, noise, plan) for name, plan in plans.items() if not plan.vetting.faults}
    report = Report("exploration", "Exploration plans against chance", chosen.out, chosen.command)
    report.text(__doc__.split("\n\n")[1])
    report.section("Criterion A after the plan")
    rows = [(f"plan by {name}", costs[name]) for name in ("errors", "noise", "T") if name in costs]
    chance = np.array([costs[name] for name in costs if name.startswith("chance")])
    rows += [("chance, best", chance.min(axis=0)), ("chance, median", np.median(chance, axis=0))]
    middle = np.median(chance, axis=0)
    header = ("errors to be expected", "noise alone", "noise alone, without the first log")
    report.table(
        ("plan", *(word for title in header for word in (title, "of the median of chance"))),
        [(name, *(word for k in range(3) for word in (f"{c[k]:.3g}", f"{c[k] / middle[k]:.3f}"))) for name, c in rows],
    )
    first = planner.forecast.known
    report.text(
        f"The first log alone leaves {planner.forecast.cost(first):.3g}, of noise {noise.forecast.cost(first):.3g}. "
        f"{len(plans) - len(costs)} of {len(plans)} plans are unfit."
    )
    report.section("Plans")
    kept = [name for name in plans if not name.startswith("chance")] + ["chance 0"]
    report.table(
        ("plan", "gaits", "scale", "furthest [m]", "fallen"),
        [(f"by {name}", ", ".join(p.gaits), f"{p.scale:.2f}", f"{p.vetting.reach:.2f}", p.vetting.fallen)
         for name, p in ((name, plans[name]) for name in kept)],
    )  # fmt: skip
    report.text(
        f"The plan by `errors` took {took:.0f} s of CPU for {chosen.duration:g} s of motion and {chosen.draws} draws."
    )
    print(report.write())
    return 0


def _costs(planner: ExplorationPlanner, noise: ExplorationPlanner, plan: ExplorationPlan) -> tuple[float, ...]:
    """Criterion A of the errors to be expected, of noise alone, and of that without what the first log tells."""
    _, told = planner.simulate_plan(CommandCurves.of(plan))
    alone = told.information - planner.forecast.known.information + np.diag(planner.posterior.prior)
    own = noise.forecast
    return planner.forecast.cost(told), own.cost(told), own.cost(WalkInformation.without_pull(alone))


if __name__ == "__main__":
    sys.exit(main())
