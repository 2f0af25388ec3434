# SPDX-License-Identifier: Apache-2.0
"""Torque of a real arm's log predicted from other logs of it, or from other parts of it, against plain least squares.

A Panda's and a UR10e's run in 18 splits each, three logs of a Gen3 one by another, by the two others and by halves,
and a UR10e's runs of other days. Of each joint: root mean square by what `sysid calibrate` keeps for predictions over
that by ordinary least squares of the same rows (links, Coulomb and viscous friction, armature, offsets). The logs are
not part of the project; without them this says so and does nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.real_arm_logs import RealArm, real_arms
from benchmarks.report import Report, parser
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows
from sysid_nodes.systems.interval.estimate.robot_belief import Bare, predicting_point, statistical_belief
from sysid_nodes.systems.interval.momentum_rows import MomentumRows, join, select
from sysid_nodes.systems.interval.torque_models import compare_torque, plain_least_squares
from sysid_nodes.systems.interval.unknowns import identify_payload

Array = npt.NDArray[np.float64]
Split = tuple[str, MomentumRows, MomentumRows]
"""Name, windows that are known, windows to be predicted."""

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = 4
"""Windows over which squared errors are averaged before they are compared: neighbours share their errors."""

_SURE = 2.0
"""Standard errors of the mean of blocks from which a difference counts as one."""


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 when predictions are worse than least squares, in the geometric mean of a robot's splits and joints."""
    options = parser("torque_splits", __doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the logs")
    args = options.parse_args(arguments)
    if not args.data.is_dir():
        sys.stdout.write(f"no logs under {args.data}; nothing was measured\n")
        return 0
    report = Report(
        "torque-splits", "Torque of real arms predicted, against plain least squares", args.out, args.command
    )
    arms = {arm.name: arm for arm in real_arms(args.data)}
    panda, loaded = arms["Panda, second half"], arms["UR10e, loaded"]
    points = arms["UR10e, points nine days before"]
    gen3 = [arm for name, arm in arms.items() if name.startswith("Gen3")]
    whole = np.concatenate
    run = JointSamples(
        panda.unloaded.names,
        *(whole([getattr(half, part) for half in (panda.unloaded, panda.other)]) for part in ("t", "q", "qd", "tau")),
    )
    unloaded, other = rows_of(loaded, loaded.unloaded), rows_of(points, points.other)
    days = [("run by points, nine days before", other, unloaded), ("points by run", unloaded, other)]
    means = [
        compare(report, "Panda", panda, parts(rows_of(panda, run))),
        compare(report, "Gen3", gen3[0], logs([rows_of(arm, arm.other) for arm in gen3])),
        compare(report, "UR10e", loaded, [*parts(unloaded), *days]),
    ]
    sys.stdout.write(f"{report.write()}\n")
    return 0 if max(means) <= 1.0 else 1


def rows_of(arm: RealArm, samples: JointSamples) -> MomentumRows:
    """The windows of a log."""
    bare = bare_of(arm)
    unknowns = identify_payload(bare.n, bare.body, bare.centre, bare.radius, bare.prior)
    return run_rows(arm.robot, arm.config, Run(samples, 0.0, arm.name), unknowns)


def bare_of(arm: RealArm) -> Bare:
    """The robot as stated."""
    box = known_box(arm.robot, arm.config.known_robot)
    return Bare(arm.robot.n, arm.robot.body_index(arm.config.body), *box, arm.config.prior.bounds)


def parts(rows: MomentumRows) -> Iterator[Split]:
    """Splits of one run: what follows by what was before, the reverse, one part by the others, every second block."""
    count = len(rows.t)
    at = np.arange(count)
    known: dict[str, npt.NDArray[np.bool_]] = {}
    for share in (0.5, 2 / 3, 0.69):
        known[f"last {1 - share:.0%} by what was before"] = at < share * count
    for share in (0.5, 2 / 3):
        known[f"first {1 - share:.0%} by what follows"] = at >= (1 - share) * count
    for pieces in (3, 4, 6):
        for k in range(1, pieces - 1) if pieces == 3 else range(pieces):
            known[f"part {k + 1} of {pieces} by the others"] = at * pieces // count != k
    for k, name in enumerate(("even", "odd")):
        known[f"{('odd', 'even')[k]} blocks of six windows by the {name}"] = at // 6 % 2 == k
    for name, which in known.items():
        yield name, select(rows, which), select(rows, ~which)


def logs(rows: list[MomentumRows]) -> Iterator[Split]:
    """Splits of three logs: each by each other, by both others, and its halves by one another."""
    for k, own in enumerate(rows):
        others = [j for j in range(len(rows)) if j != k]
        for j in others:
            yield f"log {k + 1} by {j + 1}", rows[j], own
        yield f"log {k + 1} by both others", join(rows[others[0]], rows[others[1]]), own
        half = len(own.t) // 2
        yield f"second half of log {k + 1} by its first", select(own, slice(0, half)), select(own, slice(half, None))
        yield f"first half of log {k + 1} by its second", select(own, slice(half, None)), select(own, slice(0, half))


def compare(report: Report, name: str, arm: RealArm, splits: Iterator[Split] | list[Split]) -> float:
    """A table of all splits; returns the geometric mean of their ratios."""
    bare, ratios, surely, table = bare_of(arm), [], [], []
    for split, known, unseen in splits:
        plain = np.concatenate([plain_least_squares([known], bare.centre[14 * bare.n :]), np.zeros(bare.n)])
        belief, _ = statistical_belief(bare, [known])
        models = {"ours": predicting_point(bare, belief, [known]), "plain": plain}
        found = compare_torque(unseen, bare.body, models)
        more = (found.measured - found.predicted["ours"]) ** 2 - (found.measured - found.predicted["plain"]) ** 2
        blocks = np.array([part.mean(axis=0) for part in np.array_split(more, max(3, len(more) // _BLOCK))])
        error = blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks))
        ratios.append(found.rms("ours") / found.rms("plain"))
        surely.append(np.sign(more.mean(axis=0)) * (np.abs(blocks.mean(axis=0)) > _SURE * error))
        marks = {1: " +", 0: "", -1: " -"}
        cells = [f"{r:.2f}{marks[int(s)]}" for r, s in zip(ratios[-1], surely[-1], strict=True)]
        table.append((split, *cells))
    every, sure = np.array(ratios), np.array(surely)
    table.append(("**geometric mean**", *(f"**{np.exp(m):.2f}**" for m in np.log(every).mean(axis=0))))
    table.append(("at or below least squares", *(f"{int(s)} of {len(every)}" for s in (every <= 1.0).sum(axis=0))))
    mean = float(np.exp(np.log(every).mean()))
    report.section(name)
    report.text(
        f"Root mean square of the torque left over, over that of plain least squares, on average {mean:.2f}. "
        f"Minus and plus: smaller and larger by more than {_SURE:g} standard errors of the mean of blocks of {_BLOCK} "
        f"windows, in {int((sure < 0).sum())} and {int((sure > 0).sum())} of {sure.size}."
    )
    report.table(("", *(f"joint {k + 1}" for k in range(bare.n))), table)
    return mean


if __name__ == "__main__":
    sys.exit(main())
