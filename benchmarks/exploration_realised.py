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

from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from benchmarks.sampling_log import hear, simulated_session, true_values
from sysid_nodes.data.config import from_flat
from sysid_nodes.results.exploration import ExplorationPlan, Posterior
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.sessions.sampling.session import SamplingSession
from sysid_nodes.systems.sampling import SamplingConfig
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
    "Ixy",
    "Ixz",
    "Iyz",
    "strength.hip",
    "strength.thigh",
    "strength.calf",
)
PLANS: Mapping[str, Mapping[str, Any]] = {
    "errors": {},
    "noise": {"model_errors": False},
    "D": {"criterion": "D"},
    "T": {"criterion": "T"},
    "chance": {},
}
_NEAR = 1.5  # factor within which promised standard deviations are to be found again
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
        _tell(report, {name: [rows[k] for k in kept] for name, rows in named.items()}, truth)
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


def in_units(found: Array, truth: Mapping[str, float]) -> Array:
    """Errors (..., Q) in units of the precision that `sampling.verdict` asks of each parameter.

    Strengths by what they take away from torques, as plans are made: the square of the guess over the strength.
    Products of inertia by half the trace, the most that one can be.
    """
    config = SamplingConfig()
    verdict, guess = config.verdict, config.unknowns.strength_guess
    own, half = np.array([truth[name] for name in NAMES]), 0.5 * (truth["Ixx"] + truth["Iyy"] + truth["Izz"])

    def wanted(name: str) -> float:
        if name.startswith("centre"):
            return verdict.distance
        if name.startswith("I"):
            return verdict.inertia * (truth[name] if name[1] == name[2] else half)
        return verdict.relative * truth[name]

    asked = np.array([wanted(name) for name in NAMES])
    curved = np.array([name.startswith("strength") for name in NAMES])
    taken = (guess / np.maximum(own + found, 1e-3)) ** 2 - (guess / own) ** 2
    return np.asarray(np.where(curved, taken / (2.0 * verdict.relative), found / asked))


def _tell(report: Report, found: Mapping[str, Sequence[Record]], truth: Mapping[str, float]) -> None:
    column = {
        what: {name: np.array([row[what] for row in rows]) for name, rows in found.items()}
        for what in ("errors", "promised", "claimed")
    }
    first = np.array([row["first"] for row in next(iter(found.values()))])
    report.section("Root mean square of the errors")
    after = {name: _root(values) for name, values in column["errors"].items()}
    report.table(
        ("parameter", "first motion alone", *(f"and `{name}`" for name in found)),
        [
            (name, f"{_root(first)[k]:.3g}", *(f"{values[k]:.3g}" for values in after.values()))
            for k, name in enumerate(NAMES)
        ],
    )
    if "chance" in after:
        report.section("Squared errors, relative to those after chance")
        units = {name: _root(in_units(values, truth)) for name, values in column["errors"].items()}
        sums = {name: float((values**2).sum()) for name, values in units.items()}
        middle, hoped = (
            {name: float(np.median((in_units(v, truth) ** 2).sum(axis=1))) for name, v in column[what].items()}
            for what in ("errors", "promised")
        )
        ratios = {name: (values / units["chance"]) ** 2 for name, values in units.items() if name != "chance"}
        report.table(
            ("parameter", *(f"`{name}`" for name in ratios)),
            [(name, *(f"{ratio[k]:.2f}" for ratio in ratios.values())) for k, name in enumerate(NAMES)]
            + [("geometric mean", *(f"{np.exp(np.mean(np.log(ratio))):.2f}" for ratio in ratios.values()))]
            + [("sum, in units of the precision asked", *(f"{sums[name] / sums['chance']:.2f}" for name in ratios))]
            + [("the same, of the median robot", *(f"{middle[name] / middle['chance']:.2f}" for name in ratios))]
            + [("the same, as promised", *(f"{hoped[name] / hoped['chance']:.2f}" for name in ratios))],
        )
        report.text(
            "Asked for is 0.5. What is promised has no luck of single errors in it: of ten robots with right promises and "
            "one plan by chance each, nine tenths of the median robot's ratios lie within about four times either way."
        )
    report.section("Realised errors over promised standard deviations, root mean square")
    off = {name: _root(column["errors"][name] / column["promised"][name]) for name in found}
    claims = {name: _root(column["errors"][name] / _known(column["claimed"][name])) for name in found}
    report.table(
        ("parameter", *(f"`{name}`" for name in found)),
        [(name, *(f"{values[k]:.2f}" for values in off.values())) for k, name in enumerate(NAMES)]
        + [("median", *(f"{np.median(values):.2f}" for values in off.values()))]
        + [("all", *(f"{np.sqrt(np.mean(values**2)):.2f}" for values in off.values()))],
    )
    ratios = {name: _known(column["claimed"][name]) / column["promised"][name] for name in found}
    near = ", ".join(
        f"`{name}` {(np.abs(np.log(ratio)) <= np.log(_NEAR)).sum()} of {np.isfinite(ratio).sum()}, the largest "
        f"{np.nanmax(ratio):.2f}, the smallest {np.nanmin(ratio):.2f}"
        for name, ratio in ratios.items()
    )
    told = ", ".join(f"`{name}` {np.median(values[np.isfinite(values)]):.2f}" for name, values in claims.items())
    report.text(
        "Asked for is between 0.67 and 1.5. Over the standard deviations that the identification states afterwards, "
        f"median of the parameters: {told}. These over what was promised, within a factor of {_NEAR:g}: {near}."
    )
    _tell_intervals(report, found)
    report.text("Gaits: " + "; ".join(f"`{n}` {_gaits(rows)}" for n, rows in found.items()) + ".")


def _tell_intervals(report: Report, found: Mapping[str, Sequence[Record]]) -> None:
    """How often errors are within 1.96 of the standard deviations that each fit states."""
    fits = {"first motion alone": ("first", "now", next(iter(found.values())))}
    fits |= {f"and `{name}`": ("errors", "claimed", rows) for name, rows in found.items()}
    off = {
        title: np.abs(np.array([row[error] for row in rows]) / _known([row[sigma] for row in rows]))
        for title, (error, sigma, rows) in fits.items()
    }
    report.section("Errors within 1.96 of the standard deviations stated")
    report.table(
        ("parameter", *off),
        [
            (name, *(f"{(each[:, k] <= 1.96).sum()} of {np.isfinite(each[:, k]).sum()}" for each in off.values()))
            for k, name in enumerate(NAMES)
        ]
        + [("root mean square of all", *(f"{np.sqrt(np.nanmean(each**2)):.2f}" for each in off.values()))],
    )
    report.text("Intervals that are stated are Student's, wider where clips are few. What a bound holds states none.")


def _known(sigmas: npt.ArrayLike) -> Array:
    """Standard deviations (R, Q); not a number where none is stated."""
    values = np.array(sigmas)
    return np.asarray(np.where(values > 0.0, values, np.nan))


def _root(values: Array) -> Array:
    """Root mean square over the first axis."""
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))


def _gaits(rows: Sequence[Record]) -> str:
    names = [name for row in rows for name in row["gaits"]]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))


if __name__ == "__main__":
    sys.exit(main())
