# SPDX-License-Identifier: Apache-2.0
"""Simulations of a Go2 with their drives on threads and processes: the cost of handing over, and 1000 cores on paper.

448 simulations of 100 steps a call, again and again. Counted is processor time, that of processes included and that of
their start taken off, as a machine with other work on it says nothing by the wall clock: where a step costs no more of
it on two processes than on one thread, two cores make twice the steps. On paper, candidates of one iteration are spread
over cores: how many cores have work, and how long an iteration takes at the least, one candidate's steps in a row.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.report import Report, parser
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import Drive, GroundConfig, ProcessSimulations, Simulations, Variants, Work
from sysid_nodes.rollouts.legged_model import build_legged_mujoco

_COUNT, _STEPS, _CORES = 448, 100, 1000
_CANDIDATES = {
    "CMA-ES as in the paper": (12, 10_000, 250),
    "the exploration planner": (10, 19_600, 2050),
}
"""Candidates an iteration, steps of one, and of these in a row (docs/sampling/evidence.md)."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("sampling_scaling", __doc__)
    options.add_argument("--calls", type=int, default=20, help="of 448 simulations, each way")
    chosen = options.parse_args(arguments)
    report = Report("sampling-scaling", "Rollouts on threads and processes", chosen.out, chosen.command)
    report.text(__doc__.split("\n\n")[1])
    report.section("Processor time of a step")
    found = {name: _microseconds(chosen.calls, *how) for name, how in _WAYS.items()}
    one = found["1 thread"]
    report.table(
        ("simulated on", "a step [us]", "of a thread's"),
        [(name, f"{spent:.2f}", f"{100.0 * spent / one:.0f} %") for name, spent in found.items()],
    )
    variants, work = _work()
    handed = len(pickle.dumps((variants, work)))
    back = 8e-6 * work.start.size * _STEPS
    report.text(f"A call hands over {handed / 1e6:.2f} MB and gets {back:.1f} MB of states back, one a step.")
    report.section(f"{_CORES} cores, on paper")
    report.table(
        (
            "search",
            "steps of a candidate",
            "of it on one core [s]",
            "cores with work, in the mean",
            "an iteration at the least [s]",
        ),
        [_row(name, one * 1e-6, *each) for name, each in _CANDIDATES.items()],
    )
    print(report.write())
    return 0


_WAYS = {"1 thread": (1, 0), "2 threads": (2, 0), "1 process": (0, 1), "2 processes": (0, 2)}


def _row(name: str, step: float, candidates: int, steps: int, in_a_row: int) -> tuple[str, ...]:
    cores = min(_CORES, candidates * steps // in_a_row)
    return name, str(steps), f"{step * steps:.2f}", str(cores), f"{step * in_a_row:.3f}"


def _microseconds(calls: int, threads: int, processes: int) -> float:
    """Processor time of a step, start and first call taken off."""
    return 1e6 * (_spent(calls + 1, threads, processes) - _spent(1, threads, processes)) / (calls * _COUNT * _STEPS)


def _spent(calls: int, threads: int, processes: int) -> float:
    """Processor time of so many calls and of all processes that they had [s]."""
    robot = load_robot("go2")
    model = build_legged_mujoco(robot, robot.model.inertias.tolist()[1:], (), GroundConfig(), timestep=0.002)
    drive = Drive(np.full(robot.n, 40.0), np.full(robot.n, 1.0))
    variants, work = _work()
    before = sum(os.times()[:4])
    if processes:
        with ProcessSimulations(model, drive, processes=processes) as pool:
            for _ in range(calls):
                pool.run(variants, work)
    else:
        simulations = Simulations(model, drive, threads=threads)
        for _ in range(calls):
            simulations.run(variants, work)
    return sum(os.times()[:4]) - before


def _work() -> tuple[Variants, Work]:
    """Standing robots, each a little otherwise."""
    robot = load_robot("go2")
    n, rng, posture = robot.n, np.random.default_rng(0), np.tile([0.0, 0.8, -1.6], 4)
    start = np.zeros((_COUNT, 13 + 2 * n))
    start[:, 2], start[:, 3], start[:, 7 : 7 + n] = 0.3, 1.0, posture
    start[:, 7 : 7 + n] += 0.02 * rng.standard_normal((_COUNT, n))
    theta = np.array([robot.model.inertias[1].toDynamicParameters()])[None]
    ones, none = np.ones((1, n)), np.zeros((1, n))
    variants = Variants((0,), theta, ones, 0.04 * ones, none, none, none, np.array([0.8]), np.array([0.01]))
    which = np.zeros(_COUNT, dtype=np.int64)
    return variants, Work(start, which, which, np.tile(posture, (1, _STEPS, 1)))


if __name__ == "__main__":
    sys.exit(main())
