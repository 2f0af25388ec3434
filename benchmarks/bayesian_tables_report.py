# SPDX-License-Identifier: Apache-2.0
"""The words and tables of bayesian_tables.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.bayesian_trial import COMMANDED, ERRORS, METER, METER_ALONE, MIDDLE, NOISE, OURS, PEERS
from benchmarks.records import Record
from benchmarks.report import Asked, Report
from sysid_nodes.results.bayesian import BayesianStatus

_Cells = Callable[[str, float, str], list[Record]]
_FREE = ("pendulum", "manipulator", "multirotor")
_THIRD, _TENTH = 1.0 / 3.0, 0.1
"""To which a power meter alone was asked to cut the errors of friction and of rigid-body torques."""


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
    lost, asked = _second_table(report, robots, cells)
    _costs(report, robots, cells)
    _where_not_best(report, lost)
    asked += _third_table(report, robots, cells)
    _intervals(report, robots, cells)
    ours = [found for _, found in records if "status" in found]
    counts = ", ".join(f"{sum(c['status'] == s for c in ours)} {s}" for s in sorted({c["status"] for c in ours}))
    report.text(f"All {len(ours)} identifications, those with energy too: {counts}.")
    report.asked(asked)


def _intervals(report: Report, robots: Sequence[str], cells: _Cells) -> None:
    report.section("Intervals")
    report.text(
        "How many of the inertial parameters that the posterior of Table II calls observed are within their 95 % "
        "intervals. A robot's parameters err together, so that these are fewer than their number."
    )
    rows = []
    for robot in robots:
        each = [[cell for cell in cells(robot, noise, OURS) if "observed" in cell] for noise in NOISE]
        words = (f"{sum(c['inside'] for c in those)} of {sum(c['observed'] for c in those)}" for those in each)
        rows.append((robot, *words))
    report.table(("", *(f"{noise:g} rad" for noise in NOISE)), rows)


def _first_table(report: Report, robots: Sequence[str], cells: _Cells) -> None:
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


def _second_table(report: Report, robots: Sequence[str], cells: _Cells) -> tuple[list[str], list[Asked]]:
    report.section("Table II: beside others")
    lost, asked = [], list[Asked]()
    for index, title in enumerate(ERRORS):
        report.text(f"Error of **{title}**, {'in prior sigmas' if index == 2 else 'in percent'} (medians).")
        told, shown, best = (_plain if index == 2 else _percent), list[tuple[str, ...]](), 0
        for robot in robots:
            for noise in NOISE:
                each = {method: cells(robot, noise, method) for method in (*PEERS, OURS)}
                each = {method: those for method, those in each.items() if those}
                values = {method: _median(those)[index] for method, those in each.items()}
                if np.isnan(values[OURS]):
                    continue
                prior = float(np.median([cell["prior"][index] for cell in each[OURS]]))
                words = [each[m][0].get("why") or told(values[m]) if m in each else "not run" for m in (*PEERS, OURS)]
                says = told(_median(each[OURS], "told")[index])
                shown.append((f"{robot}, {noise:g} rad", told(prior), *words, says))
                beaten = []
                for method in PEERS:  # on the robots that both had
                    mine = _median(each[OURS][: len(each.get(method, []))])[index] if method in each else 0.0
                    if method in each and mine > values[method]:
                        beaten.append(f"{method} {told(values[method])} against {told(mine)}")
                if beaten:
                    lost.append(f"{title} of the {robot} at {noise:g} rad ({', '.join(beaten)})")
                best += not beaten
        report.table(("", "prior", *PEERS, OURS, f"{OURS}, says"), shown)
        asked.append((f"{title}: ours best in every cell", f"in {best} of {len(shown)}", best == len(shown)))
    return lost, asked


def _costs(report: Report, robots: Sequence[str], cells: _Cells) -> None:
    report.text(
        f"CPU seconds of each method at {MIDDLE:g} rad, with all five windows where there are some; of FDDP, whose "
        "dynamics are in Python, its iterations and whether it ended by itself."
    )
    rows = []
    for robot in robots:
        words = []
        for method in (*PEERS, OURS):
            mine = cells(robot, MIDDLE, method)
            word = mine[0].get("why", "") if mine else "not run"
            if not word:
                word = f"{np.median([cell['seconds'] for cell in mine]):.1f}"
            if "ended" in (mine or [{}])[0]:
                word += f", {mine[0]['iterations'] + 1} iterations, {'' if mine[0]['ended'] else 'not '}ended"
            words.append(word)
        rows.append((robot, *words))
    report.table(("", *PEERS, OURS), rows)


def _where_not_best(report: Report, lost: Sequence[str]) -> None:
    report.section("Where ours is not best")
    report.text("; ".join(lost) + "." if lost else "Nowhere.")
    if any(word.startswith(ERRORS[2]) for word in lost):
        report.text(
            "Coordinates hold directions about which a motion says nothing. There ours stays at the prior, and whoever "
            "errs is now and then nearer to the truth by chance; torques along the motion do not feel them."
        )
    if any(word.startswith(("rigid-body torque of the quadruped", "rigid-body torque of the biped")) for word in lost):
        report.text(
            "One or another of the motors of who stands turns slowly at nearly all times. Torques of such stages count "
            "in the doubt of all of its dry friction (turning.py), as a regression's do not: the posterior uses less "
            "of them, and says how far it may be off."
        )
    if any(word.startswith(tuple(f"rigid-body torque of the {robot}" for robot in _FREE)) for word in lost):
        report.text(
            "Accelerations are central differences over stages of 10 ms, off by .05 % at the fastest harmonic, "
            "1.25 Hz: what is read more exactly is not found more exactly, but with shorter stages (bayesian.step)."
        )
    if any(word.startswith(("friction of the quadruped", "friction of the biped")) for word in lost):
        report.text(
            "With all feet held, a pair of hips turns together, and feet push against each other as they like: next to "
            "nothing tells dry friction of one from that of the other, nor that of a biped's yaws and ankles' rolls. "
            "The posterior says how far it may be off, and a regression that draws differences to the prior's nothing, "
            "with the window that is best in hindsight, is nearer by chance."
        )


def _third_table(report: Report, robots: Sequence[str], cells: _Cells) -> list[Asked]:
    report.section("Without torques")
    report.text(
        f"Positions off by {MIDDLE:g} rad, a power meter, no torques. Of the prior its most probable constants, which "
        "know no friction, and what it expects, friction being positive; of the posterior also how large it says that "
        "its errors are: where they are no larger, the log tells no more. Medians, in percent."
    )
    rows, asked = [], []
    for robot in robots:
        mine = cells(robot, MIDDLE, METER_ALONE)
        if not mine:
            continue
        keys = "prior", "expected", "errors", "told"
        friction_, torque = zip(*(_median(mine, key)[:2] for key in keys), strict=True)
        claimed = sum(BayesianStatus[cell["status"]].trusted for cell in mine)
        rows.append((robot, f"{claimed} of {len(mine)}", *map(_percent, (*friction_, *torque))))
        for what, (_, before, after, told), share in (("friction", friction_, _THIRD), ("inertial", torque, _TENTH)):
            if not np.isnan(before):
                found = f"to {after / before:.2f} of what the prior expects, claimed in {rows[-1][1]}"
                found += f"; what the log tells allows {told / before:.2f}"
                asked.append(
                    (f"{robot}, a power meter alone: {what} error to {share:.2g}", found, after <= share * before)
                )
    titles = [
        f"{what}, {of}" for what in ("friction", "inertial error") for of in ("prior", "expected", "meter", "says")
    ]
    report.table(("", "claimed", *titles), rows)
    return asked


def _median(cells: Sequence[Record], key: str = "errors") -> list[float]:
    return [float(value) for value in np.median([cell[key] for cell in cells], axis=0)]


def _percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100.0 * value:.3g}"


def _plain(value: float) -> str:
    return f"{value:.3f}"
