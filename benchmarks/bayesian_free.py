# SPDX-License-Identifier: Apache-2.0
"""Arms that swing almost freely: do errors of torques belong to the readings or to the motion?

Double pendulums of little friction, constants drawn from the prior, are driven by small torques that idle half of the
time, in open loop or with a drive that pulls them down a little. Torques that nobody reads act on them, white or such
as last for some stages; torques are read to a hundredth. Each log is identified as if errors were the readings'
(the default) and as if they acted on the motion (`noise.acts_on`). Counted are 95 % intervals of what is observed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.bayesian_log import constants_by_name
from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_world import RATE, bench_log, true_mechanism
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Asked, Report, parser
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.systems.bayesian import MechanismLog, identify
from sysid_nodes.systems.bayesian.config import MOTION, READINGS, VerdictConfig

Array = npt.NDArray[np.float64]

STEP = 1e-3  # of the simulation [s]
_COULOMB, _VISCOUS = 0.012, 0.008  # upper ends [N m, N m s/rad]
_DRIVEN = 0.25  # of the torque that holds the links almost level
_POSITION, _TORQUE = 3e-4, 0.01  # noise of readings: [rad], of the torques' standard deviations
_LEVELS, _OFF = (0.5, 0.9, 0.95), 0.05  # of intervals; by how much their shares may be off, as was asked
_WHITE = 0.01  # [s] over which a white disturbance has the size that is stated


@dataclass(frozen=True)
class Case:
    """Attributes: size of what acts on the arm, of the driving torques; for how long it lasts [s], 0 for white noise;
    how much the drive pulls the arm down, of the same per rad."""

    size: float
    lasts: float = 0.0
    pull: float = 0.0


CASES = {
    "white, 0.15": Case(0.15),
    "white, 0.3": Case(0.3),
    "20 ms, 0.3": Case(0.3, 0.02),
    "20 ms, 0.3, pulled down": Case(0.3, 0.02, 1.0),
}


@cache
def free_log(seed: int, case: str, seconds: float) -> tuple[dict[str, float], MechanismLog]:
    """True constants by name, and the readings."""
    rng, own, how = np.random.default_rng([seed, 5]), bench_robot("pendulum"), CASES[case]
    mechanism = true_mechanism(own)
    layout, x = mechanism.parameters, mechanism.parameters.mean.copy()
    n, bodies = layout.n, layout.free[layout.free < 10 * layout.n]
    x[bodies] += layout.sigma[bodies] * rng.standard_normal(len(bodies))
    for name, highest in (("coulomb", _COULOMB), ("viscous", _VISCOUS)):
        x[layout.joint(name)] = highest * rng.uniform(0.2, 1.0, n)
    model = own.robot.model.copy()
    for i, theta in enumerate(layout.inertia(x)):
        model.inertias[i + 1] = pinocchio.Inertia.FromDynamicParameters(theta)
    data, count = model.createData(), round(seconds / STEP)
    t = STEP * np.arange(count)
    size = _DRIVEN * np.maximum(np.abs(pinocchio.computeGeneralizedGravity(model, data, np.full(n, 1.2))), 0.02)
    waves = rng.uniform(0.5, 3.0, (4, n)), rng.uniform(0.0, 2.0 * np.pi, (4, n))
    drive = 0.5 * size * np.sum(np.sin(2.0 * np.pi * waves[0] * t[:, None, None] + waves[1]), axis=1)
    drive *= np.sin(2.0 * np.pi * t[:, None] / 3.0 + rng.uniform(0.0, 2.0 * np.pi, n)) > 0.0
    keeps = np.exp(-STEP / how.lasts) if how.lasts else 0.0
    stirs = how.size * size * (np.sqrt(1.0 - keeps**2) if how.lasts else np.sqrt(_WHITE / STEP))
    coulomb, viscous, turning = (layout.constants(x, name) for name in ("coulomb", "viscous", "turning_speed"))
    q, v, unread = rng.uniform(-1.5, 1.5, n), np.zeros(n), np.zeros(n)
    rows = np.empty((count, 2, n))
    for k in range(count):
        torque = drive[k] - how.pull * size * (q + 0.2 * v)
        rows[k] = q, torque
        unread = keeps * unread + stirs * rng.standard_normal(n)

        def speeding_up(at: Array, speed: Array, given: Array = torque + unread) -> Array:
            rubs = coulomb * np.tanh(speed / turning) + viscous * speed
            return np.asarray(pinocchio.aba(model, data, at, speed, given - rubs))

        half = v + 0.5 * STEP * speeding_up(q, v)
        ahead = speeding_up(q + 0.5 * STEP * v, half)
        q, v = q + STEP * half, v + STEP * ahead
    every = rows[:: round(1.0 / RATE / STEP)]
    read = every[:, 0] + _POSITION * rng.standard_normal((len(every), n))
    torque = every[:, 1] + _TORQUE * every[:, 1].std(axis=0) * rng.standard_normal((len(every), n))
    return constants_by_name(mechanism, x), bench_log(own, read, torque, None)


def identified(log: MechanismLog, acts_on: str) -> BayesianResult:
    """The posterior, errors of torques taken to act on readings or motion."""
    own = bench_robot("pendulum")
    noise = replace(own.config.noise, acts_on=acts_on)
    return identify(log, own.robot, replace(own.config, noise=noise, verdict=VerdictConfig(samples=500)))


def trial(seed: int, case: str, seconds: float, acts_on: str) -> Record:
    """How the search ended, and for each observed constant the error in sigmas and whether its interval holds."""
    truth, log = free_log(seed, case, seconds)
    result = identified(log, acts_on)
    if not result.status.trusted:
        return {"status": result.status.name}
    rows = [
        ((row.mean - truth[row.name]) / row.sigma, row.lower <= truth[row.name] <= row.upper)
        for row in result.parameters
        if row.verdict == "observed"
    ]
    return {"status": result.status.name, "rows": rows}


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_free", __doc__)
    options.add_argument("--arms", type=int, default=20, help="hidden arms")
    options.add_argument("--duration", type=float, default=6.0, help="of each log [s]")
    add_options(options)
    args = options.parse_args(arguments)
    report = Report("bayesian-free", "Arms that swing almost freely", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    rows, asked = [], list[Asked]()
    for case in CASES:
        for acts_on in (READINGS, MOTION):
            seeds = range(args.seed, args.seed + args.arms)
            keys = [{"seed": s, "case": case, "seconds": args.duration, "acts_on": acts_on} for s in seeds]
            found = [one for one in collect(args, keys, trial, f"{case}, {acts_on}") if "rows" in one]
            told = [row for one in found for row in one["rows"]]
            sigmas = np.abs([row[0] for row in told])
            if not told:
                rows.append((case, acts_on, f"{len(found)} of {args.arms}", 0, *["none"] * 4))
                continue
            held = [np.mean(sigmas < 0.6745), np.mean(sigmas < 1.6449), np.mean([row[1] for row in told])]
            shares = [f"{100.0 * share:.0f} %" for share in held]
            off = max(abs(share - level) for share, level in zip(held, _LEVELS, strict=True))
            what = f"{case}, taken to act on the {acts_on}: intervals of 50, 90, 95 % within {100.0 * _OFF:.0f} points"
            asked.append((what, f"off by {100.0 * off:.0f} at most, of {len(told)}", bool(off <= _OFF)))
            rows.append((case, acts_on, f"{len(found)} of {args.arms}", len(told), *shares, f"{sigmas.max():.1f}"))
    report.section("Intervals")
    columns = "what acts on the arm", "errors taken to act on", "claimed", "observed", "50 %", "90 %", "95 %", "worst"
    report.table(columns, rows)
    report.text("Worst: error in sigmas.")
    report.asked(asked)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
