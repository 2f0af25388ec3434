# SPDX-License-Identifier: Apache-2.0
"""Is the truth inside every published interval? A thousand worlds in which every stated assumption is true.

Gen3 with random payloads (also ones on the edge of what is physical), torque errors at their bound both random and
aimed, the other parameters anywhere in their box and at its corners, quantised encoders, jittered and wrong stamps,
velocity error, joints that reverse or stand still, rows over one to eight windows. Every result of the stream is
checked, not only the last one; an INCONSISTENT, or a window rejected for an assumption that does hold, counts as a
failure too. The same data go through the paper's sensitivity method. Trials already in the records file are not run
again.

Exit status 1 when set_membership failed anywhere.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from benchmarks.containment_trial import run_trial
from benchmarks.disturbances import TORQUE_PATTERNS
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.data.bounds import PARAMETER_NAMES

mpl.use("Agg")
from matplotlib import pyplot as plt

Array = npt.NDArray[np.float64]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("containment", __doc__)
    options.add_argument("--trials", type=int, default=1000, help="number of trials")
    options.add_argument("--window", type=float, help="of every trial [s], instead of one drawn")
    options.add_argument("--spans", type=int, help="windows in a row that rows are over at most, instead of one drawn")
    options.add_argument("--name", default="containment", help="of the report")
    add_options(options)
    chosen = options.parse_args(arguments)
    fixed = {name: getattr(chosen, name) for name in ("window", "spans") if getattr(chosen, name) is not None}
    keys = [{"seed": chosen.seed, "trial": trial, **fixed} for trial in range(chosen.trials)]
    records = collect(chosen, keys, run_trial, chosen.name)
    report = Report(chosen.name, "Containment", chosen.out, chosen.command)
    failures = summarise(report, records)
    print(report.write())
    print(f"{len(records)} trials, {failures} failures of set_membership")
    return 1 if failures else 0


def summarise(report: Report, records: list[Record]) -> int:
    """Fills the report; returns the number of failed trials of set_membership."""
    failed = [r for r in records if r["set_membership"]["misses"] or r["set_membership"]["accused"]]
    inside, off = _positions(records, "set_membership"), _positions(records, "sensitivity")
    results = sum(r["set_membership"]["results"] for r in records)
    report.text(
        f"**{len(records)} trials, {results} published results. set_membership: {len(failed)} trials with a miss, a "
        f"false INCONSISTENT or a false accusation. sensitivity (last result only): the truth outside an interval in "
        f"{int((off > 1.0).any(axis=1).sum())} trials.**"
    )
    report.text(
        "In every trial the stated assumptions are true, most of them with equality somewhere. For set_membership each "
        "result of the stream, or of each block, was compared with the truth, without tolerance. For sensitivity the "
        "interval from all data of the trial was."
    )
    for record in failed:
        report.text(f"- trial {record['trial']}: {json.dumps(record['set_membership'])}")
    _parameters(report, records, inside, off)
    report.section("By what the trial drew")
    report.text(
        "*Radius used* is the largest share of its error radius that any row needed at the true parameters: a sharper "
        "test of the radii than the intervals themselves; above 1 it would be a wrong radius."
    )
    for index, (factor, title) in enumerate(_FACTORS.items()):
        if index == _SHOWN:
            report.text("<details><summary>by everything else that was drawn</summary>")
        report.table(
            (title, "trials", "set_membership failed", "radius used", "sensitivity missed", "worst [half-widths]"),
            _by_factor(records, factor, failed, off),
        )
    report.text("</details>")
    report.section("What it said of itself")
    counts = Counter(r["set_membership"]["status"] for r in records)
    report.text(
        "Status of the last result: "
        + ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
        + " (NOT_EXCITED intervals are as proven as PROVEN ones; short or small motions leave directions blind)."
    )
    _plot(report.figure("", "Where the truth lies in the intervals, and which errors fool the first-order method"),
          records, inside, off)  # fmt: skip
    return len(failed)


def _parameters(report: Report, records: list[Record], inside: Array, off: Array) -> None:
    report.section("By parameter")
    report.text(
        "Distance of the truth from the interval's middle in half-widths: inside up to 1. The half-widths are those of "
        "the last result, median over the trials; set_membership starts from Table I of the paper."
    )
    widths = {m: np.median(_column(records, m, "half_width"), axis=0) for m in ("set_membership", "sensitivity")}
    report.table(
        (
            "", "set_membership: misses", "worst distance", "median half-width",
            "sensitivity: misses", "worst distance", "median half-width",
        ),
        [
            (
                name,
                sum(k in miss.get("parameters", ()) for r in records for miss in r["set_membership"]["misses"]),
                f"{inside[:, k].max():.3f}",
                f"{widths['set_membership'][k]:.4f}",
                int((off[:, k] > 1.0).sum()),
                f"{off[:, k].max():.2f}",
                f"{widths['sensitivity'][k]:.4f}",
            )
            for k, name in enumerate(PARAMETER_NAMES)
        ],
    )  # fmt: skip


_SHOWN = 5
"""Tables that are not folded away."""

_FACTORS = {
    "torque_pattern": "torque error",
    "corner": "robot's parameters",
    "payload": "payload",
    "motion": "motion",
    "known": "robot known to",
    "sensor_pattern": "velocity error pattern",
    "encoder": "encoder error",
    "velocity_error": "velocity error [rad/s]",
    "stamp_error": "stamp error [s]",
    "jitter": "sampling jitter [intervals]",
    "rate": "rate [Hz]",
    "duration": "data [s]",
    "still": "joints at rest",
    "torque_absolute": "absolute torque error [N m]",
    "offset": "torque offset uncertain by [N m]",
    "gain": "drive gain uncertain by",
    "smooth": "bounds on jerk (and, of sines, on torques' curvature) stated",
    "window": "window [s]",
    "max_rows": "rows kept",
    "mode": "fed as",
    "spans": "rows over windows in a row, at most",
}


def _by_factor(records: list[Record], factor: str, failed: list[Record], off: Array) -> list[tuple[object, ...]]:
    values = sorted({r[factor] for r in records})
    if factor == "torque_pattern":
        values.sort(key=TORQUE_PATTERNS.index)
    rows: list[tuple[object, ...]] = []
    for value in values:
        mask = np.array([r[factor] == value for r in records])
        used = max(r["radius_used"] for r in records if r[factor] == value)
        rows.append((
            value, int(mask.sum()), sum(r[factor] == value for r in failed), f"{used:.4f}",
            int((off[mask] > 1.0).any(axis=1).sum()), f"{off[mask].max():.2f}",
        ))  # fmt: skip
    return rows


def _column(records: list[Record], method: str, key: str) -> Array:
    return np.array([r[method][key] for r in records], dtype=np.float64)


def _positions(records: list[Record], method: str) -> Array:
    """(trials, 10) distance of the truth from the middle in half-widths; a NaN is INCONSISTENT's and counts as out."""
    return np.nan_to_num(_column(records, method, "position"), nan=np.inf)


