# SPDX-License-Identifier: Apache-2.0
"""Errors of the next identification after exploration plans: planned motion against motion by chance.

A Go2 with 4.7 kg at the rear makes a first motion of eight seconds and is identified. Then it follows a plan made for
that estimate and is identified again from both motions together. Plans are of the same length and vetted alike:
`errors` minimises the sum of the squared errors to be expected, those of the simulations included and each in units of
the precision asked of it; `noise` what noise alone leaves of that, the paper's tr(F^-1); `D` the volume that the former
span; `T` maximises the trace of the information, as the paper's public release does; `chance` is by chance. A sum is
mostly of the parameter that is known worst, here a strength; a volume counts all alike, as the geometric mean does. The
truth is hidden in another simulation; its noise is the same in all cases up to the second motion. Errors are those of
the last fit, whatever the verdict on them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.exploration_realised_report import NAMES, tell
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from benchmarks.sampling_log import hear, simulated_session, true_values
from sysid_nodes.data.config import from_flat
from sysid_nodes.results.exploration import ExplorationPlan, Posterior
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.sessions.sampling.session import SamplingSession
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner

Array = npt.NDArray[np.float64]

PLANS: Mapping[str, Mapping[str, Any]] = {
    "errors": {},
    "noise": {"model_errors": False},
    "D": {"criterion": "D"},
    "T": {"criterion": "T"},
    "chance": {},
}
_FIRST, _AFTER = 10.0, 1.5  # until the first motion is over, and standing after the second one [s]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("exploration_realised", __doc__)
    options.add_argument("--seeds", type=int, default=10, help="robots")
    options.add_argument("--duration", type=float, default=8.0, help="of each plan [s]")
    options.add_argument("--draws", type=int, default=24, help="robots that vet every plan")
    options.add_argument("--iterations", type=int, default=5, help="of the search for each segment")
    options.add_argument("--plans", nargs="+", choices=PLANS, default=list(PLANS), help="which plans")
    add_options(options)
    chosen = options.parse_args(arguments)
    settings = {"duration": chosen.duration, "draws": chosen.draws, "iterations": chosen.iterations}
    seeds = range(chosen.seed, chosen.seed + chosen.seeds)
    first = _Firsts()
    keys = [{"seed": seed, "plan": plan, **settings} for seed in seeds for plan in chosen.plans]
    records = collect(chosen, keys, first.trial, "robots and plans", together="seed")
    report = Report(
        "exploration-realised", "Errors after exploration, planned and by chance", chosen.out, chosen.command
    )
    report.text(__doc__.split("\n\n")[1])
    named = {name: records[k :: len(chosen.plans)] for k, name in enumerate(chosen.plans)}
    kept = [k for k in range(chosen.seeds) if not any("failed" in rows[k] for rows in named.values())]
    if kept:
        truth = true_values(simulated_session(0.01, chosen.seed, motion="commanded")[1])
        tell(report, {name: [rows[k] for k in kept] for name, rows in named.items()}, truth)
    failed = [
        f"seed {key['seed']}: {row['failed']}." for key, row in zip(keys, records, strict=True) if "failed" in row
    ]
    report.text(" ".join([f"{len(kept)} of {chosen.seeds} robots.", *failed]))
    print(report.write())
    return 0


class _Firsts:
    """First motions, each identified once for all of its plans."""

    def __init__(self) -> None:
        self._known: tuple[int, SamplingSession, SamplingResult] | None = None

    def trial(self, *, seed: int, plan: str, duration: float, draws: int, iterations: int) -> Record:
        """Errors of a robot before and after a plan and what the plan promised, or why it has none."""
        if self._known is None or self._known[0] != seed:
            session, sim = simulated_session(_FIRST, seed, motion="commanded")
            if sim.fallen:
                return {"failed": "the robot falls in its first motion"}
            self._known = seed, session, session.identify()
        _, session, first = self._known
        if first.posterior is None:
            return {"failed": "nothing is known after the first motion"}
        flat = {"duration": duration, "vetting.draws": draws, "search.iterations": iterations, "seed": seed}
        config = from_flat(ExplorationConfig, {**flat, **PLANS[plan]})
        made = _planned(session, config, first.posterior, chance=plan == "chance")
        if made.vetting.faults:
            return {"failed": f"{plan}: {'; '.join(made.vetting.faults)}"}
        again, sim = simulated_session(_FIRST, seed, motion="commanded")
        assert sim.commanded is not None  # the motion says so
        sim.commanded.follow(CommandCurves.of(made), _FIRST)
        hear(again, sim, made.duration + _AFTER)
        if sim.fallen:
            return {"failed": f"{plan}: the robot falls"}
        result, truth = again.identify(), true_values(sim)
        return {
            "first": errors(first, truth).tolist(),
            "now": _of({spread.name: spread.before for spread in made.spreads}),
            "errors": errors(result, truth).tolist(),
            "promised": _of({spread.name: spread.after for spread in made.spreads}),
            "claimed": _of(dict(zip([p.name for p in result.parameters], result.levels[-1].sigmas, strict=True))),
            "gaits": list(made.gaits),
        }


def _planned(
    session: SamplingSession, config: ExplorationConfig, posterior: Posterior, *, chance: bool
) -> ExplorationPlan:
    planner = ExplorationPlanner(session.robot, session.config.sampling, config, posterior)
    if not chance:
        return planner.plan()
    return planner.random(config.seed)


def _of(values: Mapping[str, float]) -> list[float]:
    return [float(values[name]) for name in NAMES]


def errors(result: SamplingResult, truth: Mapping[str, float]) -> Array:
    """(Q,) of the last fit."""
    values = dict(zip([row.name for row in result.parameters], result.levels[-1].estimates, strict=True))
    return np.array([values[name] - truth[name] for name in NAMES])


if __name__ == "__main__":
    sys.exit(main())
