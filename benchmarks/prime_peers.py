# SPDX-License-Identifier: Apache-2.0
"""PRIME and its peers on the same simulated logs: forces, inertia, pose, contacts and time, in one table.

    ours       inverse dynamics, trajectory least squares (sysid_nodes/systems/prime)
    ours_told  the same, told what the others take for exact: drives, friction, encoders, feet, links, ground
    fddp       the paper's forward dynamics, Crocoddyl's FDDP, weights from the noise that ours is told
    table_v    the same with the paper's Table V weights
    flags      the paper's baseline: contact flags from kinematics, rigid contacts
    momentum   generalised-momentum observer, legs' forces from legs' torques

MuJoCo is the truth; no method knows the ground's friction (all assume 0.8, it is 0.7) or compliance.
With --records FILE a run continues where it was stopped.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks import prime_ours
from benchmarks.peers import contact_flags, fddp, momentum_observer
from benchmarks.peers.estimate import PeerEstimate
from benchmarks.prime_log import SCENARIOS, Log, known_config, record, simulated_config
from benchmarks.prime_score import raw_pose, score
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.systems.prime import build_model

mpl.use("Agg")
from matplotlib import pyplot as plt

METHODS = ("ours", "ours_told", "fddp", "table_v", "flags", "momentum")

PAPER_STEP = 80e-6
"""The paper's C++ for one step of a Go2 with its derivatives, on an i9-13900 [s]."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_peers", __doc__)
    options.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), help="which logs")
    options.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="which methods")
    options.add_argument("--steps", type=int, help="use only so many steps of a log")
    options.add_argument("--limit", type=float, default=900.0, help="no FDDP iteration is begun after that [s]")
    add_options(options)
    chosen = options.parse_args(arguments)
    methods = [m for m in chosen.methods if fddp.AVAILABLE or m not in ("fddp", "table_v")]
    if len(methods) < len(chosen.methods):
        print("crocoddyl is not installed; FDDP is left out (see benchmarks/README.md)", file=sys.stderr)
    keys = [
        {"scenario": scenario, "method": method, "seed": chosen.seed, "steps": chosen.steps}
        for scenario in chosen.scenarios
        for method in methods
    ]
    records = collect(chosen, keys, partial(trial, limit=chosen.limit), "peers")
    report = Report("prime-peers", "PRIME and its peers", chosen.out, chosen.command)
    summarise(report, records, chosen.limit)
    print(report.write())
    return 0


def trial(scenario: str, method: str, seed: int, steps: int | None, limit: float) -> Record:
    """Record of a method on a log, with what it is of."""
    print(f"{scenario}, {method}", file=sys.stderr, flush=True)
    found = compare(method, _log(scenario, seed), steps, limit)
    return {"scenario": scenario, "method": method, "seed": seed, "steps": steps} | found


@lru_cache(maxsize=1)
def _log(scenario: str, seed: int) -> Log:
    return record(SCENARIOS[scenario], seed)


def compare(method: str, log: Log, steps: int | None, limit: float) -> Record:
    """One method on one log: errors, time and where it went."""
    cpu = time.process_time()
    coarse = simulated_config()
    aligned = log.aligned(coarse, steps)
    if method in ("fddp", "table_v"):
        config = fddp.peer_config(coarse)
        aligned = log.aligned(config, steps)
        cpu = time.process_time()
        found = fddp.estimate(build_model(log.robot, config), aligned, paper_weights=method == "table_v", seconds=limit)
    elif method == "momentum":
        config = momentum_observer.peer_config(coarse)
        ratio = round(coarse.step / config.step)
        fine = log.aligned(config, None if steps is None else ratio * (steps + 2))
        cpu = time.process_time()
        found = momentum_observer.estimate(build_model(log.robot, config), fine, aligned.steps.times)
    else:
        run: Callable[..., PeerEstimate] = contact_flags.estimate if method == "flags" else prime_ours.estimate
        cpu = time.process_time()
        found = run(build_model(log.robot, known_config() if method == "ours_told" else coarse), aligned)
    return {
        "robot": log.robot.name,
        "count": len(aligned.steps),
        "score": asdict(score(found, aligned)),
        "raw": raw_pose(aligned),
        "true_mass": aligned.mass,
        "mass": None if found.theta is None else float(found.theta[0]),
        "seconds": found.seconds,
        "cpu": time.process_time() - cpu,
        "iterations": found.iterations,
        "converged": found.converged,
        "laps": dict(found.laps),
    }


