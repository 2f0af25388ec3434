# SPDX-License-Identifier: Apache-2.0
"""Does the certified loop keep its word? Hundreds of closed-loop episodes of a simulated Gen3.

True bodies at the edge of what bounds and physics allow, links, friction and armature at the corners of their boxes,
sensors at their stated worst, ticks that jitter, obstacles around the start and some that appear in motion, goals after
the identification: the classes of the nodes, replanning included, run it in simulated time. Every torque, position,
velocity, distance and tracking error is compared with what the executed trajectory's certificate says, by MuJoCo and
not by the certifier's own code. An episode that stops, is refused, or finds the truth outside its bounds fails as well,
unless obstacles that appeared leave nothing to certify. With --torque-error drives round or drag by as much as they
may, and the true model is the worst that optimisation finds for the start (episode_opponent.py). Episodes already in
the records file are not run again.

Exit status 1 when an episode failed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np

from benchmarks.episode_trial import run_trial
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.rollouts.contact_watch import FARTHEST

mpl.use("Agg")
from matplotlib import pyplot as plt

QUICK = 8
OUTCOMES = ("done", "not done", "goal reached", "goal not reached", "stopped")
KINDS = {
    "torque": ("commanded torque to its limit", "N m"),
    "position": ("position to its limit", "rad"),
    "velocity": ("velocity to its limit", "rad/s"),
    "obstacle": ("robot and load to obstacles", "m"),
    "self": ("parts of the robot to one another", "m"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("episodes", __doc__)
    options.add_argument("--episodes", type=int, default=200, help="number of episodes")
    options.add_argument("--delay", type=float, default=0.0, help="from a command to the earliest tick it acts in [s]")
    options.add_argument(
        "--torque-error", type=float, default=0.0, help="of drives that round or drag, with the worst true models [N m]"
    )
    options.add_argument("--quick", action="store_true", help=f"{QUICK} episodes only")
    add_options(options, jobs=2)
    chosen = options.parse_args(arguments)
    count = QUICK if chosen.quick else chosen.episodes
    drawn = {"seed": chosen.seed, "delay": chosen.delay, "torque_error": chosen.torque_error}
    keys = [{**drawn, "trial": trial} for trial in range(count)]
    records = collect(chosen, keys, run_trial, "episodes")
    name = "episodes" + "-late" * bool(chosen.delay) + "-off" * bool(chosen.torque_error)
    report = Report(name, "Closed-loop episodes", chosen.out, chosen.command)
    failed = summarise(report, records)
    print(report.write())
    print(f"{len(records)} episodes, {failed} failed")
    return 1 if failed else 0


def summarise(report: Report, records: list[Record]) -> int:
    """Fills the report; returns the number of failed episodes."""
    failed = [record for record in records if record["failures"]]
    followed = [each for record in records for each in record["followed"]]
    seconds = sum(each["duration"] for each in followed)
    cpu = sum(record["cpu"] for record in records) / max(len(records), 1)
    report.text(
        f"**{len(records)} episodes, {len(followed)} trajectories, {seconds:.0f} s of certified motion: "
        f"{len(failed)} episodes failed.** {cpu:.1f} s of CPU an episode."
    )
    report.text(
        "A failure is any number beyond what was certified of it, a limit exceeded, a contact, a stop, a refused "
        "trajectory, or a truth outside the published bounds. Where other obstacles appear in motion, the robot's own "
        "stop within the controller's grace is as it should be; a goal need not be reached."
    )
    report.table(
        ("", *OUTCOMES, "plans made", "of these too late", "refused"),
        [(task, *_outcomes(some)) for task, some in _tasks(records)],
    )
    for record in failed:
        report.text(f"- episode {record['trial']}: {'; '.join(record['failures'])}")
    report.section("Margins")
    report.text(
        "Least distances over all trajectories. *Certified* is the least that any certificate promised, *seen* the "
        "least that any episode came to; *closest* is the smallest difference of the two in one trajectory, in any "
        "joint: below zero it would be a broken promise. A certificate's torque margin may be zero: the robust input "
        "is given what the motors have left."
    )
    report.table(
        ("", "unit", "certified", "seen", "closest"),
        [(words, unit, *_least(followed, kind)) for kind, (words, unit) in KINDS.items()],
    )
    _report_tracking(report, records, followed)
    report.section("By what the episode drew")
    for factor in (
        "bounds", "payload", "links", "drives", "planner", "plans", "obstacles", "jitter", "reach", "goal", "change"
    ):  # fmt: skip
        report.table(
            (
                factor,
                "episodes",
                "failed",
                "largest norm share",
                "largest energy share",
                "median size of k [rad]",
            ),
            _by_factor(records, factor),
        )
    _plot(report.figure("", "Certified margins against what was seen, and shares of the proven errors"), followed)
    return len(failed)


def _report_tracking(report: Report, records: list[Record], followed: list[Record]) -> None:
    report.section("Tracking errors")
    usage = max(record["usage"] for record in records)
    report.text(
        "True errors as shares of the proven bounds, the worst over each trajectory: energy is r' M r / 2 with the "
        "true mass matrix, norm is that of the position errors; where the proof is that of late torques, the largest "
        "of each (r_j / bound)^2 and e_j / bound. The controller's own watch takes the sensors' errors off; "
        f"it saw at most {usage:.3f} of a bound."
    )
    rows = []
    for kind in ("energy", "norm"):
        shares = np.array([each[kind] for each in followed])
        rows.append((kind, *(f"{np.quantile(shares, level):.4f}" for level in (0.5, 0.9, 1.0))))
    report.table(("share of the bound", "median", "90 %", "largest"), rows)


def _tasks(records: list[Record]) -> list[tuple[str, list[Record]]]:
    """Records by what there was to do."""
    kinds = {
        (False, False): "identify",
        (True, False): "identify, go to a goal",
        (False, True): "identify, other obstacles appear",
        (True, True): "identify, go to a goal, other obstacles appear",
    }
    found = [(words, [r for r in records if (r["goal"], r["change"]) == kind]) for kind, words in kinds.items()]
    return [(words, some) for words, some in found if some]


def _outcomes(some: list[Record]) -> list[int]:
    ended = [sum(record["outcome"] == outcome for record in some) for outcome in OUTCOMES]
    return [
        *ended,
        *(sum(record[key] for record in some) for key in ("made", "late")),
        sum(len(r["refused"]) for r in some),
    ]


def _least(followed: list[Record], kind: str) -> tuple[str, str, str]:
    pairs = np.array([each[kind] for each in followed if each[kind][1] < FARTHEST])
    closest = (pairs[:, 0] - pairs[:, 1]).min()
    seen, certified = pairs[:, -2], pairs[:, -1]
    return f"{certified.min():.3f}", f"{seen.min():.3f}", f"{closest:.3f}"


def _by_factor(records: list[Record], factor: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for value in sorted({record[factor] for record in records}):
        some = [record for record in records if record[factor] == value]
        followed = [each for record in some for each in record["followed"]]
        worst = [f"{max((each[kind] for each in followed), default=0.0):.3f}" for kind in ("norm", "energy")]
        moved = float(np.median([each["displacement"] for each in followed])) if followed else 0.0
        rows.append((value, len(some), sum(bool(r["failures"]) for r in some), *worst, f"{moved:.2f}"))
    return rows


def _plot(path: Path, followed: list[Record]) -> None:
    figure, axes = plt.subplots(1, 3, figsize=(13.0, 4.0), layout="constrained")
    for kind, colour in (("obstacle", "#2b6cb0"), ("self", "#dd6b20")):
        seen, certified = np.array([each[kind] for each in followed]).T
        near = certified < 1.0
        axes[0].plot(certified[near], np.minimum(seen[near], 0.5), ".", color=colour, label=kind, markersize=4)
    top = axes[0].get_xlim()[1]
    axes[0].plot([0.0, top], [0.0, top], color="grey", linewidth=1)
    axes[0].set(xlabel="certified distance [m]", ylabel="distance seen [m]")
    axes[0].legend()
    torque = np.array([each["torque"] for each in followed])
    axes[1].plot(torque[:, 1], torque[:, 0], ".", color="#2b6cb0", markersize=4)
    top = max(axes[1].get_xlim()[1], 1.0)
    axes[1].plot([0.0, top], [0.0, top], color="grey", linewidth=1)
    axes[1].set(xlabel="certified torque margin [N m]", ylabel="margin seen, the joint closest to it [N m]")
    for kind, colour in (("norm", "#2b6cb0"), ("energy", "#dd6b20")):
        shares = np.clip([each[kind] for each in followed], 1e-4, None)
        axes[2].hist(shares, bins=np.geomspace(1e-4, 1.0, 40).tolist(), alpha=0.6, color=colour, label=kind)
    axes[2].set(xscale="log", xlabel="true error over proven bound", ylabel="trajectories")
    axes[2].legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
