# SPDX-License-Identifier: Apache-2.0
"""Cost of an identification: a Panda with 98 unknown constants along random harmonics.

Inertias, dry and viscous friction, rotors and offsets of all seven joints are unknown; readings every 10 ms are by the
identification's own equations. Exponents are of the CPU time of three steps of a descent over the number of stages;
beside them a descent from the prior's mean to its end, the noise known, the softer problem that leads the way included,
and a whole identification, the noise estimated, with intervals and all that is looked at before anything is claimed.
Windows are what a live node works on: what it knows is renewed once a window, so that CPU over a window's length is its
share of a core; all but the first count. FDDP, by Crocoddyl, has a state that holds the constants and knows the noise
(peers/fddp_constants.py), its dynamics and derivatives are ours, in Python, and counted apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.peers import fddp, fddp_constants
from benchmarks.report import Asked, Report, parser, progress
from sysid_nodes.robots import load_robot
from sysid_nodes.solvers.trajectory_least_squares.feasible_descent import solve_feasible
from sysid_nodes.systems.bayesian import BayesianConfig, Knowledge, MechanismLog, identify, identify_further
from sysid_nodes.systems.bayesian.config import DrivePriorConfig, NoiseConfig, OnlineConfig, SearchConfig
from sysid_nodes.systems.bayesian.descent import descend, rules, start_point, stated_noise
from sysid_nodes.systems.bayesian.initial_motion import initial_positions
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, build_mechanism
from sysid_nodes.systems.bayesian.problem import MechanismProblem
from sysid_nodes.systems.bayesian.turning import turns

Array = npt.NDArray[np.float64]

STAGES = (250, 500, 1000, 2000, 4000, 8000)
_STEP = 0.01
_NOISE = 3e-5, 0.05  # of stages: positions [rad], torques [N m]
_HARMONICS = (1, 2, 3, 5)
_LONGEST = 4.0  # [s]
_REACH = 0.2  # [rad] of a harmonic
_STEPS = 3
_WINDOWS = 6
_EXPONENT, _SECONDS, _TIMES, _HALF = 1.1, 3.0, 10.0, 0.5
"""Asked for: exponent over stages, CPU of 1000 stages [s], times faster than FDDP, share of a core for windows."""
_SHIPPED = OnlineConfig().window  # [s]
CONFIG = BayesianConfig(
    step=_STEP,
    held_out=0.0,
    drive=DrivePriorConfig(armature_sigma=0.1, offset_sigma=1.0),
    noise=NoiseConfig(position=_NOISE[0], torque=_NOISE[1]),
    search=SearchConfig(starts=1),
)


def log_of(mechanism: Mechanism, stages: int, seed: int, step: float = _STEP) -> MechanismLog:
    """Readings of a robot drawn from the prior, of stages that are a step [s] apart."""
    rng, own = np.random.default_rng(seed), mechanism.parameters
    x = own.mean.copy()
    x[own.free] += own.sigma[own.free] * rng.standard_normal(len(own.free))
    x = np.where(np.isfinite(own.lower), np.abs(x), x)
    t = step * np.arange(stages)[:, None]
    q, v, a = np.zeros((3, stages, own.n))
    for harmonic in _HARMONICS:
        omega, phase = 2.0 * np.pi * harmonic / _LONGEST, rng.uniform(0.0, 2.0 * np.pi, own.n)
        wave, rate = _REACH * np.sin(omega * t + phase), _REACH * omega * np.cos(omega * t + phase)
        q, v, a = q + wave, v + rate, a - omega**2 * wave
    q = q + np.array([0.0, -0.3, 0.0, -1.8, 0.0, 1.6, 0.6])
    torque = mechanism.torque(Motion(q, v, a, np.zeros((stages, 0))), x) + own.constants(x, "offset")
    position = q + _NOISE[0] * rng.standard_normal(q.shape)
    reading = torque + _NOISE[1] * rng.standard_normal(torque.shape)
    return MechanismLog(0.0, step, position, reading, np.full(stages, np.nan))


def measure(mechanism: Mechanism, log: MechanismLog, most: int) -> tuple[float, int, str, float]:
    """CPU time [s] of a descent, from readings on, its iterations, how it ended and its cost; of `most` steps if
    positive."""
    began = time.process_time()
    start = start_point(mechanism, log, mechanism.parameters.mean)
    problem = MechanismProblem(mechanism, log, stated_noise(mechanism, CONFIG), turns(mechanism, log, start))
    found = solve_feasible(problem, start, rules(most, 0.0)) if most else descend(problem, start, CONFIG)
    return time.process_time() - began, found.iterations, found.status.name, found.cost


def measure_all(mechanism: Mechanism, log: MechanismLog) -> tuple[float, str]:
    """CPU time [s] of an identification, and how it ended."""
    began = time.process_time()
    result = identify(log, mechanism.robot, CONFIG)
    return time.process_time() - began, result.status.name


def measure_fddp(mechanism: Mechanism, log: MechanismLog, most: int) -> tuple[str, float]:
    """How long FDDP takes, in words, and CPU time [s]; not a number where it is not there."""
    if not fddp.AVAILABLE:
        return "FDDP: Crocoddyl is not installed.", np.nan
    began = time.process_time()
    found = fddp_constants.fit(mechanism, log, initial_positions(mechanism, log), _NOISE, most)
    took = time.process_time() - began
    ended = "converged" if found.converged else "not converged"
    words = (
        f"FDDP, {log.stages} stages: {took:.1f} s of CPU, {found.dynamics:.1f} s of them in dynamics, "
        f"{found.iterations + 1} iterations, {ended}, cost {found.cost:.1f}."
    )
    return words, took


def windows(mechanism: Mechanism, seconds: float, seed: int, step: float) -> list[float]:
    """CPU time [s] of the windows of a live node after the first, the noise estimated; of stages so far apart [s]."""
    count = round(seconds / step)
    log, took = log_of(mechanism, _WINDOWS * count, seed, step), []
    known: Knowledge | None = None
    for first in range(0, log.stages, count):
        began = time.process_time()
        _, known = identify_further(known, log.part(first, first + count), mechanism.robot, CONFIG.of_windows)
        took.append(time.process_time() - began)
    return took[1:]


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_speed", __doc__)
    options.add_argument("--stages", nargs="*", type=int, default=list(STAGES), help="of the logs")
    options.add_argument("--whole", type=int, default=1000, help="stages of the descent to its end")
    options.add_argument("--windows", nargs="*", type=float, default=[0.5, 1.0, _SHIPPED], help="of a live node [s]")
    options.add_argument("--steps", nargs="*", type=float, default=[_STEP, 0.02], help="of the windows' stages [s]")
    options.add_argument("--fddp", type=int, default=0, help="iterations of FDDP for the whole log; 0 for none")
    args = options.parse_args(arguments)
    mechanism = build_mechanism(load_robot("panda"), CONFIG, power=False)
    report = Report("bayesian-speed", "What a posterior costs", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    logs = {count: log_of(mechanism, count, args.seed) for count in args.stages}
    seconds = [measure(mechanism, logs[count], _STEPS)[0] for count in progress(args.stages, "stages")]
    report.table(
        ("stages", "CPU of three steps [s]"), [(n, f"{s:.2f}") for n, s in zip(args.stages, seconds, strict=True)]
    )
    asked = list[Asked]()
    if len(args.stages) > 1:
        exponent = np.polyfit(np.log(args.stages), np.log(seconds), 1)[0]
        report.text(f"{len(mechanism.parameters.free)} constants. Exponent over the number of stages: {exponent:.2f}.")
        span = f"exponent over the stages, {min(args.stages)} to {max(args.stages)}, at most {_EXPONENT}"
        asked.append((span, f"{exponent:.2f}", bool(exponent <= _EXPONENT)))
    log = log_of(mechanism, args.whole, args.seed)
    took, iterations, ended, cost = measure(mechanism, log, 0)
    all_, status = measure_all(mechanism, log)
    report.text(
        f"{args.whole} stages, to the end of the descent: {took:.1f} s of CPU, {iterations} iterations, {ended}, "
        f"cost {cost:.1f}. "
        f"The whole identification: {all_:.1f} s, {status}."
    )
    found = f"{took:.1f} s to the end of the descent, {all_:.1f} s in all"
    asked.append((f"98 constants, {args.whole} stages: at most {_SECONDS:g} s", found, max(took, all_) <= _SECONDS))
    if args.fddp:
        words, theirs = measure_fddp(mechanism, log, args.fddp)
        report.text(words)
        found = f"{theirs / took:.0f} times for {args.fddp} of FDDP's iterations"
        asked.append((f"{_TIMES:g} times faster than FDDP", found, theirs >= _TIMES * took))
    rows = []
    for step, length in ((step, length) for step in args.steps for length in args.windows):
        each = windows(mechanism, length, args.seed, step)
        mean = float(np.mean(each))
        share = f"{100.0 * mean / length:.0f} %"
        shipped = ", the default" * (length == _SHIPPED)
        what = f"windows of {length:g} s{shipped}, {1.0 / step:.0f} Hz: at most half a core"
        asked.append((what, f"{share}", mean <= _HALF * length))
        rows.append((f"{length:g} s{shipped}, {1.0 / step:.0f} Hz", f"{mean:.2f}", f"{max(each):.2f}", share))
    if rows:
        report.table(("windows, stages", "CPU each [s]", "at most [s]", "of a core"), rows)
    report.asked(asked)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
