# SPDX-License-Identifier: Apache-2.0
"""The same minimum as fatrop's? A double pendulum, a four-bar leg and a Panda, the problem written twice.

fatrop has the problem as CasADi derives it, second derivatives and all, with constants as states
(`peers/fatrop_posterior.py`); both begin at the same point, without bounds, and go on until nothing changes. The cost
there and at the minimum is compared, and CPU time; fatrop's has the building of its functions in it, which somebody
who solves one log after the other pays once a length. Where the costs differ, the two found different minima or one
of them gave up. The Panda has 98 unknown constants; fatrop is ended after a limit of CPU time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.bayesian_coverage import CASES
from benchmarks.bayesian_log import leg, leg_log, leg_run
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_speed import CONFIG as PANDA
from benchmarks.bayesian_speed import log_of
from benchmarks.bayesian_world import RATE, bench_log, readings, simulate, true_mechanism
from benchmarks.limited import within
from benchmarks.peers import fatrop_posterior
from benchmarks.peers.fatrop_posterior import FatropResult
from benchmarks.report import Asked, Report, parser, progress
from sysid_nodes.robots import load_robot
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import solve_feasible
from sysid_nodes.systems.bayesian.config import BayesianConfig
from sysid_nodes.systems.bayesian.descent import rules, start_point, stated_noise
from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, build_mechanism
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns

ROBOTS = ("pendulum", "four-bar leg")
ARM = "Panda"
_NOISE = 3e-4
_MOST = 300
_SAME, _TIMES, _LONG = 1e-6, 10.0, 1000
"""Asked for: relative difference of costs, how many times faster, with how many stages of the arm."""


def problem_of(name: str, stages: int, seed: int) -> tuple[MechanismProblem, Estimate]:
    """A problem without bounds, and where both begin."""
    mechanism, log, config = _MADE[name](stages, seed)
    own = replace(mechanism.parameters, lower=np.full_like(mechanism.parameters.lower, -np.inf))
    mechanism = replace(mechanism, parameters=own)
    log = log.part(0, stages)
    start = start_point(mechanism, log, own.mean)
    return MechanismProblem(mechanism, log, stated_noise(mechanism, config), turns(mechanism, log, start)), start


def _pendulum(stages: int, seed: int) -> tuple[Mechanism, MechanismLog, BayesianConfig]:
    own = bench_robot("pendulum")
    truth = simulate(own, seed, (stages + 1) * own.config.step)
    q, torque, _ = readings(own, truth, _NOISE, seed)
    averaged = 1.0 / np.sqrt(RATE * own.config.step)
    size = 10.0 * _NOISE * float(np.sqrt(np.mean(truth.torque**2)))
    noise = replace(own.config.noise, position=averaged * _NOISE, torque=averaged * size)
    return true_mechanism(own), bench_log(own, q, torque, None), replace(own.config, noise=noise)


def _leg(stages: int, seed: int) -> tuple[Mechanism, MechanismLog, BayesianConfig]:
    config = CASES["noise known"].config()
    record = leg_run(seed, (stages + 1) * config.step, 0.3)[1]
    return build_mechanism(leg(), config, power=False), leg_log(record, config.step, power=False), config


def _panda(stages: int, seed: int) -> tuple[Mechanism, MechanismLog, BayesianConfig]:
    mechanism = build_mechanism(load_robot("panda"), PANDA, power=False)
    return mechanism, log_of(mechanism, stages, seed), PANDA


_MADE = {ROBOTS[0]: _pendulum, ROBOTS[1]: _leg, ARM: _panda}


def minimise_within(limit: float, problem: MechanismProblem, start: Estimate, most: int) -> FatropResult | None:
    """fatrop's minimum; None where its process has used more CPU than the limit [s], or is without memory."""
    return within(limit, lambda: fatrop_posterior.minimise(problem, start, most))