def _plot(path: Path, records: list[Record], inside: Array, off: Array) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
    blue, orange = "#2b6cb0", "#dd6b20"
    far = max(10.0, 1.2 * float(off.max()))
    edges = np.concatenate([np.geomspace(1e-3, 1.0, 43), np.geomspace(1.0, far, int(14 * np.log10(far)) + 2)[1:]])
    for values, colour, name in ((inside, blue, "set_membership"), (off, orange, "sensitivity")):
        left.hist(np.clip(values.ravel(), edges[0], edges[-1]), bins=edges, color=colour, alpha=0.6, label=name)
    left.axvline(1.0, color="black", lw=1.0)
    left.axvspan(1.0, edges[-1], color="#c53030", alpha=0.08)
    left.text(1.15, 0.9, "missed", transform=left.get_xaxis_transform(), color="#c53030")
    left.set(xscale="log", yscale="log", xlim=(edges[0], edges[-1]))
    left.set(xlabel="distance of the truth from the middle [half-widths]", ylabel="intervals")
    left.set_title(f"{inside.size} last intervals of {len(records)} trials")
    left.legend(loc="upper left", frameon=False)
    patterns = [p for p in TORQUE_PATTERNS if any(r["torque_pattern"] == p for r in records)]
    masks = [np.array([r["torque_pattern"] == p for r in records]) for p in patterns]
    share = [100.0 * float((off[mask] > 1.0).any(axis=1).mean()) for mask in masks]
    mine = [100.0 * float((inside[mask] > 1.0).any(axis=1).mean()) for mask in masks]
    y = np.arange(len(patterns))
    right.barh(y - 0.2, share, 0.38, color=orange, label="sensitivity")
    right.barh(y + 0.2, mine, 0.38, color=blue, label="set_membership")
    for k, value in enumerate(mine):
        right.text(value, y[k] + 0.2, f" {value:g} %", va="center", fontsize=8, color=blue)
    right.set_yticks(y, patterns)
    right.invert_yaxis()
    right.set(xlabel="trials with the truth outside some interval [%]", title="by pattern of the torque error")
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
