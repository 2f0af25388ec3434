# SPDX-License-Identifier: Apache-2.0
"""Does an estimate lie within its own sigmas of the truth as often as it should: 50, 68, 95 and 99.7 %?

Every seed is a run of its own: another load (mass, place), other noise, biases and dropouts. Logs are short: 4 s of the
programme by default, from the middle of the rotations into the trot. Errors over the published sigma are counted for
the torso's parameters, the base's pose and velocity, the joints and the contact forces. Parameters have one error a
seed each; the others have hundreds, strongly correlated ones, so that their spread from seed to seed is given too.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from benchmarks import prime_ours
from benchmarks.prime_coverage_reasons import CLOSE, REASONS
from benchmarks.prime_log import GROUND, Scenario, record, simulated_config
from benchmarks.prime_score import EDGE, score
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.data.bounds import PARAMETER_NAMES
from sysid_nodes.models.discrete_motion import difference, discrete_motion
from sysid_nodes.results.prime import EstimateStatus
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.systems.prime import build_model

mpl.use("Agg")
from matplotlib import pyplot as plt

Array = npt.NDArray[np.float64]

NOMINAL = {k: math.erf(k / math.sqrt(2.0)) for k in (0.6745, 1.0, 1.96, 3.0)}
"""Share of errors that a normal distribution has within so many sigmas."""

_WITHIN = tuple(f"within {100.0 * share:.3g} %" for share in NOMINAL.values())

MANY = {
    "base position": ("x", "y", "z"),
    "base orientation": ("roll", "pitch", "yaw"),
    "joint positions": ("all",),
    "base velocity": ("x", "y", "z"),
    "base angular velocity": ("x", "y", "z"),
    "joint velocities": ("all",),
    "forces, foot on the ground": ("x", "y", "z"),
    "forces, foot in the air": ("x", "y", "z"),
}
"""Quantities with many errors a run, with their components."""

FINE = 2.5e-4
"""Step of the simulation [s]. MuJoCo's integrator is of first order: at its usual 1 ms the simulated motors are half a
millisecond late, an error of the simulation, not of the estimate, that biases Iyy by about as much as its sigma."""

_TORSO = (*PARAMETER_NAMES, "CoM x", "CoM y", "CoM z")

_EDGES = np.linspace(-6.0, 6.0, 49)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_coverage", __doc__)
    options.add_argument("--seeds", type=int, default=50, help="runs")
    options.add_argument("--duration", type=float, default=4.0, help="of each log [s]")
    options.add_argument("--skip", type=float, default=2.0, help="of the programme before it [s]")
    options.add_argument("--robot", choices=("go2", "g1"), default="go2", help="which robot")
    options.add_argument("--timestep", type=float, default=FINE, help="of the simulation's integrator [s]")
    add_options(options, jobs=2)
    chosen = options.parse_args(arguments)
    setting = {"robot": chosen.robot, "duration": chosen.duration, "skip": chosen.skip, "timestep": chosen.timestep}
    keys = [{"setting": setting, "seed": chosen.seed + k} for k in range(chosen.seeds)]
    records = collect(chosen, keys, run, "coverage")
    report = Report(f"prime-coverage-{chosen.robot}", "PRIME: coverage", chosen.out, chosen.command)
    summarise(report, records, setting)
    print(report.write())
    return 0


def run(setting: Record, seed: int) -> Record:
    """One log and the errors of its estimate in sigmas."""
    rng = np.random.default_rng([seed, 17])
    load = LoadConfig(
        mass=float(rng.uniform(0.5, 5.0)), position=tuple(rng.uniform([-0.1, -0.05, 0.04], [0.1, 0.05, 0.12]))
    )
    simulated = LeggedSimulationConfig(robot=setting["robot"], load=load, ground=GROUND, timestep=setting["timestep"])
    scenario = Scenario("", simulated, setting["duration"])
    log = record(scenario, seed, skip=setting["skip"])
    config = simulated_config()
    aligned = log.aligned(config)
    found, whole = prime_ours.run(build_model(log.robot, config), aligned)
    inner = slice(EDGE, len(aligned.steps) - EDGE)
    body = whole.bodies[0]
    error = difference(whole.q[inner], aligned.q[inner])
    sigma = np.sqrt(np.diagonal(whole.q_covariance[inner], axis1=1, axis2=2))
    pose = error / sigma
    # The velocity at a stage is the mean over both neighbouring steps.
    mean = discrete_motion(aligned.q, config.step).velocity[EDGE - 1 : len(aligned.steps) - EDGE - 1]
    speed = (whole.v[inner] - mean) / np.sqrt(np.diagonal(whole.v_covariance[inner], axis1=1, axis2=2))
    true = aligned.around[inner]
    force = (whole.contacts.force[inner] - true) / whole.contacts.force_sigma[inner]
    on = true[..., 2] > 2.0
    many = {
        "base position": pose[:, :3],
        "base orientation": pose[:, 3:6],
        "joint positions": pose[:, 6:].reshape(-1, 1),
        "base velocity": speed[:, :3],
        "base angular velocity": speed[:, 3:6],
        "joint velocities": speed[:, 6:].reshape(-1, 1),
        "forces, foot on the ground": force[on],
        "forces, foot in the air": force[~on],
    }
    many = {name: z for name, z in many.items() if len(z)}
    return {
        "setting": setting,
        "seed": seed,
        "status": whole.status.name,
        "solved": whole.status is EstimateStatus.CONVERGED,
        "seconds": found.seconds,
        "iterations": found.iterations,
        "force": score(found, aligned).force,
        "mass_error": body.mass - aligned.mass,
        "parameters": _list((body.parameters - aligned.truth.theta) / np.sqrt(np.diag(body.covariance))),
        "observed": [bool(seen) for seen in (*body.observed, *body.com_observed)],
        "com": _list((body.com - aligned.com) / body.com_sigma),
        "inside": {name: {str(k): _list(np.mean(np.abs(z) <= k, axis=0)) for k in NOMINAL} for name, z in many.items()},
        "rms": {name: _list(np.sqrt(np.mean(z**2, axis=0))) for name, z in many.items()},
        "histogram": {name: np.histogram(np.clip(z, -5.99, 5.99), _EDGES)[0].tolist() for name, z in many.items()},
    }


def _list(values: Array) -> list[float]:
    return [float(value) for value in values]


def summarise(report: Report, records: list[Record], setting: Record) -> None:
    """Fills the report."""
    solved = sum(entry["solved"] for entry in records)
    seconds = np.median([entry["seconds"] for entry in records])
    report.text(
        f"{len(records)} runs of the {setting['robot']}, {setting['duration']:g} s each, {setting['skip']:g} s into "
        f"its programme; {solved} converged; {seconds:.1f} s of wall time each (median). Columns are the shares of "
        "errors within .67, 1, 1.96 and 3 sigma, headed by the nominal ones [%]. The simulation's step is "
        f"{1e3 * setting['timestep']:g} ms. Sigmas are those of a whole log's estimate, from the noise that its "
        "residuals show (sysid_nodes/systems/prime/observed_noise.py); nothing but the comparison knows the truth."
    )
    report.section("Parameters of the torso")
    chance = 1.96 * math.sqrt(NOMINAL[1.0] * (1.0 - NOMINAL[1.0]) / len(records))
    report.text(
        "One error a run where the parameter was observed; what is not observed is no result, for its prior decides, "
        "and the loads of these runs all make the torso heavier than its prior's mean. The range is that of 95 % "
        "(Wilson) for the share within one sigma; the last column is the root mean square of errors over sigma, 1 when "
        "the sigma is right. In as many runs as all a nominal share within one sigma comes out "
        f"between {100 * (NOMINAL[1.0] - chance):.0f} and {100 * min(NOMINAL[1.0] + chance, 1.0):.0f} %, nineteen "
        "times out of twenty."
    )
    z = np.array([[*entry["parameters"], *entry["com"]] for entry in records])
    rows = _torso(report, z, np.array([entry["observed"] for entry in records]))
    report.section("Motion and forces")
    report.text(
        "Shares over all runs; the range is that of the middle 80 % of the runs. A velocity is compared with the true "
        "mean over both neighbouring steps, a force with the true one averaged by the same triangle: what they are "
        "published as. A foot is on the ground where its true normal force is above 2 N; every stage but the three at "
        "each end is counted."
    )
    shown = []
    for name, parts in MANY.items():
        mine = [entry for entry in records if name in entry["inside"]]
        for index, part in enumerate(parts if mine else ()):
            shares = {k: np.array([entry["inside"][name][str(k)][index] for entry in mine]) for k in NOMINAL}
            low, high = np.quantile(shares[1.0], (0.1, 0.9))
            rms = np.sqrt(np.mean([entry["rms"][name][index] ** 2 for entry in mine]))
            told = (f"{100 * share.mean():.1f}" for share in shares.values())
            shown.append((f"{name}: {part}", *told, f"{100 * low:.0f} to {100 * high:.0f}", f"{rms:.2f}"))
    report.table(("", *_WITHIN, "range", "RMS [sigma]"), shown)
    both = [(row[0], float(row[3]), float(row[5])) for row in rows]
    _outside(report, both + [(row[0], float(row[2]), float(row[4])) for row in shown], setting["robot"])
    _plot(
        report.figure("", "Errors over their published sigma; black: standard normal"),
        records,
        z[:, [0, 10, 11, 12]],
    )


def _torso(report: Report, z: Array, observed: npt.NDArray[np.bool_]) -> list[tuple[str, ...]]:
    """Table of errors over sigma (R, 13), where they were observed; returns its rows."""
    rows: list[tuple[str, ...]] = []
    for name, errors, told in zip(_TORSO, z.T, observed.T, strict=True):
        column = errors[told]
        if not len(column):
            continue
        shares = [float(np.mean(np.abs(column) <= k)) for k in NOMINAL]
        low, high = _wilson(round(shares[1] * len(column)), len(column))
        rows.append((
            name, f"{len(column)}", *(f"{100.0 * share:.0f}" for share in shares),
            f"{100 * low:.0f} to {100 * high:.0f}", f"{np.mean(column):+.2f}", f"{np.sqrt(np.mean(column**2)):.2f}",
        ))  # fmt: skip
    report.table(("", "runs", *_WITHIN, "range", "mean [sigma]", "RMS [sigma]"), rows)
    return rows


def _outside(report: Report, shares: list[tuple[str, float, float]], robot: str) -> None:
    """Says which quantities are not close to nominal, and what is known of why."""
    low, high, three = CLOSE
    far = [f"{name} ({one:g} and {both:g} %)" for name, one, both in shares if not low <= one <= high or both < three]
    report.section("Not close to nominal")
    bounds = f"{low:g} to {high:g} % within one sigma and {three:g} % within three"
    report.text(f"Outside {bounds}: {', '.join(far)}." if far else f"All are within {bounds}.")
    if REASONS[robot]:
        report.text(REASONS[robot])


def _wilson(inside: int, count: int) -> tuple[float, float]:
    share, z = inside / count, 1.96
    middle = (share + z * z / (2 * count)) / (1.0 + z * z / count)
    half = z / (1.0 + z * z / count) * math.sqrt(share * (1.0 - share) / count + z * z / (4 * count * count))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _plot(path: Path, records: list[Record], torso: Array) -> None:
    figure, axes = plt.subplots(3, 3, figsize=(11.0, 8.6), layout="constrained", sharex=True)
    middle, width = 0.5 * (_EDGES[1:] + _EDGES[:-1]), _EDGES[1] - _EDGES[0]
    normal = np.exp(-0.5 * middle**2) / math.sqrt(2.0 * math.pi)
    coarse = _EDGES[::4]
    none = [0] * len(middle)
    panels = {name: np.sum([entry["histogram"].get(name, none) for entry in records], axis=0) for name in MANY}
    for axis, (name, counts) in zip(axes.flat, panels.items(), strict=False):
        axis.bar(middle, counts / max(counts.sum(), 1) / width, width, color="#2b6cb0", alpha=0.7)
        axis.set_title(name, fontsize=9)
    last = axes.flat[-1]
    last.hist(np.clip(torso.ravel(), -5.99, 5.99), coarse, density=True, color="#dd6b20", alpha=0.7)
    last.set_title("torso mass and CoM", fontsize=9)
    for axis in axes.flat:
        axis.plot(middle, normal, color="black", lw=1.0)
        axis.set_yticks([])
        axis.spines[["top", "right", "left"]].set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel("error / sigma (beyond 6: at the edge)")
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
