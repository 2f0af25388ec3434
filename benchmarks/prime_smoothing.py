# SPDX-License-Identifier: Apache-2.0
"""Convergence and accuracy against the smoothing of the contacts, as the paper's Figs. 11 and 12.

The same log is estimated at one smoothing after another, each from raw readings and without continuation: iterations,
force error and torso mass. kappa = 2 / eps is the paper's parameter, 500 its choice; the last row of each table is
our default, which reaches its smoothing in steps. --peer adds the paper's own method (Crocoddyl's FDDP) on the Go2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib as mpl

from benchmarks import prime_ours
from benchmarks.peers import fddp
from benchmarks.peers.estimate import PeerEstimate
from benchmarks.prime_log import SCENARIOS, AlignedLog, Log, record, simulated_config
from benchmarks.prime_score import Score, score
from benchmarks.report import Report, parser, progress
from sysid_nodes.systems.prime import PrimeConfig, build_model

mpl.use("Agg")
from matplotlib import pyplot as plt

PAPER = 500.0
"""The paper's kappa [1/J]."""


@dataclass(frozen=True)
class Point:
    """One solve: kappa [1/J], or None for the default with its continuation; how it went and how good it is."""

    kappa: float | None
    iterations: int
    converged: bool
    seconds: float
    score: Score


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_smoothing", __doc__)
    default = [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 20000.0, 100000.0]
    options.add_argument("--kappas", type=float, nargs="+", default=default, help="stiffnesses 2 / eps [1/J]")
    options.add_argument("--go2", type=int, default=1000, help="steps of the Go2's log; 0: none")
    options.add_argument("--g1", type=int, default=500, help="steps of the G1's log; 0: none")
    options.add_argument("--most", type=int, default=60, help="iterations of a solve")
    options.add_argument("--peer", action="store_true", help="FDDP on the Go2 as well (minutes a point)")
    chosen = options.parse_args(arguments)
    kappas = sorted(chosen.kappas)
    results: dict[str, list[Point]] = {}
    for name, steps in (("go2_3kg", chosen.go2), ("g1_2.9kg", chosen.g1)):
        if not steps:
            continue
        log = record(SCENARIOS[name], chosen.seed)
        aligned = log.aligned(simulated_config(), steps)
        values = [*kappas, None]
        results[name] = [solve(aligned, kappa, chosen.most) for kappa in progress(values, name)]
        if chosen.peer and name == "go2_3kg" and fddp.AVAILABLE:
            results["FDDP"] = [_peer(log, steps, kappa) for kappa in progress(kappas, "FDDP")]
    report = Report("prime-smoothing", "PRIME: smoothing of the contacts", chosen.out, chosen.command)
    summarise(report, results, chosen.go2, chosen.g1, chosen.most)
    print(report.write())
    return 0


def solve(log: AlignedLog, kappa: float | None, most: int) -> Point:
    """Our estimate at a fixed smoothing."""
    config = _config(kappa, most)
    found = prime_ours.estimate(build_model(log.robot, config), log)
    return _point(kappa, found, log)


def _config(kappa: float | None, most: int) -> PrimeConfig:
    config: PrimeConfig = simulated_config()
    config = replace(config, iteration=replace(config.iteration, most=most))
    if kappa is None:
        return config
    eps = 2.0 / kappa
    contact = replace(config.contact, smoothing=eps, first_smoothing=eps, continuation=1)
    return replace(config, contact=contact)


def _peer(log: Log, steps: int, kappa: float) -> Point:
    config = fddp.peer_config(simulated_config())
    aligned = log.aligned(config, steps)
    found = fddp.estimate(build_model(log.robot, config), aligned, stiffness=kappa)
    return _point(kappa, found, aligned)


def _point(kappa: float | None, found: PeerEstimate, log: AlignedLog) -> Point:
    return Point(kappa, found.iterations, found.converged, found.seconds, score(found, log))


_TITLES = {"go2_3kg": "Go2 with 3 kg", "g1_2.9kg": "G1 with 2.9 kg", "FDDP": "FDDP on the Go2 with 3 kg"}


def summarise(report: Report, results: dict[str, list[Point]], go2: int, g1: int, most: int) -> None:
    """Fills the report."""
    contact = simulated_config().contact
    report.text(
        f"Go2: {go2} steps of its programme; G1: {g1} steps of its dance. Each solve starts at raw readings and ends "
        f"after {most} iterations at the latest; the last row's is our default, kappa = {2.0 / contact.smoothing:g} "
        f"reached from {2.0 / contact.first_smoothing:g} in {contact.continuation} such solves. Force error: of the "
        f"sums over a foot. The paper's choice is kappa = {PAPER:g}."
    )
    for name, points in results.items():
        report.section(_TITLES[name])
        report.table(
            ("kappa [1/J]", "eps [J]", "iterations", "force error [%]", "torso mass error [%]", "CoM [mm]", "F1"),
            [
                (
                    "default" if p.kappa is None else f"{p.kappa:g}",
                    "-" if p.kappa is None else f"{2.0 / p.kappa:.3g}",
                    f"{p.iterations}{'' if p.converged else ' (stopped)'}",
                    f"{100.0 * p.score.force:.2f}",
                    f"{100.0 * p.score.mass:+.3f}",
                    f"{1e3 * p.score.com:.2f}",
                    f"{p.score.f1:.4f}",
                )
                for p in points
            ],
        )
    _plot(report.figure("", "Blue: iterations, hollow where stopped; red: errors; against kappa"), results)


def _plot(path: Path, results: dict[str, list[Point]]) -> None:
    figure, axes = plt.subplots(
        2, len(results), figsize=(5.4 * len(results), 7.0), layout="constrained", squeeze=False, sharex=True
    )
    blue, red = "#2b6cb0", "#c53030"
    for column, (name, found) in enumerate(results.items()):
        points = [p for p in found if p.kappa is not None]
        kappas = [p.kappa for p in points]
        for row, (label, values) in enumerate(
            (
                ("force error [%]", [100.0 * p.score.force for p in points]),
                ("|torso mass error| [%]", [100.0 * abs(p.score.mass) for p in points]),
            )
        ):
            left = axes[row, column]
            left.plot(kappas, [p.iterations for p in points], "-", color=blue, lw=1.5)
            for p in points:
                left.plot(p.kappa, p.iterations, "o", color=blue, mfc=blue if p.converged else "white")
            left.set(xscale="log", ylim=(0.0, None))
            left.set_ylabel("iterations", color=blue)
            left.axvline(PAPER, color="black", lw=0.8, ls=":")
            right = left.twinx()
            right.plot(kappas, values, "s-", color=red, lw=1.5)
            right.set_ylabel(label, color=red)
            right.set_ylim(bottom=0.0)
            left.spines["top"].set_visible(False)
            right.spines["top"].set_visible(False)
            if row == 0:
                left.set_title(_TITLES[name])
            else:
                left.set_xlabel("kappa [1/J]; dotted: the paper's")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
