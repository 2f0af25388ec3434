# SPDX-License-Identifier: Apache-2.0
"""Are honest torques taken for turned round or swapped ones, and are such found? Six robots in MuJoCo.

Each hidden robot's log is judged as it was read, and with the torques of some joints turned round or swapped, chosen at
random. Odds are for the most probable other way of reading (wiring.py), none of which an honest log's are to exceed by
more than a hundred times their number, in one log of a hundred. A log that is read another way may be told so, be
named as one of which that is left open, or pass. That is one of several signs of a contradiction: what identification
itself finds is not in it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.bayesian_robots import ROBOTS, bench_robot
from benchmarks.bayesian_trial import NOISE
from benchmarks.bayesian_world import bench_log, readings, simulate, true_mechanism
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Asked, Report, parser
from sysid_nodes.systems.bayesian.descent import start_point, stated_noise
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns
from sysid_nodes.systems.bayesian.ways_of_reading import Way, rewirings
from sysid_nodes.systems.bayesian.wiring import Wiring, other_wiring

ALL = (*ROBOTS, "cassie")


def trial(robot: str, seed: int, duration: float, wrong: int) -> Record:
    """Judgement of a hidden robot's log at each noise, as it was read and some other ways; nothing is fitted."""
    own, rng = bench_robot(robot), np.random.default_rng([seed, 2])
    try:
        truth = simulate(own, seed, duration)
    except ValueError:  # it fell
        return {"logs": []}
    mechanism = true_mechanism(own)
    layout, stated = mechanism.parameters, stated_noise(mechanism, own.config)
    every = list(rewirings([str(name) for name in np.array(layout.joints)[layout.motors]]))
    found: list[Record] = []
    kinds = [[way for way in every if bool((way.factor < 0.0).any()) == turned] for turned in (True, False)]
    for noise in NOISE:
        q, torque, _ = readings(own, truth, noise, seed)
        chosen = [kind[k] for kind in kinds for k in rng.permutation(len(kind))[:wrong]]
        for way in (None, *chosen):
            read = torque if way is None else torque[:, way.source] * way.factor
            log = bench_log(own, q, read, None)
            start = start_point(mechanism, log, layout.mean)
            said = other_wiring(MechanismProblem(mechanism, log, stated, turns(mechanism, log, start)), start.q)
            found.append({"noise": noise, "odds": said.odds, "said": _judge(said, way), "least": len(every)})
            found[-1]["kind"] = "honest" if way is None else "turned round" if (way.factor < 0.0).any() else "swapped"
    return {"logs": found}


def _judge(said: Wiring, way: Way | None) -> str:
    if said.against:
        return "right" if way is not None and way.words in said.against else "contradicted"
    return "left open" if way is not None and way.words in said.open else ""


def honest_row(robot: str, found: Sequence[Record]) -> tuple[object, ...]:
    """Of a robot's honest logs."""
    odds = np.array([one["odds"] for one in found])
    quantiles = (f"{np.quantile(odds, share, method='higher'):.1f}" for share in (0.5, 0.9, 1.0))
    return (
        robot,
        len(found),
        found[0]["least"],
        f"{np.log(100.0 * found[0]['least']):.1f}",
        *quantiles,
        sum(one["said"] == "contradicted" for one in found),
    )


def wrong_row(title: str, found: Sequence[Record]) -> tuple[object, ...]:
    """Of logs that were read another way."""
    counts = [sum(one["said"] == said for one in found) for said in ("right", "contradicted", "left open", "")]
    return title, len(found), *counts


def _verdict(found: Sequence[Record]) -> list[Asked]:
    honest = [one for one in found if one["kind"] == "honest"]
    alarms, wrong = sum(one["said"] == "contradicted" for one in honest), [one for one in found if one not in honest]
    passed = sum(not one["said"] for one in wrong)
    return [
        ("an honest log is contradicted once in a hundred", f"{alarms} of {len(honest)}", 100 * alarms <= len(honest)),
        ("torques read another way never pass by this sign alone", f"{passed} of {len(wrong)} pass", not passed),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_wiring", __doc__)
    options.add_argument("--seeds", type=int, default=4, help="hidden robots of each kind")
    options.add_argument("--duration", type=float, default=4.0, help="of each log [s]")
    options.add_argument("--wrong", type=int, default=1, help="joints turned round, and pairs swapped, a log")
    options.add_argument("--robots", nargs="*", default=list(ALL), choices=ALL, help="which of them")
    add_options(options)
    args = options.parse_args(arguments)
    report = Report("bayesian-wiring", "Torques that were read another way", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    honest, wrong, every = [], [], list[Record]()
    for robot in args.robots:
        seeds = range(args.seed, args.seed + args.seeds)
        keys = [{"robot": robot, "seed": seed, "duration": args.duration, "wrong": args.wrong} for seed in seeds]
        found = [one for each in collect(args, keys, trial, robot) for one in each["logs"]]
        every += found
        honest.append(honest_row(robot, [one for one in found if one["kind"] == "honest"]))
        for kind in ("turned round", "swapped"):
            for noise in NOISE:
                mine = [one for one in found if one["kind"] == kind and one["noise"] == noise]
                wrong.append(wrong_row(f"{robot}, {kind}, {noise:g} rad", mine))
    report.section("Honest logs")
    report.text(
        "Logarithms of odds: those above which a log is contradicted; median, nine tenths and largest of honest logs; "
        "minus infinity where no other way comes near."
    )
    report.table(("", "logs", "ways", "threshold", "median", "90 %", "largest", "contradicted"), honest)
    report.section("Read another way")
    report.table(("", "logs", "told", "another told", "left open", "nothing said"), wrong)
    report.asked(_verdict(every))
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