def summarise(report: Report, records: list[Record], limit: float) -> None:
    """Fills the report."""
    report.text(
        "Force errors are of the sum over a foot: relative is |F - F_true| / |F_true| over the log (the paper's), "
        "RMSE_F the root mean square of a foot's error vector. On the G1, *corners* is the relative error of single"
        " corners' forces. Each method's forces are compared with the truth averaged as its own are: over the step "
        "that follows (fddp, table_v, momentum) or, with triangle weights, over both neighbours (ours, flags). All "
        "but ours take for exact what this simulation has as described: drives, friction, encoders, feet, links, a "
        "level ground. ours has priors of them, and so errs by its sigma where gain and weight are nearly one "
        "unknown; ours_told is the same estimator told as much as the others. Three steps at each end are left out."
        " A foot is on the ground above 2 N: truly, and as ours and flags decide; FDDP and the observer decide at "
        "the threshold that is best for them. CPU is that of the estimation alone, covariances included where there"
        " are any (ours). Where a peer needed a choice, it was made on the Go2 with 3 kg, for its benefit: height "
        "of the flags, gain of the observer, whose forces are also moved back by its lag."
    )
    for scenario in dict.fromkeys(entry["scenario"] for entry in records):
        mine = [entry for entry in records if entry["scenario"] == scenario]
        first = mine[0]
        report.section(f"{SCENARIOS[scenario].title}, {first['count']} steps")
        rows = [_row(entry) for entry in mine]
        shift, turn = first["raw"]
        rows.append(("raw mocap", *["-"] * 5, f"{1e3 * shift:.2f}", f"{1e3 * turn:.1f}", *["-"] * 4))
        report.table(
            (
                "method", "force [%]", "RMSE_F [N]", "corners [%]", "torso mass [%]", "CoM [mm]", "position [mm]",
                "angle [mrad]", "contact F1", "wall [s]", "CPU [s]", "iterations",
            ),
            rows,
        )  # fmt: skip
    split = [entry for entry in records if entry["laps"]]
    if split:
        _split(report, split, limit)
    _plot(report.figure("", "Errors of the methods; lower is better"), records)


def _row(entry: Record) -> tuple[object, ...]:
    s = entry["score"]
    corners = "-" if entry["robot"] != "g1" else _number(100.0 * s["corner"], ".1f")
    return (
        entry["method"],
        _number(100.0 * s["force"], ".2f"),
        _number(s["rms"], ".2f"),
        corners,
        _number(100.0 * s["mass"], "+.2f"),
        _number(1e3 * s["com"], ".1f"),
        _number(1e3 * s["position"], ".2f"),
        _number(1e3 * s["turn"], ".1f"),
        _number(s["f1"], ".4f"),
        f"{entry['seconds']:.1f}",
        f"{entry['cpu']:.1f}",
        f"{entry['iterations'] or '-'}{'' if entry['converged'] else ' (stopped)'}",
    )


def _number(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "-"


def _split(report: Report, records: list[Record], limit: float) -> None:
    report.section("Where FDDP's time goes")
    report.text(
        "In CPU time. Rollouts are Python around pinocchio's C++ and small numpy solves, derivatives are vectorised "
        "over all steps in numpy and this project's compiled kernel, the Riccati sweeps are Crocoddyl's C++. *Python* "
        "is the share of the rollouts. *All C++* guesses at what a C++ peer would need here: Crocoddyl's own time plus "
        f"{1e6 * PAPER_STEP:.0f} us for every rollout step, the paper's figure for a step with its derivatives on a "
        f"faster machine. FDDP ends by our solver's own rule or after {limit:g} s."
    )
    rows = []
    for entry in records:
        laps = entry["laps"]
        total = laps["total"]
        per = max(entry["iterations"], 1)
        guess = laps["Crocoddyl"] + PAPER_STEP * laps["rollout steps"]
        rows.append((
            f"{SCENARIOS[entry['scenario']].title}: {entry['method']}",
            f"{total:.1f}",
            f"{entry['iterations']}",
            f"{1e3 * total / per:.0f}",
            *(f"{1e3 * laps[name] / per:.0f}" for name in ("rollouts", "derivatives", "Crocoddyl")),
            f"{100.0 * laps['rollouts'] / total:.0f}",
            f"{laps['rollout steps'] / per / entry['count']:.1f}",
            f"{guess:.1f}",
        ))  # fmt: skip
    report.table(
        (
            "", "CPU [s]", "iterations", "one [ms]", "rollouts [ms]", "derivatives [ms]", "Crocoddyl [ms]",
            "Python [%]", "rollouts an iteration", "all C++ [s]",
        ),
        rows,
    )  # fmt: skip


def _plot(path: Path, records: list[Record]) -> None:
    scenarios = list(dict.fromkeys(entry["scenario"] for entry in records))
    methods = list(dict.fromkeys(entry["method"] for entry in records))
    panels = (
        ("force", 100.0, "force error [%]"),
        ("mass", 100.0, "torso mass error [%]"),
        ("position", 1e3, "base position error [mm]"),
        ("cpu", 1.0, "CPU time [s]"),
    )
    figure, axes = plt.subplots(2, 2, figsize=(11.0, 6.4), layout="constrained")
    colours = dict(zip(METHODS, ("#2b6cb0", "#90cdf4", "#dd6b20", "#ecc94b", "#38a169", "#805ad5"), strict=True))
    x, width = np.arange(len(scenarios)), 0.8 / len(methods)
    for axis, (key, factor, label) in zip(axes.flat, panels, strict=True):
        for number, method in enumerate(methods):
            values = []
            for scenario in scenarios:
                (entry,) = (e for e in records if e["scenario"] == scenario and e["method"] == method)
                values.append(abs(entry["cpu"] if key == "cpu" else factor * entry["score"][key]))
            axis.bar(x + (number - 0.5 * (len(methods) - 1)) * width, values, 0.9 * width, color=colours[method],
                     label=method)  # fmt: skip
        axis.set(ylabel=label, yscale="log" if key == "cpu" else "linear")
        axis.set_xticks(x, [SCENARIOS[name].title for name in scenarios], fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(methods), frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
