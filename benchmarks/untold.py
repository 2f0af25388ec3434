# SPDX-License-Identifier: Apache-2.0
"""Effects that nobody told the identifier of: how often are calibrated bounds claimed, and how often wrongly?

A UR5 in MuJoCo (untold_arm.py) is calibrated unloaded and weighs a load, message by message, with one effect at random
sizes; of most effects the unloaded run has the same. What counts is every bound that was published as PROVEN (or
NOT_EXCITED), not the last alone. Nothing here was tuned to these draws. Exit status 1 when a claim was wrong.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from benchmarks.untold_trial import EFFECTS, LOADED, UNLOADED, run
from sysid_nodes.results import Status

_STATUSES = (Status.PROVEN, Status.NOT_EXCITED, Status.UNWEIGHED, Status.DOUBTFUL, Status.INCONSISTENT)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("untold", __doc__)
    options.add_argument("--draws", type=int, default=6, help="arms of each effect")
    options.add_argument("--effects", nargs="+", choices=list(EFFECTS), default=list(EFFECTS), help="which")
    add_options(options)
    chosen = options.parse_args(arguments)
    first = 1000 * chosen.seed
    keys = [{"effect": name, "seed": first + k} for name in chosen.effects for k in range(chosen.draws)]
    records = collect(chosen, keys, run, "untold")
    report = Report("untold", "Effects that nobody told the identifier of", chosen.out, chosen.command)
    wrong = summarise(report, [(str(key["effect"]), found) for key, found in zip(keys, records, strict=True)])
    print(report.write())
    return 1 if wrong else 0


def summarise(report: Report, records: Sequence[tuple[str, Record]]) -> int:
    """Fills the report; returns in how many draws a claim was wrong."""
    healthy = [found for name, found in records if name == "none"]
    wrong = [(name, found) for name, found in records if found["claimed_wrong"]]
    report.text(
        f"**In {len(wrong)} of {len(records)} draws some published bound was claimed and wrong.** Unloaded runs of "
        f"{UNLOADED:g} s, loaded ones of {LOADED:g} s. Ends are right or wrong by all ten parameters."
    )
    if healthy:
        lost = sum(found["status"] not in (Status.PROVEN.name, Status.NOT_EXCITED.name) for found in healthy)
        report.text(f"Without an effect {len(healthy) - lost} of {len(healthy)} end with a claim.")
    names = [status.name for status in _STATUSES]
    report.table(
        ("not told", "draws", *names, "claimed wrongly on the way", "at the end", "doubtful and wrong", "mass [kg]"),
        [_row(name, [found for own, found in records if own == name]) for name in dict.fromkeys(n for n, _ in records)],
    )
    report.text("`mass` is the median width of the mass's interval where the end is a claim.")
    if wrong:
        report.section("Wrong claims")
        report.table(
            ("not told", "size", "end", "steps claimed", "of them wrong"),
            [(EFFECTS[n][0], _size(f), f["status"], f["claimed"], f["claimed_wrong"]) for n, f in wrong],
        )
    doubts = Counter((name, found["doubt"].split(",")[0]) for name, found in records if found["doubt"])
    report.section("What the doubts say")
    report.table(("not told", "said", "draws"), [(EFFECTS[n][0], _said(line), k) for (n, line), k in _merged(doubts)])
    return len(wrong)


def _row(name: str, found: Sequence[Record]) -> tuple[object, ...]:
    ends = Counter(entry["status"] for entry in found)
    claims = [entry for entry in found if entry["status"] in (Status.PROVEN.name, Status.NOT_EXCITED.name)]
    doubtful = [entry for entry in found if entry["status"] == Status.DOUBTFUL.name]
    widths = sorted(entry["width"] for entry in claims)
    return (
        EFFECTS[name][0],
        len(found),
        *(ends[status.name] for status in _STATUSES),
        sum(bool(entry["claimed_wrong"]) for entry in found),
        sum(not entry["right"] for entry in claims),
        sum(not entry["right"] for entry in doubtful),
        f"{widths[len(widths) // 2]:.3f}" if widths else "",
    )


def _size(found: Record) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in found["untold"].items())


def _said(line: str) -> str:
    return "more torque error than the calibration's own runs" if line.startswith("the data need") else line


def _merged(doubts: Counter[tuple[str, str]]) -> list[tuple[tuple[str, str], int]]:
    """Counts by effect and kind of doubt, numbers left out."""
    total: Counter[tuple[str, str]] = Counter()
    for (name, line), count in doubts.items():
        total[name, _said(line)] += count
    return list(total.items())


if __name__ == "__main__":
    sys.exit(main())
