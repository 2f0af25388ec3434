# SPDX-License-Identifier: Apache-2.0
"""The paper's Tables I and II in simulation: five robots, hidden constants, three levels of noise.

Table I: the posterior without an energy term, with the paper's (commanded effort times joint motion) and with a power
meter's readings. Table II: the posterior, without any of these, beside inverse-dynamics and energy regression on
motion smoothed by Savitzky and Golay, each with the window of five that is best in hindsight, in every cell anew.
Truth is MuJoCo's (bayesian_world.py), prior and reading are the same for all.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.bayesian_robots import ROBOTS, BenchRobot, bench_robot
from benchmarks.bayesian_world import Truth, bench_log, readings, simulate, true_mechanism
from benchmarks.peers.smoothed_regression import closed_positions, energy, inverse_dynamics, smooth
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.stribeck import friction
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.config import PowerPriorConfig
from sysid_nodes.systems.bayesian.mechanism import Mechanism

Array = npt.NDArray[np.float64]

NOISE = (1e-4, 3e-4, 1e-3)
"""Of positions [rad, m] at 500 Hz; of torques and power ten times that, of their root mean squares."""
MIDDLE = NOISE[1]
WINDOWS = (0.03, 0.05, 0.1, 0.2, 0.3)
"""Of the peers' local cubics [s]."""
PEER_STEP = 0.01
PEERS: dict[str, Callable[..., Array]] = {"inverse dynamics": inverse_dynamics, "energy": energy}
OURS, COMMANDED, METER = "ours", "with commanded energy", "with a power meter"
ERRORS = ("friction", "rigid-body torque", "coordinates")
_STATED = 0.05  # torque noise that the identification begins with, of the torques' root mean squares
_THIN = 10  # samples between those at which rigid-body torques are compared
_KNOWN = 1e-9  # sigma of losses of which the commanded energy has none


def errors(mechanism: Mechanism, truth: Truth, x: Array) -> list[float]:
    """Relative errors of friction over the speeds of the motion, mean over joints, and of rigid-body torques along it,
    rotors included; root mean square error of the bodies' log-Cholesky coordinates in prior sigmas.
    """
    own, some = mechanism.parameters, slice(None, None, _THIN)
    rows = standard_regressor(mechanism.chain, truth.q[some], truth.v[some], truth.a[some])
    found, there = (rows @ own.inertia(c).ravel() + own.constants(c, "armature") * truth.a[some] for c in (x, truth.x))
    wrong = found - there
    if count := mechanism.closures.count:
        free = np.linalg.svd(mechanism.closures.linearise(truth.q[some])[1])[2][:, count:]
        wrong, there = ((free @ torque[:, :, None])[:, :, 0] for torque in (wrong, there))
    speeds = np.linspace(-1.0, 1.0, 80)[:, None] * np.quantile(np.abs(truth.v), 0.95, axis=0)
    curve, true = (friction(own.friction(value), speeds, own.viscous_power)[:, own.motors] for value in (x, truth.x))
    size = np.linalg.norm(true, axis=0)
    rubs = size > 0.0
    bodies = own.free[own.free < 10 * own.n]
    return [
        float(np.mean(np.linalg.norm(curve - true, axis=0)[rubs] / size[rubs])) if rubs.any() else float("nan"),
        float(np.linalg.norm(wrong) / np.linalg.norm(there)),
        float(np.sqrt(np.mean(((x - truth.x)[bodies] / own.sigma[bodies]) ** 2))),
    ]


def trial(robot: str, seed: int, duration: float) -> Record:
    """Errors of all methods on one hidden robot at all noises."""
    own = bench_robot(robot)
    mechanism = true_mechanism(own)
    truth = simulate(own, seed, duration)
    levels = {str(noise): _level(own, mechanism, truth, noise, seed) for noise in NOISE}
    return {
        "robot": robot,
        "gap": truth.gap,
        "prior": errors(mechanism, truth, mechanism.parameters.mean),
        "levels": levels,
    }


def _level(own: BenchRobot, mechanism: Mechanism, truth: Truth, noise: float, seed: int) -> Record:
    q, torque, power = readings(own, truth, noise, seed)
    fine = bench_log(replace(own, config=replace(own.config, step=PEER_STEP)), q, torque, None)
    positions = closed_positions(mechanism, fine)
    motions = [smooth(mechanism, fine, positions, window) for window in WINDOWS]
    found: Record = {}
    for name, regress in PEERS.items():
        each = np.array([errors(mechanism, truth, regress(mechanism, motion)) for motion in motions])
        found[name] = {"errors": [float(column.min()) for column in each.T]}
    stated = replace(own.config.noise, torque=_STATED * float(np.sqrt(np.mean(torque**2))))
    own = replace(own, config=replace(own.config, noise=stated))
    log = bench_log(own, q, torque, None)
    found[OURS] = _ours(own, mechanism, truth, log, own.config.power)
    if noise == MIDDLE:
        moved = np.full_like(log.position, np.nan)
        moved[1:-1] = (log.position[2:] - log.position[:-2]) / (2.0 * log.step)
        effort = np.sum(log.torque * moved[:, mechanism.parameters.motors], axis=1)
        lossless = PowerPriorConfig(loss_sigma=_KNOWN, idle_sigma=_KNOWN)
        found[COMMANDED] = _ours(own, mechanism, truth, replace(log, power=effort), lossless)
        found[METER] = _ours(own, mechanism, truth, bench_log(own, q, torque, power), own.config.power)
    return found


