# SPDX-License-Identifier: Apache-2.0
"""Gain by symmetry and the total mass for a Go2 and of a G1's legs, standing, hidden constants in MuJoCo.

Legs are mirror images of one another, front and rear ones of the Go2 too, in the truth as in the configuration; the
truth is drawn from what the prior says of such robots. The same readings are identified with neither, and with both.
Errors are of rigid-body torques along the motion, rotors included, which the paper's tables call inertial error, of
log-Cholesky coordinates in prior sigmas, and of the links' masses in percent; all are medians of the robots. Expected
errors of torques are the root mean squares that the posterior's own covariance gives: what an ideal estimator would be
left with, were the model true. MuJoCo's floor gives way under feet, of which no model knows; beside it are robots that
move just as they are asked to, by the identification's own equations, of which noise is all that errs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.bayesian_robots import BenchRobot, bench_robot
from benchmarks.bayesian_trial import MIDDLE, errors, rigid_rows
from benchmarks.bayesian_world import Truth, bench_log, readings, same_equations, simulate, true_mechanism
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Asked, Report, parser
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.mechanism import Mechanism

Array = npt.NDArray[np.float64]

_REACH = 0.7  # of how far the robots move in the tables: some of a G1's random motions want more than its legs are long
ROBOTS = {"quadruped": "Go2", "biped": "G1"}
MUJOCO = "MuJoCo"
TRUTHS = {MUJOCO: simulate, "same equations": same_equations}
_STATED = 0.05  # torque noise that the identification begins with, of the torques' root mean squares
_LESS = 0.2  # share by which inertial errors were asked to be less


def symmetric(own: BenchRobot) -> tuple[str, ...]:
    """Pairs of links, from their names."""
    links = [link for link in own.config.inertia.bodies.split(",") if link]
    if own.name == "biped":
        return tuple(
            f"{link}:{link.replace('left', 'right')}:y" for link in links if link.startswith("left")
        )  # fmt: skip
    sides = [f"{link}:{link[0]}R{link[2:]}:y" for link in links if link[1] == "L"]
    front = [link for link in links if link.startswith("FL")]
    return (*sides, *(f"{link}:RL{link[2:]}:{'x' if 'hip' in link else ''}" for link in front))


def alike(own: BenchRobot) -> BenchRobot:
    """Told that its legs are alike, and moving a little less."""
    inertia = replace(own.config.inertia, symmetric=symmetric(own))
    return replace(own, reach=_REACH * own.reach, config=replace(own.config, inertia=inertia))


def trial(robot: str, seed: int, duration: float, truth: str = MUJOCO) -> Record:
    """Errors with and without knowledge, of a robot in one of TRUTHS."""
    own = bench_robot(robot)
    hidden = alike(own)
    mechanism = true_mechanism(hidden)
    moved = TRUTHS[truth](hidden, seed, duration)
    masses = mechanism.parameters.inertia(moved.x)[:, 0]
    both = replace(hidden.config.inertia, total_mass=float(masses.sum()))
    known = {"neither": own.config.inertia, "both": both}
    q, torque, _ = readings(own, moved, MIDDLE, seed)
    noise = replace(own.config.noise, torque=_STATED * float(np.sqrt(np.mean(torque**2))))
    own = replace(own, config=replace(own.config, noise=noise))
    log, found, layout = bench_log(own, q, torque, None), {}, mechanism.parameters
    unknown = layout.sigma[0 : 10 * layout.n : 10] > 0.0
    for name, prior in known.items():
        result = identify(log, own.robot, replace(own.config, inertia=prior))
        x = layout.mean.copy()
        x[layout.free] = result.theta
        off = layout.inertia(x)[unknown, 0] / masses[unknown] - 1.0
        found[name] = {
            "errors": [*errors(mechanism, moved, x)[1:], float(np.sqrt(np.mean(off**2)))],
            "expected": expected_error(mechanism, moved, x, result.covariance),
            "status": result.status.name,
            "iterations": result.iterations,
        }
    return found


def expected_error(mechanism: Mechanism, truth: Truth, x: Array, covariance: Array) -> float:
    """Relative error of rigid-body torques that a posterior of that covariance (p, p) expects, root mean square."""
    own, rows = mechanism.parameters, rigid_rows(mechanism, truth)
    there = rows @ np.concatenate([own.inertia(truth.x).ravel(), own.constants(truth.x, "armature")])
    columns = np.concatenate([np.arange(10 * own.n), np.arange(len(x))[own.joint("armature")]])
    by_phi = np.zeros((*rows.shape[:2], len(x)))
    by_phi[:, :, columns] = rows
    values, vectors = np.linalg.eigh(covariance)
    root = own.linear(x)[1] @ vectors * np.sqrt(np.maximum(values, 0.0))
    return float(np.linalg.norm(by_phi[:, :, own.free] @ root) / np.linalg.norm(there))


def _verdict(what: str, trials: Sequence[Record], which: int) -> Asked:
    """Whether an error is as much less as was asked."""
    before, after = ([entry[name]["errors"][which] for entry in trials] for name in ("neither", "both"))
    ratios = np.array(after) / np.array(before)
    less, nearer = 1.0 - float(np.median(ratios)), int(np.sum(ratios < 1.0))
    found = f"{100.0 * less:.0f} % less of the median robot, less in {nearer} of {len(trials)}"
    if which == 0:
        hoped = 1.0 - float(np.median([entry["both"]["expected"] / entry["neither"]["expected"] for entry in trials]))
        found += f"; {100.0 * hoped:.0f} % by what is told"
    return f"{what} less by {100.0 * _LESS:.0f} %", found, less >= _LESS


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_symmetry", __doc__)
    options.add_argument("--seeds", type=int, default=5, help="hidden robots of each kind")
    options.add_argument("--duration", type=float, default=2.0, help="of each log [s]")
    options.add_argument("--robots", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="which of them")
    options.add_argument("--truths", nargs="*", default=list(TRUTHS), choices=TRUTHS, help="how they are simulated")
    add_options(options)
    args = options.parse_args(arguments)
    report = Report("bayesian-symmetry", "What symmetry and total mass tell", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    rows, asked = [], list[Asked]()
    for robot, truth in ((robot, truth) for robot in args.robots for truth in args.truths):
        seeds = range(args.seed, args.seed + args.seeds)
        how = {"truth": truth} if truth != MUJOCO else {}
        keys = [{"robot": robot, "seed": seed, "duration": args.duration} | how for seed in seeds]
        what = f"{ROBOTS[robot]}, {truth}"
        trials = collect(args, keys, trial, what)
        asked += [_verdict(f"{what}: {which}", trials, k) for k, which in ((0, "inertial error"), (2, "masses' error"))]
        for name in trials[0]:
            expected = np.median([entry[name]["expected"] for entry in trials])
            torque, coordinates, mass = np.median([entry[name]["errors"] for entry in trials], axis=0)
            rows.append((
                f"{what}, {name}", len(trials), f"{100.0 * torque:.3g}", f"{100.0 * expected:.3g}",
                f"{coordinates:.3f}", f"{100.0 * mass:.3g}",
                f"{np.median([entry[name]['iterations'] for entry in trials]):.0f}",
                " ".join(sorted({entry[name]["status"] for entry in trials})),
            ))  # fmt: skip
    report.table(
        ("", "seeds", "torque [%]", "expected [%]", "coordinates [sigma]", "masses [%]", "iterations", "status"), rows
    )
    report.asked(asked)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
