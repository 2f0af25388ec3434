# SPDX-License-Identifier: Apache-2.0
"""Actuator identification against a known truth: errors, and how often 95 % intervals hold it.

A Go2 leg on a stand in MuJoCo, coupled, chirped to 2 Hz for 23.5 s, delayed commands, 0.8 mrad of encoder noise; drives
are drawn anew for every seed, and all bodies are heavier or lighter than described by half a percent (sigma), as the
default configuration grants. `as modelled` has nothing more on top but what MuJoCo's own dry friction, integrator and
coupling do differently; `friction unknown` has friction at rest (10 % of Coulomb's) and torque ripple (5 %).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.report import Report, parser, progress
from sysid_nodes.results.actuators import ActuatorEstimate
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, leg_on_stand, run_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.judgement import judge
from sysid_nodes.systems.actuators.preparation import prepare

NOISE = 8e-4
POSTURE = np.array([0.0, 0.85, -1.95])
CASES = {"as modelled": False, "friction unknown": True}
TARGETS = {"armature": "3 %", "coulomb": "1 %", "delay": "0.3 ms", "viscous": "5 %"}
ABSOLUTE = {"delay": (1e3, "ms"), "encoder_bias": (1e3, "mrad"), "position_friction": (1.0, "N m/rad")}
"""Parameters whose errors are not relative: factor and unit."""


@dataclass(frozen=True)
class Outcome:
    """One parameter of one joint of one seed."""

    name: str
    found: ActuatorEstimate
    value: float
    true: float


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=200, help="robots drawn a case")
    options.add_argument("--last", type=float, default=2.0, help="frequency at which the chirp ends [Hz]")
    chosen = options.parse_args(arguments)
    command = f"python -m benchmarks.actuators_truth --seeds {chosen.seeds} --last {chosen.last:g} --seed {chosen.seed}"
    report = Report("actuators-truth", "Actuators against a known truth", chosen.out, command)
    report.text(
        f"{chosen.seeds} seeds a case, three joints each. Targets for the median error: "
        + ", ".join(f"{name} {target}" for name, target in TARGETS.items())
        + "; intervals of what is called identifiable should hold the truth in 92 to 98 %."
    )
    for case, unknown in CASES.items():
        seeds = [chosen.seed + k for k in range(chosen.seeds)]
        outcomes = [outcome for seed in progress(seeds, case) for outcome in trial(seed, unknown, chosen.last)]
        _summarise(report, case, outcomes)
    print(report.write())
    return 0


def trial(seed: int, unknown: bool, last: float) -> list[Outcome]:
    """A robot's three joints."""
    rng, config = np.random.default_rng(seed), ActuatorConfig()
    robot = leg_on_stand(load_robot("go2"), "FL_")
    drives = Drives.drawn(robot.n, rng)
    if unknown:
        drives = drives.with_unknowns(rng)
    drives = replace(drives, mass_error=config.doubt.body_error * float(rng.standard_normal()))
    t, command = chirp(ChirpConfig(last=last), POSTURE)
    log = run_on_stand(robot, drives, t, command, noise=NOISE, rng=rng)
    outcomes = []
    for j, motion in enumerate(prepare(log, robot, config)):
        fit = fit_joint(motion, known_law(config, j), config, config.fitted.names)
        for found, value in zip(judge(fit, config), fit.solution.parameters, strict=True):
            true = float(getattr(drives, found.name)[j])
            outcomes.append(Outcome(found.name, found, float(value), true))
    return outcomes


def _summarise(report: Report, case: str, outcomes: Sequence[Outcome]) -> None:
    rows = []
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.name == name]
        factor, unit = ABSOLUTE.get(name, (100.0, "%"))
        scale = np.array([1.0 if name in ABSOLUTE else abs(outcome.true) for outcome in mine])
        error = factor * np.array([outcome.value - outcome.true for outcome in mine]) / scale
        told = [outcome for outcome in mine if outcome.found.identifiable]
        held = [outcome.found.lower <= outcome.true <= outcome.found.upper for outcome in told]
        z = [(o.value - o.true) / o.found.sigma for o in told if o.found.sigma]
        rows.append(
            (
                f"{name} [{unit}]",
                f"{np.median(np.abs(error)):.2f}",
                f"{np.mean(error):+.2f}",
                f"{np.quantile(np.abs(error), 0.95):.2f}",
                f"{len(told)} of {len(mine)}",
                f"{100.0 * np.mean(held):.1f}" if held else "–",
                f"{np.sqrt(np.mean(np.square(z))):.2f}" if z else "–",
            )
        )
    report.section(case.capitalize())
    report.table(
        (
            "parameter",
            "median error",
            "mean",
            "95th percentile",
            "identifiable",
            "coverage [%]",
            "error over sigma (RMS)",
        ),
        rows,
    )


if __name__ == "__main__":
    sys.exit(main())
