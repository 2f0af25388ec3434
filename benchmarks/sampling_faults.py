# SPDX-License-Identifier: Apache-2.0
"""Bad input and faults: identification by rollouts and its planner say nothing wrong, or nothing at all.

The Go2 with 4.7 kg at the rear of `sampling_truth`, and one fault in each log: a push that topples it (`fall`), streams
that are not a number, stand still or are off for a part of the log, a description whose mass is 5 kg too much
(`prior`), too little motion (`short`). `weak` is a plan for a robot whose motors are so weak that it falls, and all
those drawn from its estimate with it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from benchmarks.sampling_log import START, simulated_session, true_values
from benchmarks.sampling_truth import TARGETS, heavier
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import LogError
from sysid_nodes.results.exploration import Posterior
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.legged.faults import Fault
from sysid_nodes.systems.sampling import SamplingConfig, identify
from sysid_nodes.systems.sampling.exploration.config import ExplorationConfig
from sysid_nodes.systems.sampling.exploration.planner import ExplorationPlanner
from sysid_nodes.systems.sampling.unknowns import Unknowns


@dataclass(frozen=True)
class Case:
    """A fault.

    Attributes:
        duration: of the log [s].
        options: of the simulation.
        faults: of its streams: name, kind, begin and end since the log's begin [s].
        surplus: mass that the description has too much [kg].
    """

    duration: float = 10.0
    options: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[tuple[str, str, float, float], ...] = ()
    surplus: float = 0.0


CASES = {
    "prior": Case(options={"load.mass": 0.0}, surplus=5.0),
    "fall": Case(options={"push.start": 7.0, "push.duration": 0.2, "push.force": (0.0, 600.0, 0.0)}),
    "not a number": Case(faults=(("joints", "nan", 3.0, 3.5), ("imu", "nan", 5.0, 5.5), ("mocap", "nan", 7.0, 8.0))),
    "motion capture lost": Case(faults=(("mocap", "stuck", 4.0, 6.0),)),
    "motion capture silent": Case(faults=(("mocap", "off", 6.0, 10.0),)),
    "short": Case(duration=0.45),
}
_WEAK = "weak"
_DRAWS = 8


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("sampling_faults", __doc__)
    options.add_argument("--seeds", type=int, default=1, help="logs a case")
    options.add_argument("--cases", nargs="+", choices=(*CASES, _WEAK), default=[*CASES, _WEAK], help="which")
    add_options(options)
    chosen = options.parse_args(arguments)
    seeds = range(chosen.seed, chosen.seed + chosen.seeds)
    keys = [{"case": case, "seed": seed} for case in chosen.cases for seed in seeds]
    found = collect(chosen, keys, trial, "faults")
    report = Report("sampling-faults", "Identification by rollouts: bad input and faults", chosen.out, chosen.command)
    report.text(__doc__.split("\n\n")[1])
    header = ("fault", "seed", "status", "95 % hold it", "worst error over its sigma", "mass off", "what it says")
    report.table(header, [_row(key, record) for key, record in zip(keys, found, strict=True)])
    print(report.write())
    return 0


def trial(*, case: str, seed: int) -> Record:
    """One log or plan and what is said of it."""
    if case == _WEAK:
        return _weak_plan(seed)
    own = CASES[case]
    faults = [Fault(stream, kind, START + begin, START + end) for stream, kind, begin, end in own.faults]
    session, sim = simulated_session(own.duration, seed, faults=faults, **own.options)
    try:
        robot = heavier(session.robot, own.surplus)
        result = identify(session.log(), robot, replace(session.config.sampling, seed=seed))
    except LogError as error:
        return {"status": "refused", "says": str(error)}
    truth = true_values(sim)
    rows = [row for row in result.parameters if row.name in TARGETS]
    stated = [(row.name, row.lower, row.upper) for row in rows if row.lower is not None and row.upper is not None]
    values = dict(zip([row.name for row in result.parameters], result.levels[-1].estimates.tolist(), strict=True))
    return {
        "status": result.status.value,
        "held": [bool(lower <= truth[name] <= upper) for name, lower, upper in stated],
        "off": [abs(values[row.name] - truth[row.name]) / row.sigma for row in rows if row.sigma],
        "mass": values["mass"] / truth["mass"] - 1.0,
        "says": "; ".join(result.findings),
    }


def _weak_plan(seed: int) -> Record:
    """A plan for a loaded robot whose motors give 10 N m."""
    robot, sampling = load_robot("go2"), SamplingConfig()
    flat = {"duration": 4.0, "vetting.draws": _DRAWS, "vetting.attempts": 2, "search.iterations": 1, "seed": seed}
    plan = ExplorationPlanner(robot, sampling, from_flat(ExplorationConfig, flat), weak(robot, sampling)).plan()
    return {"status": "unfit" if plan.vetting.faults else "fit", "says": "; ".join(plan.vetting.faults)}


def weak(robot: Robot, sampling: SamplingConfig) -> Posterior:
    """An estimate of a robot with 4.7 kg more and motors of 10 N m."""
    unknowns = Unknowns(robot, sampling)
    values, sigma = unknowns.column("guess"), np.full(len(unknowns), 1e-3)
    values[unknowns.index["alpha:0"]] = 0.5 * np.log(robot.inertial_parameters()[unknowns.bodies[0], 0] + 4.7)
    for name, k in unknowns.index.items():
        if name.startswith("saturation"):
            values[k] = (unknowns.strength_guess / 10.0) ** 2
    prior = unknowns.column("sigma") ** -2.0
    covariance, information = np.diag(sigma**2), np.diag(sigma**-2.0) + np.diag(prior)
    return Posterior(tuple(unknowns.index), values, covariance, information, prior, 32, 10.0)


def _row(key: Record, record: Record) -> tuple[str, ...]:
    def own(name: str, told: Callable[[Any], str]) -> str:
        return told(record[name]) if name in record else "-"

    return (
        key["case"],
        str(key["seed"]),
        record["status"],
        own("held", lambda held: f"{sum(held)} of {len(held)}"),
        own("off", lambda off: f"{max(off):.1f}" if off else "-"),
        own("mass", lambda mass: f"{100.0 * mass:+.2f} %"),
        record["says"] or "-",
    )


if __name__ == "__main__":
    sys.exit(main())