def _verdict(limit: float, times: dict[tuple[str, int], float], ended: dict[tuple[str, int], float]) -> list[Asked]:
    """Judges how many times faster ours was, at least, and by how much costs differ where fatrop ended."""
    worst, count = max(ended.values(), default=np.nan), len(ended)
    found = f"{worst:.0e} at most, of {count} problems that fatrop ended" if ended else "fatrop ended none"
    asked: list[Asked] = [(f"cost equal to fatrop's to {_SAME:g}", found, worst <= _SAME if ended else None)]
    arm = [stages for name, stages in times if name == ARM]
    if arm:
        solved = [stages for name, stages in ended if name == ARM]
        longest = f"of {max(solved)} stages" if solved else f"none of {sorted(arm)} stages"
        asked.append((f"the longest log of the {ARM} that fatrop ends in {limit:g} s", longest, None))
    if (ARM, _LONG) in times:
        faster = times[ARM, _LONG]
        found = f"{'' if (ARM, _LONG) in ended else 'over '}{faster:.0f}"
        asked.append(
            (f"{ARM}, {_LONG} stages: {_TIMES:g} times faster than fatrop with its build", found, faster >= _TIMES)
        )
    return asked


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report; returns 1 where the costs at the start differ, so that the problems are not the same."""
    options = parser("bayesian_fatrop", __doc__)
    options.add_argument("--stages", nargs="*", type=int, default=[50, 100, 200], help="of the logs")
    options.add_argument("--robots", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="which of them")
    options.add_argument("--long", nargs="*", type=int, default=[], help=f"further logs, of the {ROBOTS[0]} alone")
    options.add_argument("--arm", nargs="*", type=int, default=[20], help=f"stages of the {ARM}'s logs")
    options.add_argument("--limit", type=float, default=600.0, help="of fatrop's CPU for one of them [s]")
    args = options.parse_args(arguments)
    report = Report("bayesian-fatrop", "The posterior's minimum by fatrop", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    rows, same, ended, times = [], True, dict[tuple[str, int], float](), dict[tuple[str, int], float]()
    each = [(name, stages) for name in args.robots for stages in args.stages]
    each += [*((ROBOTS[0], stages) for stages in args.long), *((ARM, stages) for stages in args.arm)]
    for name, stages in progress(each, "problems"):
        problem, start = problem_of(name, stages, args.seed)
        begins = 0.5 * sum(float(np.sum(values**2)) for values in problem.residuals(start))
        first = minimise_within(args.limit, problem, start, 0)
        apart = None if first is None else first.cost / begins - 1.0
        same &= apart is None or bool(abs(apart) < 1e-9)
        began = time.process_time()
        ours = solve_feasible(problem, start, rules(_MOST, 1e-12))
        took = time.process_time() - began
        found = None if first is None else minimise_within(args.limit, problem, start, _MOST)
        build = 0.0 if first is None else first.build
        solve, over = (args.limit - build, "over ") if found is None else (found.build + found.solve - build, "")
        times[name, stages] = (build + solve) / took
        if found is not None:
            ended[name, stages] = abs(found.cost / ours.cost - 1.0)
        rows.append((
            f"{name}, {stages}", "" if apart is None else f"{apart:.0e}", f"{ours.cost:.8g}",
            *(("", "") if found is None else (f"{found.cost:.8g}", f"{found.cost / ours.cost - 1.0:.0e}")),
            str(ours.iterations), "" if found is None else str(found.iterations), f"{took:.2f}",
            f"not built in {args.limit:g}" if first is None else f"{build:.2f} + {over}{solve:.2f}",
            f"{over}{times[name, stages]:.0f}",
        ))  # fmt: skip
    report.table(
        ("robot, stages", "relative difference of cost at the start", "our minimum", "fatrop's",
         "relative difference", "our iterations", "fatrop's", "our CPU [s]", "fatrop's, build + solve", "times ours"),
        rows,
    )  # fmt: skip
    report.asked(_verdict(args.limit, times, ended))
    sys.stdout.write(f"{report.write()}\n")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
