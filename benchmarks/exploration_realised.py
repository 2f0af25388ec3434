# SPDX-License-Identifier: Apache-2.0
"""What exploration plans do to the errors of the next identification: planned motion against motion by chance.

A Go2 with 4.7 kg at the rear makes a first motion of eight seconds and is identified. Then it follows either the plan
that tells most about that estimate, or one by chance of the same length that was vetted alike, and is identified again
from both motions together. The truth is hidden in another simulation; its noise is the same in both cases up to the
second motion. Errors are those of the last fit, whatever the verdict on them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, parser, progress
from benchmarks.sampling_log import hear, simulated_session, true_values
from sysid_nodes.data.config import from_flat
from sysid_nodes.results.exploration import ExplorationPlan
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner

Array = npt.NDArray[np.float64]

NAMES = (
    "mass",
    "centre_x",
    "centre_y",
    "centre_z",
    "Ixx",
    "Iyy",
    "Izz",
    "strength.hip",
    "strength.thigh",
    "strength.calf",
)
_FIRST, _AFTER = 10.0, 1.5  # until the first motion is over, and standing after the second one [s]


@dataclass(frozen=True)
class Trial:
    """One robot: errors (Q,) of the first identification and of those after either plan, and what the plan promised."""

    first: Array
    active: Array
    passive: Array
    promised: Array
    gaits: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("exploration_realised", __doc__)
    options.add_argument("--seeds", type=int, default=10, help="robots")
    options.add_argument("--duration", type=float, default=8.0, help="of each plan [s]")
    options.add_argument("--draws", type=int, default=24, help="robots that vet every plan")
    options.add_argument("--iterations", type=int, default=5, help="of the search for each segment")
    chosen = options.parse_args(arguments)
    config = from_flat(
        ExplorationConfig,
        {"duration": chosen.duration, "vetting.draws": chosen.draws, "search.iterations": chosen.iterations},
    )
    seeds, trials, failed = range(chosen.seed, chosen.seed + chosen.seeds), [], []
    for seed in progress(seeds, "robots"):
        found = trial(seed, config)
        if isinstance(found, str):
            failed.append(f"seed {seed}: {found}")
        else:
            trials.append(found)
    report = Report(
        "exploration-realised", "Errors after exploration, planned and by chance", chosen.out, chosen.command
    )
    report.text(__doc__.split("\n\n")[1])
    if trials:
        _tell(report, trials)
    report.text(f"{len(trials)} of {chosen.seeds} robots. " + " ".join(failed))
    print(report.write())
    return 0


def trial(seed: int, config: ExplorationConfig) -> Trial | str:
    """One robot, or why it has no figures."""
    session, sim = simulated_session(_FIRST, seed, motion="commanded")
    first = session.identify()
    if sim.fallen or first.posterior is None:
        return "no first motion"
    planner = ExplorationPlanner(session.robot, session.config.sampling, config, first.posterior)
    plans, found = {"active": planner.plan(), "passive": planner.random(seed)}, {}
    for name, plan in plans.items():
        if plan.vetting.faults:
            return f"{name}: {'; '.join(plan.vetting.faults)}"
        result = _after(seed, plan)
        if isinstance(result, str):
            return f"{name}: {result}"
        found[name] = result
    truth = true_values(sim)
    promised = {spread.name: spread.after for spread in plans["active"].spreads}
    return Trial(
        errors(first, truth),
        errors(found["active"], truth),
        errors(found["passive"], truth),
        np.array([promised[name] for name in NAMES]),
        plans["active"].gaits,
    )


def _after(seed: int, plan: ExplorationPlan) -> SamplingResult | str:
    session, sim = simulated_session(_FIRST, seed, motion="commanded")
    assert sim.commanded is not None  # the motion says so
    sim.commanded.follow(CommandCurves.of(plan), _FIRST)
    hear(session, sim, plan.duration + _AFTER)
    return "the robot falls" if sim.fallen else session.identify()


def errors(result: SamplingResult, truth: dict[str, float]) -> Array:
    """(Q,) of the last fit."""
    names = [row.name for row in result.parameters]
    values = result.levels[-1].estimates
    return np.array([values[names.index(name)] - truth[name] for name in NAMES])


def _tell(report: Report, trials: Sequence[Trial]) -> None:
    report.section("Root mean square of the errors")
    first, active, passive = (
        np.sqrt(np.mean([getattr(t, name) ** 2 for t in trials], axis=0)) for name in ("first", "active", "passive")
    )
    promised = np.median([t.promised for t in trials], axis=0)
    report.table(
        (
            "parameter",
            "first motion alone",
            "with chance",
            "with the plan",
            "squared, plan / chance",
            "promised sigma",
            "realised / promised",
        ),
        [
            (
                name,
                f"{first[k]:.3g}",
                f"{passive[k]:.3g}",
                f"{active[k]:.3g}",
                f"{(active[k] / passive[k]) ** 2:.2f}",
                f"{promised[k]:.2g}",
                f"{active[k] / promised[k]:.2f}",
            )
            for k, name in enumerate(NAMES)
        ],
    )
    squares = (active / passive) ** 2
    report.text(
        f"Geometric mean of the squared errors' ratios {np.exp(np.mean(np.log(squares))):.2f}; asked for is 0.5. "
        f"Median of realised / promised {np.median(active / promised):.2f}; asked for is within 1.5."
    )


if __name__ == "__main__":
    sys.exit(main())
