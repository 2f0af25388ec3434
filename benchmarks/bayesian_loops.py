# SPDX-License-Identifier: Apache-2.0
"""Are loops closed, and how soon is the minimum found? A four-bar leg and Cassie's leg in MuJoCo, hidden constants.

One descent from the prior's mean with the readings' noise as it is, motors alone read. Counted are iterations until
the cost is within a hundredth of its end, and until the rule that ends a descent: a step gains less than a millionth,
or 60; those of the softer problem that leads the way are counted in. The violation of an equality [m] is the largest at
any stage of any iterate from which the descent went on, so it holds wherever it is stopped. The truth's own gap is
MuJoCo's. Errors are medians.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.bayesian_coverage import CASES
from benchmarks.bayesian_log import leg, leg_log, leg_run, true_constants, true_motion
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_trial import errors
from benchmarks.bayesian_world import RATE, Truth, bench_log, readings, simulate
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Asked, Report, parser
from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.bayesian.config import BayesianConfig, NoiseConfig
from sysid_nodes.systems.bayesian.descent import descend, start_point, stated_noise
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, build_mechanism
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns

LEGS = ("four-bar", "Cassie")
_NOISE = 3e-4  # [rad] of Cassie's positions at 500 Hz, ten times that of the torques' root mean square
_SPREAD = 0.3
_MOST = 60
_NEAR = 1.01
_CLOSED, _ENOUGH = 1e-10, 15  # what was asked: the largest violation [m], iterations


@dataclass(frozen=True)
class _Watched(MechanismProblem):
    """A problem that remembers how far from its equalities it was linearised, softer forms of it included."""

    violations: list[float] = field(default_factory=list)

    def linearise(self, point: Estimate) -> list[Blocks]:
        """As the problem does."""
        self.violations.append(float(np.abs(self.mechanism.closures.value(point.q)).max()))
        return super().linearise(point)


def trial(name: str, seed: int, duration: float) -> Record:
    """Iterations, violation and accuracy of one descent."""
    mechanism, log, config, gap, truth = (_fourbar if name == "four-bar" else _cassie)(seed, duration)
    start = start_point(mechanism, log, mechanism.parameters.mean)
    problem = _Watched(mechanism, log, stated_noise(mechanism, config), turns(mechanism, log, start))
    config = replace(config, search=replace(config.search, iterations=_MOST))
    told: list[Iteration] = []
    found = descend(problem, start, config, progress=told.append)
    point = found.point.point
    last = max(
        (k for k, step in enumerate(told) if step.number == 1), default=0
    )  # the softer problem's cost is another
    near = [k for k, step in enumerate(told, start=1) if k > last and step.cost <= _NEAR * found.cost]
    return {
        "status": found.status.name,
        "iterations": found.iterations,
        "near": near[0],
        "violation": max(problem.violations),
        "gap": gap,
        "prior": errors(mechanism, truth, mechanism.parameters.mean)[:2],
        "errors": errors(mechanism, truth, point.x)[:2],
    }


_Setting = tuple[Mechanism, MechanismLog, BayesianConfig, float, Truth]


def _fourbar(seed: int, duration: float) -> _Setting:
    config = CASES["noise known"].config()
    mechanism = build_mechanism(leg(), config, power=False)
    truth, record = leg_run(seed, duration, _SPREAD)
    true = true_motion(true_constants(truth, mechanism), record, mechanism)
    return mechanism, leg_log(record, config.step, power=False), config, true.gap, true


def _cassie(seed: int, duration: float) -> _Setting:
    own = bench_robot("cassie")
    mechanism = build_mechanism(own.robot, own.config, power=False)
    truth = simulate(own, seed, duration)
    q, torque, _ = readings(own, truth, _NOISE, seed)
    averaged = 1.0 / np.sqrt(RATE * own.config.step)
    noise = NoiseConfig(averaged * _NOISE, averaged * 10.0 * _NOISE * float(np.sqrt(np.mean(truth.torque**2))))
    config = replace(own.config, noise=replace(noise, estimate=False))
    return mechanism, bench_log(own, q, torque, None), config, truth.gap, truth


def _verdict(name: str, trials: Sequence[Record]) -> list[Asked]:
    """Judges a leg; a descent counts to its end, not until it is near."""
    violation, counts = max(entry["violation"] for entry in trials), [entry["iterations"] for entry in trials]
    slow = [entry for entry in trials if entry["iterations"] > _ENOUGH]
    late = sum(entry["near"] > _ENOUGH for entry in slow)
    found = f"{max(counts)} at most, {len(slow)} of {len(trials)} take more"
    found += f"; within a hundredth of the end's cost after {_ENOUGH}: all but {late}" if slow else ""
    return [
        (
            f"{name}: violation at most {_CLOSED:g} m in at most {_ENOUGH} iterations",
            f"{violation:.1e} m at every iterate",
            violation <= _CLOSED,
        ),
        (f"{name}: the descent ends after at most {_ENOUGH} iterations", found, not slow),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_loops", __doc__)
    options.add_argument("--seeds", type=int, default=50, help="hidden legs of each kind")
    options.add_argument("--duration", type=float, default=2.0, help="of each log [s]")
    options.add_argument("--legs", nargs="*", default=list(LEGS), choices=LEGS, help="which of them")
    add_options(options)
    args = options.parse_args(arguments)
    report = Report("bayesian-loops", "Closed loops of two legs", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    rows, asked = [], []
    for name in args.legs:
        seeds = range(args.seed, args.seed + args.seeds)
        keys = [{"name": name, "seed": seed, "duration": args.duration} for seed in seeds]
        trials = collect(args, keys, trial, name)
        near, all_ = ([entry[key] for entry in trials] for key in ("near", "iterations"))
        friction, torque = (
            tuple(f"{100.0 * float(np.median([entry[key][k] for entry in trials])):.3g}" for key in ("prior", "errors"))
            for k in (0, 1)
        )
        rows.append((
            name, len(trials), f"{np.median(near):.0f}", max(near), f"{np.median(all_):.0f}", max(all_),
            f"{max(entry['violation'] for entry in trials):.1e}", f"{max(entry['gap'] for entry in trials):.0e}",
            *friction, *torque,
        ))  # fmt: skip
        asked += _verdict(name, trials)
    report.table(
        ("leg", "seeds", "iterations until near, median", "most", "until the end, median", "most",
         "largest violation", "truth's gap", "friction error, prior [%]", "posterior", "rigid-body torque, prior [%]",
         "posterior"),
        rows,
    )  # fmt: skip
    report.asked(asked)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
