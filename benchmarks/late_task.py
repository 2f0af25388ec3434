# SPDX-License-Identifier: Apache-2.0
"""Is the demo's whole task, identification and carrying, certified and carried out where torques come late?

`sysid demo kinova --delay` in simulated time: its parameters, robots and loads by its seeds, the classes of its nodes.
Jitter is part of what is stated of the delay; the simulated one is the rest of it. A plan takes 0.6 s and its second
proof 0.15 s. Everything true is compared with what was certified of it, as in episodes.py, which says how.

Exit status 1 when a task did not end at its goal, or something proven did not hold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from benchmarks.certified_loop import CertifiedLoop, LoopConfig
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.cli.certified import demo_config
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.config import from_flat, own_parameters
from sysid_nodes.data.packaged import required_file
from sysid_nodes.data.scene import load_scene
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, set_up
from sysid_nodes.simulation.arm.config import SimulatedArmConfig, build_arm
from sysid_nodes.systems.certified.control.output import Mode
from sysid_nodes.systems.certified.search.goals import nearest_goal
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

T = TypeVar("T")

DELAYS = (0.0, 0.002, 0.004)
IDENTIFY = 7.5
"""Longest time to identify [s]."""
LONGEST = 120.0
"""Simulated time after which a task has failed [s]."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("late_task", __doc__)
    options.add_argument("--delays", type=float, nargs="+", default=list(DELAYS), help="simulated [s]")
    options.add_argument("--seeds", type=int, default=10, help="robots and loads")
    options.add_argument("--longest", type=float, default=LONGEST, help="of a task, simulated [s]")
    add_options(options)
    chosen = options.parse_args(arguments)
    keys = [
        {"seed": chosen.seed + k, "delay": delay, "longest": chosen.longest}
        for delay in chosen.delays
        for k in range(chosen.seeds)
    ]
    records = collect(chosen, keys, run_trial, "late_task")
    report = Report("late_task", "The demo's task with late torques", chosen.out, chosen.command)
    failed = summarise(report, keys, records)
    print(report.write())
    return 1 if failed else 0


def run_trial(seed: int, delay: float, longest: float) -> dict[str, Any]:
    """The record of one task, ready for JSON; but for its CPU time the same for the same arguments."""
    begun = time.process_time()
    loop = build_loop(seed, delay)
    log = loop.run(longest, until=lambda: loop.finished)
    theta, last = loop.arm.truth.theta, log.bounds[-1]
    robot, q = loop.setup.robot, loop.arm.q
    off = nearest_goal(robot, q, np.array(demo_config.GOAL)) - q
    prior = loop.config.planner.prior.bounds
    followed = log.judge()
    return {
        "arrived": bool(loop.finished and np.abs(off).max() <= loop.config.planner.planner.near),
        "why": loop.planning.message,
        "took": loop.time,
        "mass": float(theta[0]),
        "plans": loop.planning.made,
        "executed": len(followed),
        "paused": sum(mode in (Mode.BRAKING, Mode.HOLDING) for mode, _ in log.passed_modes()) - 1,
        "refused": [reason.name for _, reason in loop.refusals],
        "width": float(np.mean((last.upper - last.lower) / (2.0 * prior.half_width))),
        "missed": sum(not Bounds(each.lower, each.upper).contains(theta) for each in log.bounds),
        "updates": len(log.bounds),
        "broken": sorted({name for each in followed for name in each.broken()}),
        "usage": float(max((max(each.energy, each.norm) for each in followed), default=0.0)),
        "cpu": time.process_time() - begun,
    }


def build_loop(seed: int, delay: float) -> CertifiedLoop:
    """The demo's loop for a seed and a simulated delay [s]."""
    values = demo_config.parameters(seed, demo_config.payload(seed, None), IDENTIFY, delay=delay)

    def read(config: type[T]) -> T:
        return from_flat(config, own_parameters(config, values))

    planner, simulation = read(CertifiedPlannerConfig), read(SimulatedArmConfig).simulated_arm
    setup = set_up(planner)._replace(scene=load_scene(required_file(demo_config.SCENE)))
    arm = build_arm(setup.robot, simulation, np.random.default_rng(seed), now=10.0)
    return CertifiedLoop(setup, arm, LoopConfig(planner, read(IntervalIdentifierConfig)))


def summarise(report: Report, keys: Sequence[Record], records: Sequence[Record]) -> int:
    """Fills the report; returns how many failed."""
    bad = [
        (key, record)
        for key, record in zip(keys, records, strict=True)
        if record["missed"] or record["broken"] or not record["arrived"]
    ]
    updates = sum(record["updates"] for record in records)
    report.text(
        f"**{len(records) - len(bad)} of {len(records)} tasks certified and carried out to their goals; "
        f"{updates - sum(record['missed'] for record in records)} of {updates} updates held the truth.** Jitter of "
        f"{1e3 * demo_config.JITTER:g} ms is stated beside each delay. Pauses are the times that the robot came to "
        "rest, or began to, on its way, as nothing further was certified in time."
    )
    rows = []
    for delay in sorted({key["delay"] for key in keys}):
        some = [record for key, record in zip(keys, records, strict=True) if key["delay"] == delay]
        middle = (f"{np.median([record[name] for record in some]):.3g}" for name in ("took", "plans", "paused"))
        width = f"{100.0 * np.median([record['width'] for record in some]):.0f}"
        usage = f"{max(record['usage'] for record in some):.2f}"
        arrived = sum(record["arrived"] for record in some)
        slowest = f"{max(record['took'] for record in some):.0f}"
        refused = sum(len(record["refused"]) for record in some)
        rows.append((f"{1e3 * delay:g} ms", len(some), arrived, *middle, slowest, refused, width, usage))
    report.table(
        ("delay", "tasks", "arrived", "time [s]", "plans", "pauses", "longest time [s]", "refused by the controller",
         "widths at the end [% of the prior]", "largest share of a proven error"),
        rows,
    )  # fmt: skip
    report.text("Times, plans, pauses and widths are medians.")
    for key, record in bad:
        words = [f"{record['missed']} updates missed the truth"] * bool(record["missed"])
        words += [f"{name} was not kept" for name in record["broken"]]
        words += [f"not at its goal after {record['took']:.0f} s: {record['why']}"] * (not record["arrived"])
        report.text(f"- seed {key['seed']}, {1e3 * key['delay']:g} ms: {'; '.join(words)}")
    return len(bad)


if __name__ == "__main__":
    sys.exit(main())
