# SPDX-License-Identifier: Apache-2.0
"""Does anything that can happen leave its certified range? A million attacks on random certified motions.

Random plans of a loaded Gen3, from rest or in motion, among random boxes; half of them with the bounds of Table I of
the paper, half with tightened ones; torques in time or late, exact or not. Each certificate is attacked with samples of
(model in its box, most of them at a corner or as near to one as a physical body is; tracking errors in their ellipsoids
or boxes, most on the surface or at corners; time, often at the edges of intervals; errors of measurements and torques
at their ends; torques as old as allowed). Torques are those that the law commands for the measured state. Plans
already in the records file are not run again.

Exit status 1 when anything was outside.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from benchmarks.soundness_distances import LAWS
from benchmarks.soundness_plan import KINDS, run_plan
from sysid_nodes.results.certificate import PROOFS

mpl.use("Agg")
from matplotlib import pyplot as plt

_QUICK = (8, 500)
_ASKED = 0.5
_UNITS = {
    "torque": "N m", "disturbance": "N m", "velocity": "rad/s", "position": "rad", "obstacle": "m", "self": "m",
}  # fmt: skip
_WORDS = {
    "torque": "command, against its certified range",
    "disturbance": "what the true model needs beyond the command's feedforward, against the proof's bound",
    "velocity": "true velocity, against its certified range",
    "position": "true position, against its certified range",
    "obstacle": "distance to obstacles, against the certified one",
    "self": "distance between parts of the robot, against the certified one",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("soundness", __doc__)
    options.add_argument("--plans", type=int, default=100, help="number of plans")
    options.add_argument("--samples", type=int, default=10000, help="samples of each")
    options.add_argument("--quick", action="store_true", help=f"{_QUICK[0]} plans of {_QUICK[1]} samples")
    add_options(options)
    chosen = options.parse_args(arguments)
    plans, samples = _QUICK if chosen.quick else (chosen.plans, chosen.samples)
    keys = [{"seed": chosen.seed, "index": plan, "samples": samples} for plan in range(plans)]
    records = collect(chosen, keys, run_plan, "soundness")
    report = Report("soundness", "Soundness", chosen.out, chosen.command)
    outside = summarise(report, records)
    print(report.write())
    print(f"{sum(r['samples'] for r in records)} samples, {outside} outside their certified range")
    return 1 if outside else 0


def summarise(report: Report, records: list[Record]) -> int:
    """Fills the report; returns how many samples were outside."""
    sampled = [r for r in records if r["samples"]]
    total = sum(r["samples"] for r in sampled)
    outside = {kind: sum(r["outside"][kind] for r in sampled) for kind in KINDS}
    verdicts = Counter(r["verdict"] for r in sampled)
    report.text(
        f"**{total} samples on {len(sampled)} plans: {sum(outside.values())} outside their certified range.** "
        f"Verdicts on these plans: {', '.join(f'{name} {count}' for name, count in sorted(verdicts.items()))}; ranges "
        f"hold for a refused plan too, if its errors are bounded. Plans whose errors could not be were drawn anew: "
        f"{sum(sum(r['refused'].values()) for r in records)}."
    )
    _nearest(report, sampled, outside)
    _groups(report, sampled)
    _plot(report.figure("", "How much of each certified range the samples of a plan used, and how near distances came"),
          sampled)  # fmt: skip
    return sum(outside.values())


def _nearest(report: Report, sampled: list[Record], outside: dict[str, int]) -> None:
    report.section("What came nearest")
    report.text(
        "*Share used* is the largest value seen relative to the bound, by joint; of positions and distances it is how "
        "much nearer errors bring the robot than the desired motion comes, relative to what is allowed for. The gap is "
        "the least distance to the bound. Distances count where the certified one is below 0.25 m, at which it stops."
    )
    rows = []
    for kind in KINDS:
        stated = [r for r in sampled if kind in r["gap"]]
        used = [r["used"][kind] for r in sampled if kind in r["used"]]
        gaps = [r["gap"][kind] for r in stated]
        rows.append((
            _WORDS[kind],
            sum(r["samples"] for r in stated),
            outside[kind],
            f"{min(gaps, default=np.nan):.3g} {_UNITS[kind]}" if gaps else "",
            f"{np.median(gaps):.3g} {_UNITS[kind]}" if gaps else "",
            f"{max(used):.3f}" if used else "",
        ))  # fmt: skip
    report.table(("", "samples", "outside", "least gap", "median of the plans' least", "share used"), rows)
    _below_half(report, sampled)
    engine = [gap for r in sampled for gap in r["engine"].values()]
    report.text(
        f"Distances of 20 samples a plan were measured by MuJoCo as well, which shares no code with the certifier: "
        f"least gap {min(engine, default=np.inf):.3g} m."
    )


def _below_half(report: Report, sampled: list[Record]) -> None:
    """Ranges of which less than half is used, and for distances how much of them errors could use at all."""
    most = {kind: max((r["used"][kind] for r in sampled if kind in r["used"]), default=1.0) for kind in KINDS}
    for kind in (kind for kind in KINDS if most[kind] < _ASKED):
        words = f"Below half: {_WORDS[kind]}."
        parts = np.array([r["errors"][kind] for r in sampled if kind in r["errors"]])
        if len(parts):
            (errors, moved), most = 100.0 * np.median(parts, axis=0), 100.0 * parts[:, 1].max()
            words += (
                f" Of what is allowed for, {errors:.0f} % are the errors' (median of {len(parts)} plans, certified "
                "again without), the rest is for what happens within a time interval. But where shapes come nearest, "
                f"all errors together change their distance by {moved:.1f} % of that in the median, {most:.0f} % at "
                "most, to first order: middles and edges, which turn together, are allowed for one by one."
            )
        report.text(words)


def _groups(report: Report, sampled: list[Record]) -> None:
    report.section("By knowledge of the load and by law")
    groups = {
        "Table I": [r for r in sampled if r["share"] == 1.0],
        "tightened": [r for r in sampled if r["share"] < 1.0],
        **{f"torques {law}": [r for r in sampled if r["law"] == law] for law in LAWS},
        **{f"proof: {name}": [r for r in sampled if r["proof"] == name] for name in PROOFS},
    }
    report.table(
        (
            "",
            "plans",
            "certified",
            "torque: share used",
            "disturbance: share used",
            "velocity: share used",
            "least gap to obstacles",
        ),
        [
            (
                name,
                len(of),
                sum(r["verdict"] == "CERTIFIED" for r in of),
                f"{max(r['used']['torque'] for r in of):.3f}",
                f"{max(r['used']['disturbance'] for r in of):.3f}",
                f"{max(r['used']['velocity'] for r in of):.3f}",
                f"{min((r['gap'].get('obstacle', np.inf) for r in of), default=np.inf):.3g} m",
            )
            for name, of in groups.items()
            if of
        ],
    )


def _plot(path: Path, records: list[Record]) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    colours = ("#2b6cb0", "#dd6b20", "#718096")
    for kind, colour in zip(("torque", "velocity", "disturbance"), colours, strict=True):
        left.hist(
            [r["used"][kind] for r in records], bins=np.linspace(0.0, 1.1, 56), color=colour, alpha=0.6, label=kind
        )
    left.axvline(1.0, color="black", lw=1.0)
    left.axvspan(1.0, 1.1, color="#c53030", alpha=0.08)
    left.set(xlabel="largest share of the certified range", ylabel="plans", xlim=(0.0, 1.1))
    left.legend(loc="upper left", frameon=False)
    for kind, colour in zip(("obstacle", "self"), colours, strict=False):
        gaps = [1e3 * r["gap"][kind] for r in records if kind in r["gap"]]
        right.hist(gaps, bins=np.linspace(-2.0, 60.0, 63), color=colour, alpha=0.6, label=kind)
    right.axvline(0.0, color="black", lw=1.0)
    right.set(xlabel="nearest sample beyond the certified distance [mm]", ylabel="plans")
    right.legend(loc="upper right", frameon=False)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
