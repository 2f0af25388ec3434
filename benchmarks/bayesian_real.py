# SPDX-License-Identifier: Apache-2.0
"""Torques of real arms, predicted in runs that the identification has not seen, beside ordinary least squares.

UR10e: six runs of 30 s in which one joint after the other moves tell friction; the torques of a run through ten points
nine days before, and of holding still at each of them, are predicted. Gen3: each of three logs of the joints' torque
sensors predicts the other two. A prior that knows nothing of rotors is given a log of either side of the gears: the
rotors' inertia tells which it is. Panda: each fifth of a log of 14 s is predicted from the rest of it. Least squares
has links, friction, rotors and offsets of all joints, either unknown altogether or with the description's links; errors
are root mean squares [N m]. The logs are not part of the project; without them this says so and does nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from benchmarks.bayesian_real_arms import (
    LINKS,
    OURS,
    ROOT,
    SEEN,
    Arm,
    Fits,
    gen3_arm,
    gen3_run,
    kinova_run,
    panda_arm,
    ur10e_arm,
    ur10e_robot,
    ur10e_run,
    ur10e_table,
)
from benchmarks.bayesian_real_report import believed, compare, no_worse, sides, tell
from benchmarks.report import Asked, Report, parser
from sysid_nodes.cli.main import main as command
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.systems.bayesian.config import HUBER

Array = npt.NDArray[np.float64]

_FIFTHS = 5
_LOAD = 2.805  # [kg] that the UR10e carries


def ur10e(folder: Path, report: Report) -> list[Asked]:
    """Friction from joint-wise runs, and the load that a calibrated arm carries."""
    robot = ur10e_robot(folder)
    runs = [ur10e_run(folder, f"joint {k}") for k in range(1, 7)]
    arm = ur10e_arm(folder, runs)
    result = arm.identify(runs)
    report.section("UR10e: friction from joint-wise runs")
    tell(report, result)
    friction = [row for row in result.parameters if row.group == "friction"]
    report.table(
        ("", "mean", "sigma", "prior sigma", ""),
        [(row.name, f"{row.mean:.2f}", f"{row.sigma:.2f}", f"{row.prior_sigma:.2f}", row.verdict) for row in friction],
    )
    moving = ur10e_run(folder, "ptp")
    still = [ur10e_table(robot, folder / "validation" / f"ur-20_01_17-p{k}.csv") for k in range(1, 11)]
    report.text("Through ten points, whole run, and holding still at each of them.")
    fits = Fits.of(arm, result, runs)
    found = fits.errors(moving)
    compare(report, robot, {"moving": found})
    each = [fits.errors(run) for run in still]
    held = {name: np.concatenate([one[name] for one in each]) for name in each[0]}
    compare(report, robot, {"still": held})
    lower, upper, mass = carried(folder)
    words = f"{mass:.3f} kg, {lower:.3f} to {upper:.3f}"
    return [
        believed("UR10e, joint-wise runs", [result]),
        no_worse("UR10e, torques of a run nine days before", [(found, OURS, (LINKS, SEEN))]),
        no_worse("UR10e, holding still", [(held, OURS, (LINKS, SEEN))]),
        (f"UR10e, {_LOAD} kg on a calibration: within 3 %", words, abs(mass - _LOAD) <= 0.03 * _LOAD),
        (f"UR10e, {_LOAD} kg: within its 95 % interval", words, lower <= _LOAD <= upper),
    ]


def carried(folder: Path) -> tuple[float, float, float]:
    """Ends of the 95 % interval of the load's mass, and its estimate [kg], by the command's own two steps."""
    with TemporaryDirectory() as place:
        words = ["--config", str(ROOT / "config" / "ur10e.yaml"), "--urdf", str(folder / "ur10e.urdf")]
        known, out = f"{place}/calibration.json", f"{place}/out"
        calibration = ["--method", "bayesian", "--set=bayesian.search.starts=1", "--out", known]
        command(["calibrate", str(folder / "unloaded_mcap"), *words, *calibration])
        command(["replay", str(folder / "loaded_2805g_mcap"), *words, "--calibration", known, "--out", out])
        mass = read_result(Path(out))["parameters"][0]
    return mass["likely_lower"], mass["likely_upper"], mass["nominal"]


def gen3(folder: Path, report: Report) -> list[Asked]:
    """One log predicts another, and the side of the gears is told apart."""
    arm = gen3_arm()
    robot, config = arm.robot, arm.config
    logs = [gen3_run(robot, folder, k) for k in (1, 2, 3)]
    report.section("Gen3: one log predicts another")
    results, errors = [], list[dict[str, Array]]()
    for k, log in enumerate(logs):
        result = arm.identify([log])
        results.append(result)
        report.text(f"Fitted on log {k + 1}.")
        tell(report, result)
        others = [j for j in range(3) if j != k]
        fits = Fits.of(arm, result, [log])
        predicted = {f"log {j + 1}": fits.errors(logs[j]) for j in others}
        compare(report, robot, predicted)
        errors += predicted.values()
    report.section("Gen3: which side of the gears")
    report.text(
        "Rotors' inertia [kg m2] and its 95 % interval, the prior's sigma being 5 for all, by joint. Torques may be "
        "late by some tenths of a second, and a robust loss weighs positions, whose stamps are not even."
    )
    wide = replace(
        config,
        friction=replace(config.friction, coulomb_sigma=5.0, viscous_sigma=10.0),
        drive=replace(config.drive, armature_sigma=5.0, delay_sigma=0.1),
        noise=replace(config.noise, loss=HUBER),
    )
    rows, rotors = [], []
    for name, sign in (("joint_sensor_1", -1.0), ("motor_side_2", 1.0)):
        result = Arm(robot, np.ones(robot.n), wide).identify([kinova_run(robot, folder / f"{name}.npz", sign)])
        found = [row for row in result.parameters if row.name.endswith(".armature")]
        rotors.append([(row.lower, row.upper) for row in found])
        told = [f"{row.mean:.2f} ({row.lower:.2f} to {row.upper:.2f})" for row in found]
        rows.append((f"{name}, {result.status.name}", *told))
    report.table(("log", *robot.joint_names), rows)
    return [
        believed("Gen3, each log", results),
        no_worse("Gen3, torques of one log by another", [(one, OURS, (SEEN,)) for one in errors]),
        sides(*rotors),
    ]


def panda(folder: Path, report: Report) -> list[Asked]:
    """Each fifth of a log from the others: one of them alone has few errors that are independent."""
    arm = panda_arm()
    run = kinova_run(arm.robot, folder / "panda_first70.npz", 1.0)
    ends = np.linspace(0, len(run.t), _FIFTHS + 1).astype(int)
    report.section("Panda: a fifth from the others")
    squares, every, results = dict[str, list[Array]](), dict[str, list[Array]](), []
    for first, last in pairwise(ends.tolist()):
        parts = [run.slice(a, b) for a, b in ((0, first), (last, len(run.t))) if b > a]
        parts.sort(key=lambda part: -len(part.t))  # what begins short takes noise for motion
        result = arm.identify(parts)
        results.append(result)
        errors = Fits.of(arm, result, parts).errors(run.slice(first, last))
        for name, error in errors.items():
            squares.setdefault(name, []).append(np.mean(error**2, axis=0))
            every.setdefault(name, []).append(error)
    report.text(
        f"{', '.join(result.status.name for result in results)}. "
        "All fifths together, and in how many of them ours is nearer."
    )
    rows = [(name, *(f"{v:.3f}" for v in np.sqrt(np.mean(each, axis=0)))) for name, each in squares.items()]
    for other in (LINKS, SEEN):
        won = np.sum(np.array(squares[OURS]) < np.array(squares[other]), axis=0)
        rows.append((f"ours nearer than {other}", *(f"{k} of {_FIFTHS}" for k in won)))
    report.table(("", *arm.robot.joint_names), rows)
    together = {name: np.concatenate(parts) for name, parts in every.items()}
    return [
        believed("Panda, each four fifths", results),
        no_worse("Panda, torques of a fifth by the others", [(together, OURS, (SEEN,))]),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_real", __doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the logs")
    args = options.parse_args(arguments)
    if not args.data.is_dir():
        sys.stdout.write(f"no logs under {args.data}; nothing was measured\n")
        return 0
    report = Report("bayesian-real", "Torques of real arms, predicted", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    asked = ur10e(args.data / "ur10e_payload", report)
    asked += gen3(args.data / "kinova_gen3_real", report)
    asked += panda(args.data / "panda_excitation", report)
    report.asked(asked)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
