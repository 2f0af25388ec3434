# SPDX-License-Identifier: Apache-2.0
"""Full-information estimation of the Go2: does its cost grow linearly with the log, and how does FDDP compare?

A trotting Go2 with 3 kg, 250 to 4000 steps at 100 Hz; then 1000 steps of the 10 s programme, ours beside the paper's
method (Crocoddyl's FDDP). CPU time beside wall time, because other programs slow only the latter. A whole solve's time
also depends on how many iterations a log takes, so that growth is judged by the time of one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from benchmarks import prime_ours
from benchmarks.peers import fddp
from benchmarks.peers.estimate import PeerEstimate
from benchmarks.prime_log import GROUND, SCENARIOS, Log, Scenario, record, simulated_config
from benchmarks.prime_peers import PAPER_STEP
from benchmarks.report import Report, parser, progress
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.systems.prime import build_model

mpl.use("Agg")
from matplotlib import pyplot as plt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lap:
    """One solve: steps, wall and CPU time [s], iterations, convergence."""

    steps: int
    wall: float
    cpu: float
    iterations: int
    converged: bool


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_scaling", __doc__)
    options.add_argument(
        "--steps", type=int, nargs="+", default=[250, 500, 1000, 2000, 4000], help="lengths of the log"
    )
    options.add_argument("--runs", type=int, default=3, help="runs a figure; the median counts")
    options.add_argument("--compared", type=int, default=1000, help="steps of the comparison with FDDP; 0: none")
    options.add_argument("--limit", type=float, default=900.0, help="no FDDP iteration is begun after that [s]")
    chosen = options.parse_args(arguments)
    lengths = sorted(chosen.steps)
    config = LeggedSimulationConfig(motion="trot", load=LoadConfig(mass=3.0), ground=GROUND)
    log = record(Scenario("trot", config, 0.01 * (lengths[-1] + 5)), chosen.seed, skip=0.5)
    laps = [lap(log, steps, chosen.runs) for steps in progress(lengths, "scaling")]
    compared, peer = None, None
    if chosen.compared:
        show = record(SCENARIOS["go2_3kg"], chosen.seed)
        compared = lap(show, chosen.compared, chosen.runs)
        if fddp.AVAILABLE:
            peer = _peer(show, chosen.compared, chosen.limit)
        else:
            print("crocoddyl is not installed; FDDP is left out (see benchmarks/README.md)", file=sys.stderr)
    report = Report("prime-scaling", "PRIME: time", chosen.out, chosen.command)
    summarise(report, laps, compared, peer, chosen.runs)
    print(report.write())
    return 0


def lap(log: Log, steps: int, runs: int) -> Lap:
    """Median of several solves of the first `steps` steps."""
    config = simulated_config()
    aligned = log.aligned(config, steps)
    model = build_model(log.robot, config)
    found = []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        result = prime_ours.estimate(model, aligned)
        found.append((time.perf_counter() - wall, time.process_time() - cpu))
    wall, cpu = np.median(found, axis=0)
    return Lap(len(aligned.steps), float(wall), float(cpu), result.iterations, result.converged)


def _peer(log: Log, steps: int, limit: float) -> PeerEstimate:
    config = fddp.peer_config(simulated_config())
    return fddp.estimate(build_model(log.robot, config), log.aligned(config, steps), seconds=limit)


def growth(laps: Sequence[Lap]) -> float:
    """Exponent of the growth of one iteration's CPU time with the number of steps: 1 is linear."""
    if len(laps) < 2:
        return float("nan")
    steps, times = np.log([one.steps for one in laps]), np.log([one.cpu / one.iterations for one in laps])
    return float(np.polyfit(steps, times, 1)[0])


def summarise(report: Report, laps: Sequence[Lap], compared: Lap | None, peer: PeerEstimate | None, runs: int) -> None:
    """Fills the report."""
    exponent = growth(laps)
    if len(laps) > 1:
        report.text(
            f"**From {laps[0].steps} to {laps[-1].steps} steps the CPU time of an iteration grows as the "
            f"{exponent:.2f}th power of the number of steps.**"
        )
    report.text(f"Median of {runs} runs; time from readings on the grid to the estimate with its covariances.")
    report.table(
        ("steps", "wall [s]", "CPU [s]", "iterations", "CPU of an iteration [ms]", "the same a step [us]"),
        [
            (
                one.steps,
                f"{one.wall:.2f}",
                f"{one.cpu:.2f}",
                f"{one.iterations}{'' if one.converged else ' (stopped)'}",
                f"{1e3 * one.cpu / one.iterations:.0f}",
                f"{1e6 * one.cpu / one.iterations / one.steps:.0f}",
            )
            for one in laps
        ],
    )
    if compared is not None:
        _comparison(report, compared, peer)
    _plot(report.figure("", "CPU time of a solve and of one iteration against the number of steps"), laps, exponent)


def _comparison(report: Report, ours: Lap, peer: PeerEstimate | None) -> None:
    report.section(f"{ours.steps} steps of the Go2 with 3 kg, beside FDDP")
    rows = [("ours", f"{ours.wall:.2f}", f"{ours.cpu:.2f}", f"{ours.iterations}", "1")]
    if peer is not None:
        total = peer.laps["total"]
        guess = peer.laps["Crocoddyl"] + PAPER_STEP * peer.laps["rollout steps"]
        ended = "" if peer.converged else " (stopped)"
        rows.append((
            "FDDP as measured", f"{peer.seconds:.1f}", f"{total:.1f}", f"{peer.iterations}{ended}",
            f"{total / ours.cpu:.0f}",
        ))  # fmt: skip
        rows.append(("FDDP, if all were C++", "-", f"{guess:.1f}", f"{peer.iterations}", f"{guess / ours.cpu:.1f}"))
    report.table(("", "wall [s]", "CPU [s]", "iterations", "CPU over ours"), rows)
    if peer is not None:
        laps = peer.laps
        report.text(
            f"FDDP's CPU: rollouts {laps['rollouts']:.1f} s (Python around pinocchio and small numpy solves, "
            f"{1e6 * laps['rollouts'] / laps['rollout steps']:.0f} us a step), derivatives {laps['derivatives']:.1f} s "
            f"(numpy and the compiled kernel, all steps at once), Crocoddyl's own C++ {laps['Crocoddyl']:.1f} s. *If "
            f"all were C++* is Crocoddyl's own part plus {1e6 * PAPER_STEP:.0f} us for each of the "
            f"{laps['rollout steps']:.0f} rollout steps, the paper's figure with derivatives on an i9-13900. The paper "
            "itself reports 200 s for 1000 steps."
        )


def _plot(path: Path, laps: Sequence[Lap], exponent: float) -> None:
    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    steps = np.array([one.steps for one in laps])
    whole, single = np.array([one.cpu for one in laps]), np.array([one.cpu / one.iterations for one in laps])
    axis.loglog(steps, whole, "o-", color="#2b6cb0", label="whole solve")
    axis.loglog(steps, single, "s-", color="#dd6b20", label=f"one iteration (power {exponent:.2f})")
    middle = len(laps) // 2
    axis.loglog(steps, single[middle] * steps / steps[middle], ":", color="black", lw=1.0, label="linear")
    axis.set_xticks(steps, [str(count) for count in steps])
    axis.minorticks_off()
    axis.set(xlabel="steps", ylabel="CPU time [s]")
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
