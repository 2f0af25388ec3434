# SPDX-License-Identifier: Apache-2.0
"""A payload that is taken up midway: is anything claimed of constants that were not the same throughout?

Double pendulums and Pandas in MuJoCo, their constants drawn from the prior, and logs of real arms, each carries a body
at its last link from some share of the log on: the readings of torques hold what it needs along the motion that was
read. A log that is CONTRADICTED claims nothing. Of those that claim something, the shares of the 95 % intervals of what
is observed that hold the constants before the change, and after it, are counted; of real arms nobody knows them.
Changes that are too slight to contradict are counted apart (--slight): payloads and friction of all joints that step at
the middle, grow along the log or settle as what warms up does, with gears that ripple, which nobody is told of; where a
change is doubted intervals are wider. Real logs are not part of the project; without them they are left out.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.signal import savgol_filter

from benchmarks.bayesian_changes_report import clear_row, slight_row, slight_verdict, verdict
from benchmarks.bayesian_log import constants_by_name
from benchmarks.bayesian_real_arms import ROOT, Arm, gen3_arm, gen3_run, ur10e_arm, ur10e_run
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import Truth, bench_log, readings, simulate, true_mechanism
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.data.inertia import com_to_parameters, parameters_to_log_cholesky
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.mechanism import Motion

Array = npt.NDArray[np.float64]

SHARES = (0.1, 0.5, 0.75)
"""Of the part of a log that is used, at which the payload is taken up."""
PAYLOADS = {"pendulum": (0.02, 0.06, 0.2), "manipulator": (0.3, 1.0, 3.0)}
"""[kg]"""
REAL = ("gen3 1", "gen3 2", "gen3 3", "ur10e unloaded", "ur10e ptp", *(f"ur10e joint {k}" for k in range(1, 7)))
CARRYING = ("gen3 1", "gen3 2", "gen3 3", "ur10e unloaded", "ur10e ptp")
"""Of which all joints move; from their middle on."""
SLIGHT = {"pendulum": (0.0005, 0.001, 0.002, 0.005), "manipulator": (0.01, 0.03, 0.06, 0.1)}
"""[kg] of payloads that may go unnoticed."""
RUBS = (0.01, 0.03, 0.1)
"""Shares by which dry friction grows, likewise."""
COURSES: dict[str, Callable[[Array], Array]] = {
    "at once": lambda t: (t >= _MIDDLE).astype(float),
    "steadily": lambda t: t,
    "settling": lambda t: 1.0 - np.exp(-t / _SETTLES),
}
"""Share of a change over the part of a log that is used, from 0 to 1."""
_SETTLES = 0.2
_RIPPLE, _TEETH = 0.003, 30.0  # of the torques' root mean squares; of a turn by 1 rad
_MIDDLE = 0.5
_NOISE = 3e-4  # of positions [rad]
_WORDS = "constants seem to change along the log"
_SMOOTH = 0.1  # [s] half a window over which a real log's motion is smoothed
_PLACE = {"pendulum": (0.0, 0.01, 0.05), "manipulator": (0.02, 0.01, 0.15)}


def payload(mass: float, place: Sequence[float]) -> Array:
    """(10,) inertial parameters of a ball of 8 cm."""
    return com_to_parameters(mass, np.array(place), 0.4 * mass * 0.04**2 * np.eye(3))


@cache
def arm(name: str, seed: int, seconds: float) -> Truth:
    """A hidden arm and its motion."""
    return simulate(bench_robot(name), seed, seconds)


def trial(name: str, seed: int, seconds: float, mass: float, share: float) -> Record:
    """Of a simulated arm: status, whether a change is said, shares of intervals that hold, before and after it."""
    own, truth = bench_robot(name), arm(name, seed, seconds)
    mechanism = true_mechanism(own)
    q, torque, _ = readings(own, truth, _NOISE, seed)
    after, last = truth.x.copy(), mechanism.parameters.body(own.robot.n - 1)
    if mass:
        carried = mechanism.parameters.inertia(truth.x)[-1] + payload(mass, _PLACE[name])
        after[last] = parameters_to_log_cholesky(carried)
    motion = Motion(truth.q, truth.v, truth.a, np.zeros((len(truth.q), 0)))
    since = np.arange(len(truth.q)) >= share * (1.0 - own.config.held_out) * len(truth.q)
    more = (mechanism.torque(motion, after) - mechanism.torque(motion, truth.x)) * since[:, None]
    result = identify(bench_log(own, q, torque + more, None), own.robot, own.config)
    return _told(result, *(constants_by_name(mechanism, x) for x in (truth.x, after)))


def slight_trial(name: str, seed: int, seconds: float, course: str, mass: float, rub: float) -> Record:
    """The same of a change by a payload [kg] and a share of dry friction along a course; gears ripple."""
    own, truth = bench_robot(name), arm(name, seed, seconds)
    mechanism, rng = true_mechanism(own), np.random.default_rng([seed, 2])
    q, torque, _ = readings(own, truth, _NOISE, seed)
    layout, after = mechanism.parameters, truth.x.copy()
    last = layout.body(own.robot.n - 1)
    after[last] = parameters_to_log_cholesky(layout.inertia(truth.x)[-1] + payload(mass, _PLACE[name]))
    after[layout.joint("coulomb")] *= 1.0 + rub
    motion = Motion(truth.q, truth.v, truth.a, np.zeros((len(truth.q), 0)))
    share = COURSES[course](np.arange(len(truth.q)) / ((1.0 - own.config.held_out) * len(truth.q)))
    more = (mechanism.torque(motion, after) - mechanism.torque(motion, truth.x)) * share[:, None]
    size = _RIPPLE * np.sqrt(np.mean(truth.torque**2, axis=0))
    more = more + size * np.sin(_TEETH * truth.q + rng.uniform(0.0, 2.0 * np.pi, own.robot.n))
    result = identify(bench_log(own, q, torque + more, None), own.robot, own.config)
    return _told(result, *(constants_by_name(mechanism, x) for x in (truth.x, after)))


def real_trial(name: str, mass: float, share: float) -> Record:
    """The same of a real log with a virtual payload."""
    data = ROOT.parent / "shared" / "data"
    kind, _, rest = name.partition(" ")
    if kind == "gen3":
        found = gen3_arm()
        run = gen3_run(found.robot, data / "kinova_gen3_real", int(rest))
    else:
        run = ur10e_run(data / "ur10e_payload", rest)
        found = ur10e_arm(data / "ur10e_payload", [run])
    return _told(found.identify([_loaded(found, run, mass, share) if mass else run]))


def _loaded(own: Arm, run: JointSamples, mass: float, share: float) -> JointSamples:
    """With the torques of a payload from a share of the run on."""
    step = float(np.median(np.diff(run.t)))
    t = np.arange(run.t[0], run.t[-1], step)
    even = np.stack([np.interp(t, run.t, column) for column in run.q.T], axis=1)
    window = 2 * int(_SMOOTH / step) + 1
    q, v, a = (savgol_filter(even, window, 3, deriv=order, delta=step, axis=0) for order in range(3))
    torque = standard_regressor(own.mechanism().chain, q, v, a)[:, :, -10:] @ payload(mass, _PLACE["manipulator"])
    more = np.stack([np.interp(run.t, t, column) for column in torque.T], axis=1)
    since = run.t - run.t[0] >= share * (run.t[-1] - run.t[0])
    return replace(run, tau=run.tau + more * since[:, None] / own.gain)


def _told(result: BayesianResult, *truths: dict[str, float]) -> Record:
    told = [row for row in result.parameters if row.verdict == "observed"]
    held = [float(np.mean([row.lower <= truth[row.name] <= row.upper for row in told])) for truth in truths]
    said = [text for text in result.findings if _WORDS in text]
    return {"status": result.status.name, "said": said, "held": held if result.status.trusted else []}


def _slight(report: Report, args: Namespace, name: str) -> list[tuple[bool, Record]]:
    """Adds the table of slight changes of one kind of arm; whether each log's constants change, and what was said."""
    cases = [(0.0, 0.0), *((mass, 0.0) for mass in SLIGHT[name]), *((0.0, rub) for rub in RUBS)]
    rows, every = [], list[tuple[bool, Record]]()
    for mass, rub in cases:
        for course in COURSES if mass or rub else list(COURSES)[:1]:
            fixed = {"name": name, "seconds": args.duration, "course": course, "mass": mass, "rub": rub}
            what = f"{1e3 * mass:g} g" if mass else f"friction {100.0 * rub:g} % more"
            title = f"{what} {course}" if mass or rub else "nothing"
            keys = [fixed | {"seed": seed} for seed in range(args.seed, args.seed + args.arms)]
            found = collect(args, keys, slight_trial, f"{name}, {title}")
            every += [(bool(mass or rub), one) for one in found]
            rows.append(slight_row(title, found))
    report.section(f"Slight changes: {name}")
    head = ("doubted", "before", "after", "nothing said", "before", "after")
    report.table(("", "logs", "nothing claimed", *head), rows)
    return every


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_changes", __doc__)
    options.add_argument("--arms", type=int, default=10, help="hidden arms of each kind")
    options.add_argument("--duration", type=float, default=4.0, help="of each log [s]")
    options.add_argument("--robots", nargs="*", default=list(PAYLOADS), choices=list(PAYLOADS), help="which of them")
    options.add_argument("--slight", action="store_true", help="changes that may go unnoticed instead")
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real logs")
    add_options(options)
    args = options.parse_args(arguments)
    stem, title = "bayesian-changes", "A payload taken up midway"
    if args.slight:
        stem, title = f"{stem}-slight", "Constants that change slightly"
    report = Report(stem, title, args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    if args.slight:
        report.asked(slight_verdict([one for name in args.robots for one in _slight(report, args, name)]))
    else:
        report.asked(verdict(_clear(report, args)))
    sys.stdout.write(f"{report.write()}\n")
    return 0


def _clear(report: Report, args: Namespace) -> list[tuple[bool, Record]]:
    """Adds the tables of changes that are to contradict; whether each log has one, and what was said."""
    seeds, rows = range(args.seed, args.seed + args.arms), list[tuple[object, ...]]()
    every = list[tuple[bool, Record]]()
    for name in args.robots:
        for mass, share in _cases(PAYLOADS[name]):
            fixed = {"name": name, "seconds": args.duration, "mass": mass, "share": share}
            keys = [fixed | {"seed": seed} for seed in seeds]
            title = f"{name}, {mass:g} kg at {100 * share:.0f} %" if mass else f"{name}, nothing"
            found = collect(args, keys, trial, title)
            every += [(bool(mass), one) for one in found]
            rows.append(clear_row(title, found))
    columns = "logs", "contradicted by the change", "by something else", "change doubted", "nothing said"
    report.section("Simulated arms")
    report.table(("", *columns, "before", "after"), rows)
    if args.data.is_dir():
        rows = []
        for mass, share in _cases(PAYLOADS["manipulator"]):
            if mass and share != _MIDDLE:
                continue
            title = f"{mass:g} kg at {100 * share:.0f} %" if mass else "nothing"
            keys = [{"name": name, "mass": mass, "share": share} for name in (CARRYING if mass else REAL)]
            found = collect(args, keys, real_trial, title)
            every += [(bool(mass), one) for one in found]
            rows.append(clear_row(title, found))
        report.section("Real arms")
        report.text(f"With nothing: {', '.join(REAL)}; with a payload: {', '.join(CARRYING)}.")
        report.table(("", *columns), [row[:6] for row in rows])
    return every


def _cases(masses: Iterable[float]) -> Iterable[tuple[float, float]]:
    return [(0.0, 0.0), *((mass, share) for mass in masses for share in SHARES)]


if __name__ == "__main__":
    sys.exit(main())