def _ours(own: BenchRobot, mechanism: Mechanism, truth: Truth, log: Any, power: PowerPriorConfig) -> Record:
    began = time.process_time()
    result = identify(log, own.robot, replace(own.config, power=power))
    x, layout = mechanism.parameters.mean.copy(), mechanism.parameters
    x[layout.free] = result.theta[: len(layout.free)]  # a meter's losses come last
    inside = _inside(result, layout.links, layout.inertia(truth.x))
    return {
        "errors": errors(mechanism, truth, x),
        "status": result.status.name,
        "iterations": result.iterations,
        "seconds": time.process_time() - began,
        "observed": len(inside),
        "inside": sum(inside),
    }


def _inside(result: BayesianResult, links: Sequence[str], inertia: Array) -> list[bool]:
    """Whether the 95 % interval of each inertial parameter that is observed holds the truth."""
    true = {
        f"{link}.{name}": value
        for link, theta in zip(links, inertia, strict=True)
        for name, value in zip(PARAMETER_NAMES, theta, strict=True)
    }
    seen = [p for p in result.parameters if p.verdict == "observed" and p.name in true]
    return [bool(p.lower <= true[p.name] <= p.upper) for p in seen]


def summarise(report: Report, records: Sequence[Record]) -> None:
    """Fills the report."""
    names = list(dict.fromkeys(entry["robot"] for entry in records))
    by_robot = {name: [entry for entry in records if entry["robot"] == name] for name in names}
    report.section("Table I: what energy adds")
    report.text(
        f"Positions off by {MIDDLE:g} rad. Iterations of the last descent, inertial error as that of rigid-body "
        "torques, friction error over the speeds of the motion, all as medians; CPU seconds of an identification, its "
        "noise estimated; largest gap of the truth's loops."
    )
    rows = []
    for name, mine in by_robot.items():
        for method in (OURS, COMMANDED, METER):
            cells = [entry["levels"][str(MIDDLE)][method] for entry in mine]
            friction_, torque, _ = _median(cells)
            rows.append((
                f"{name}, {method if method != OURS else 'without energy'}",
                f"{np.median([cell['iterations'] for cell in cells]):.0f}",
                _percent(torque), _percent(friction_),
                f"{np.median([cell['seconds'] for cell in cells]):.1f}",
                f"{max(entry['gap'] for entry in mine):.0e}",
            ))  # fmt: skip
    report.table(("", "iterations", "inertial error [%]", "friction error [%]", "CPU [s]", "gap [m, rad]"), rows)
    report.section("Table II: beside regression")
    lost = []
    for index, title in enumerate(ERRORS):
        report.text(f"Error of **{title}**, {'in prior sigmas' if index == 2 else 'in percent'} (medians).")
        shown: list[tuple[str, ...]] = []
        for name, mine in by_robot.items():
            for noise in NOISE:
                levels = [entry["levels"][str(noise)] for entry in mine]
                values = [_median([level[method] for level in levels])[index] for method in (*PEERS, OURS)]
                prior = float(np.median([entry["prior"][index] for entry in mine]))
                if np.isnan(values[-1]):
                    continue
                told = _plain if index == 2 else _percent
                shown.append((f"{name}, {noise:g} rad", *map(told, (prior, *values))))
                if values[-1] > min(values[:-1]):
                    lost.append(f"{title} of the {name} at {noise:g} rad")
        report.table(("", "prior", *PEERS, OURS), shown)
    report.section("Where ours is not best")
    report.text(", ".join(lost) + "." if lost else "Nowhere.")
    if any(word.startswith(ERRORS[2]) for word in lost):
        report.text(
            "Coordinates hold directions about which a motion says nothing. There ours stays at the prior, and whoever "
            "errs is now and then nearer to the truth by chance; torques along the motion do not feel them."
        )
    every = [cell for entry in records for level in entry["levels"].values() for cell in level.values()]
    ours = [cell for cell in every if "status" in cell]
    seen, held = (sum(cell[key] for cell in ours) for key in ("observed", "inside"))
    counts = ", ".join(f"{sum(c['status'] == s for c in ours)} {s}" for s in sorted({c["status"] for c in ours}))
    report.text(
        f"Of {len(ours)} identifications {counts}; their 95 % intervals hold {100.0 * held / max(seen, 1):.1f} % of "
        f"{seen} inertial parameters that are observed."
    )


def _median(cells: Sequence[Record]) -> list[float]:
    return [float(value) for value in np.median([cell["errors"] for cell in cells], axis=0)]


def _percent(value: float) -> str:
    return "-" if np.isnan(value) else f"{100.0 * value:.3g}"


def _plain(value: float) -> str:
    return f"{value:.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_tables", __doc__)
    options.add_argument("--seeds", type=int, default=2, help="hidden robots of each kind")
    options.add_argument("--duration", type=float, default=4.0, help="of each log [s]")
    options.add_argument("--robots", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="which of them")
    add_options(options)
    chosen = options.parse_args(arguments)
    seeds = range(chosen.seed, chosen.seed + chosen.seeds)
    keys = [{"robot": robot, "seed": seed, "duration": chosen.duration} for seed in seeds for robot in chosen.robots]
    records = collect(chosen, keys, trial, "trials")
    report = Report("bayesian-tables", "The Bayesian paper's Tables I and II", chosen.out, chosen.command)
    report.text(
        f"{' '.join((__doc__ or '').split(chr(10) * 2)[1].split())} {chosen.seeds} hidden robots of each kind, "
        f"{chosen.duration:g} s at 500 Hz each. Floating bases are six joints without a motor; feet that stand are "
        "closed by loops through the ground; a multirotor's rotors give a known wrench. Contacts that begin and end, "
        "and an IMU, are not in it."
    )
    summarise(report, records)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
