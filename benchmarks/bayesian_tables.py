# SPDX-License-Identifier: Apache-2.0
"""The paper's Tables I and II in simulation: five robots, hidden constants, three levels of noise.

Table I: the posterior without an energy term, with the paper's (commanded effort times joint motion) and with a power
meter's readings. Table II: the posterior, without any of these, beside inverse-dynamics regression, energy regression
and figaroh's fit, on motion smoothed by Savitzky and Golay, each with the window of five that is best in hindsight, in
every cell anew; beside MuJoCo's toolbox, whose pieces of 0.2 s begin where such a window has speeds; and beside FDDP on
a state that holds the constants, which is told the noise; ours says how far off it may be, too. Of ours, friction is
the posterior's mean. Truth is MuJoCo's (bayesian_world.py), prior and readings are the same for all. Without torques:
the posterior of positions and a power meter's readings, one number for all motors, beside the prior, which is all that
there would be without either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.bayesian_robots import ROBOTS
from benchmarks.bayesian_trial import (
    COMMANDED,
    ERRORS,
    METER,
    METER_ALONE,
    METHODS,
    MIDDLE,
    NOISE,
    OURS,
    PEERS,
    SLOW,
    trial,
)
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.results.bayesian import BayesianStatus


def summarise(report: Report, records: Sequence[tuple[Record, Record]]) -> None:
    """Fills the report.

    Args:
        report: to fill.
        records: keys of trials, and what they found.
    """
    robots = list(dict.fromkeys(key["robot"] for key, _ in records))

    def cells(robot: str, noise: float, method: str) -> list[Record]:
        wanted = {"robot": robot, "noise": noise, "method": method}
        return [found for key, found in records if {name: key[name] for name in wanted} == wanted]

    _first_table(report, robots, cells)
    _second_table(report, robots, cells)
    _third_table(report, robots, cells)
    ours = [found for _, found in records if "status" in found]
    seen, held = (sum(cell[key] for cell in ours) for key in ("observed", "inside"))
    counts = ", ".join(f"{sum(c['status'] == s for c in ours)} {s}" for s in sorted({c["status"] for c in ours}))
    report.text(
        f"Of {len(ours)} identifications {counts}; their 95 % intervals hold {100.0 * held / max(seen, 1):.1f} % of "
        f"{seen} inertial parameters that are observed."
    )


def _first_table(report: Report, robots: Sequence[str], cells: Callable[..., list[Record]]) -> None:
    report.section("Table I: what energy adds")
    report.text(
        f"Positions off by {MIDDLE:g} rad. Iterations of the last descent, inertial error as that of rigid-body "
        "torques, friction error over the speeds of the motion, all as medians; CPU seconds of an identification, its "
        "noise estimated; largest gap of the truth's loops and feet; moments in which the floor did not push a foot."
    )
    rows = []
    for robot in robots:
        for method in (OURS, COMMANDED, METER):
            mine = cells(robot, MIDDLE, method)
            friction_, torque, _ = _median(mine)
            rows.append((
                f"{robot}, {method if method != OURS else 'without energy'}",
                f"{np.median([cell['iterations'] for cell in mine]):.0f}", _percent(torque), _percent(friction_),
                f"{np.median([cell['seconds'] for cell in mine]):.1f}",
                f"{max(cell['gap'] for cell in mine):.0e}", _percent(max(cell["lifted"] for cell in mine)),
            ))  # fmt: skip
    report.table(
        ("", "iterations", "inertial error [%]", "friction error [%]", "CPU [s]", "gap [m, rad]", "unloaded [%]"), rows
    )


def _second_table(report: Report, robots: Sequence[str], cells: Callable[..., list[Record]]) -> None:
    report.section("Table II: beside others")
    lost = []
    for index, title in enumerate(ERRORS):
        report.text(f"Error of **{title}**, {'in prior sigmas' if index == 2 else 'in percent'} (medians).")
        told, shown = (_plain if index == 2 else _percent), list[tuple[str, ...]]()
        for robot in robots:
            for noise in NOISE:
                each = {method: cells(robot, noise, method) for method in (*PEERS, OURS)}
                each = {method: those for method, those in each.items() if those}
                values = {method: _median(those)[index] for method, those in each.items()}
                if np.isnan(values[OURS]):
                    continue
                beaten = set[str]()
                prior = float(np.median([cell["prior"][index] for cell in each[OURS]]))
                words = [each[m][0].get("why") or told(values[m]) if m in each else "not run" for m in (*PEERS, OURS)]
                says = told(_median(each[OURS], "told")[index])
                shown.append((f"{robot}, {noise:g} rad", told(prior), *words, says))
                for method in set(each) - {OURS}:  # on the robots that both had
                    better = _median(each[OURS][: len(each[method])])[index] > values[method]
                    beaten |= {method} if better else set()
                if beaten:
                    lost.append(f"{title} of the {robot} at {noise:g} rad ({', '.join(sorted(beaten))})")
        report.table(("", "prior", *PEERS, OURS, f"{OURS}, says"), shown)
    report.section("Where ours is not best")
    report.text(", ".join(lost) + "." if lost else "Nowhere.")
    if any(word.startswith(ERRORS[2]) for word in lost):
        report.text(
            "Coordinates hold directions about which a motion says nothing. There ours stays at the prior, and whoever "
            "errs is now and then nearer to the truth by chance; torques along the motion do not feel them."
        )
    if any(word.startswith(("friction of the quadruped", "friction of the biped")) for word in lost):
        report.text(
            "With all feet held, a pair of hips turns together, and feet push against each other as they like: next to "
            "nothing tells dry friction of one from that of the other, nor that of a biped's yaws and ankles' rolls. "
            "The posterior says how far it may be off, and a regression that draws differences to the prior's nothing, "
            "with the window that is best in hindsight, is nearer by chance."
        )


def _third_table(report: Report, robots: Sequence[str], cells: Callable[..., list[Record]]) -> None:
    report.section("Without torques")
    report.text(
        f"Positions off by {MIDDLE:g} rad, a power meter, no torques. Of the prior its most probable constants, which "
        "know no friction, and what it expects, friction being positive; of the posterior also how large it says that "
        "its errors are: where they are no larger, the log tells no more. Medians, in percent."
    )
    rows = []
    for robot in robots:
        mine = cells(robot, MIDDLE, METER_ALONE)
        if not mine:
            continue
        keys = "prior", "expected", "errors", "told"
        friction_, torque = zip(*(_median(mine, key)[:2] for key in keys), strict=True)
        claimed = sum(BayesianStatus[cell["status"]].trusted for cell in mine)
        rows.append((robot, f"{claimed} of {len(mine)}", *map(_percent, (*friction_, *torque))))
    titles = [
        f"{what}, {of}" for what in ("friction", "inertial error") for of in ("prior", "expected", "meter", "says")
    ]
    report.table(("", "claimed", *titles), rows)


def _median(cells: Sequence[Record], key: str = "errors") -> list[float]:
    return [float(value) for value in np.median([cell[key] for cell in cells], axis=0)]


def _percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100.0 * value:.3g}"


def _plain(value: float) -> str:
    return f"{value:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_tables", __doc__)
    options.add_argument("--seeds", type=int, default=2, help="hidden robots of each kind")
    options.add_argument("--duration", type=float, default=4.0, help="of each log [s]")
    options.add_argument("--robots", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="which of them")
    options.add_argument(
        "--slow",
        nargs="*",
        default=list(ROBOTS),
        choices=ROBOTS,
        help=f"kinds of which the first robot is for {', '.join(SLOW)}, too",
    )
    options.add_argument("--slow-noises", nargs="*", type=float, default=list(NOISE), help="and noises for these")
    options.add_argument("--limit", type=float, default=0.0, help="of CPU for each of these [s]; 0 for none")
    add_options(options)
    chosen = options.parse_args(arguments)
    quick = [(method, noise) for method in METHODS if method not in SLOW for noise in NOISE]
    quick = [pair for pair in quick if pair[1] == MIDDLE or pair[0] not in (COMMANDED, METER, METER_ALONE)]
    slow = [(method, noise) for noise in chosen.slow_noises for method in SLOW]
    keys = [
        {"robot": robot, "seed": seed, "duration": chosen.duration, "noise": noise, "method": method}
        | ({"limit": chosen.limit} if method in SLOW and chosen.limit else {})
        for pairs, robots, count in ((quick, chosen.robots, chosen.seeds), (slow, chosen.slow, 1))
        for seed in range(chosen.seed, chosen.seed + count)
        for robot in robots
        for method, noise in pairs
    ]
    records = list(zip(keys, collect(chosen, keys, trial, "trials"), strict=True))
    report = Report("bayesian-tables", "The Bayesian paper's Tables I and II", chosen.out, chosen.command)
    report.text(
        f"{' '.join((__doc__ or '').split(chr(10) * 2)[1].split())} {chosen.seeds} hidden robots of each kind, "
        f"{chosen.duration:g} s at 500 Hz each, {' and '.join(SLOW)} on the first alone. Floating "
        "bases are six joints without a motor; feet that stand are held by loops in the models, and in the truth by a "
        "floor that pushes and rubs points under them; a multirotor's rotors give a known wrench. Contacts that begin "
        "and end, and an IMU, are not in it."
    )
    summarise(report, records)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
