# SPDX-License-Identifier: Apache-2.0
"""Actuator identification against a known truth: errors, and how often 95 % intervals hold it.

A Go2 leg on a stand in MuJoCo, coupled, chirped to 2 Hz for 23.5 s, delayed commands, 0.8 mrad of encoder noise; every
seed draws drives of its own. `as modelled` has nothing else but what MuJoCo's dry friction, integrator and coupling do
differently, and the configuration says that the bodies are as described. `bodies off` has bodies that are heavier or
lighter by half a percent (sigma), as the default configuration grants. `friction unknown` has friction at rest (10 % of
Coulomb's) and torque ripple (5 %) besides, whose shapes are not those that the fit guesses: friction fades at .03 to
.3 rad/s, as exp(-(qd / speed)^p) with p from .7 to 2, and there are 12 to 48 ripples a turn. `other legs and postures`
has all that, any leg and any posture. At the end commands made with the identified model move the true leg.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.models.joint_load import joint_load
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, leg_on_stand, run_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.excitation import Excitation, ExcitationConfig, excite
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.judgement import judge
from sysid_nodes.systems.actuators.preparation import prepare

Array = npt.NDArray[np.float64]

NOISE = 8e-4
LEGS = ("FL_", "FR_", "RL_", "RR_")
POSTURE = np.array([0.0, 0.85, -1.95])
POSTURES = np.array([[-0.3, 0.4, -2.2], [0.3, 1.4, -1.3]])
"""The ends of what is drawn from."""
TRACKED = 20
"""Seeds whose models are used for control."""
STEP = 2.5e-4
"""Of the simulation [s]."""
TARGETS = {"armature": "3 %", "coulomb": "1 %", "delay": "0.3 ms", "viscous": "5 %"}
ABSOLUTE = {"delay": (1e3, "ms"), "encoder_bias": (1e3, "mrad"), "position_friction": (1.0, "N m/rad")}
"""Parameters whose errors are not relative: factor and unit."""


@dataclass(frozen=True)
class Case:
    """Whether friction is unknown, by how much bodies are off (sigma, relative), and whether any leg moves."""

    friction: bool
    bodies: float
    anywhere: bool = False


_GRANTED = ActuatorConfig().doubt.body_error
CASES = {
    "as modelled": Case(False, 0.0),
    "bodies off": Case(False, _GRANTED),
    "friction unknown": Case(True, _GRANTED),
    "other legs and postures": Case(True, _GRANTED, anywhere=True),
}


@dataclass(frozen=True)
class Outcome:
    """One parameter of one joint of one seed: best guess, interval and truth."""

    name: str
    value: float
    true: float
    identifiable: bool
    lower: float
    upper: float
    sigma: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("actuators_truth", __doc__)
    options.add_argument("--seeds", type=int, default=200, help="robots drawn a case")
    options.add_argument("--last", type=float, default=2.0, help="frequency at which the chirp ends [Hz]")
    add_options(options, jobs=2)
    chosen = options.parse_args(arguments)
    report = Report("actuators-truth", "Actuators against a known truth", chosen.out, chosen.command)
    report.text(
        f"{chosen.seeds} seeds a case, three joints each. Targets for the median error: "
        + ", ".join(f"{name} {target}" for name, target in TARGETS.items())
        + "; intervals of what is called identifiable should hold the truth in 92 to 98 %."
    )
    seeds = [chosen.seed + k for k in range(chosen.seeds)]
    for name in CASES:
        keys = [{"seed": seed, "case": name, "last": chosen.last} for seed in seeds]
        found = collect(chosen, keys, trial, name)
        _summarise(report, name, [Outcome(**row) for record in found for row in record["outcomes"]])
    keys = [{"tracked": seed} for seed in seeds[:TRACKED]]
    _compare_tracking(report, [row["errors"] for row in collect(chosen, keys, tracking, "tracking")])
    print(report.write())
    return 0


def trial(seed: int, case: str, last: float) -> Record:
    """Outcomes of a robot's three joints."""
    rng, unknown = np.random.default_rng(seed), CASES[case]
    doubt = replace(ActuatorConfig().doubt, body_error=unknown.bodies)
    config = replace(ActuatorConfig(), doubt=doubt)
    leg, posture = LEGS[0], POSTURE
    if unknown.anywhere:
        leg, posture = LEGS[rng.integers(len(LEGS))], rng.uniform(*POSTURES)
    robot = leg_on_stand(load_robot("go2"), leg)
    drives = Drives.draw(robot.n, rng)
    if unknown.friction:
        drives = drives.with_unknowns(rng).with_other_shapes(rng)
    drives = replace(drives, mass_error=unknown.bodies * float(rng.standard_normal()))
    t, command = chirp(ChirpConfig(last=last), posture)
    log = run_on_stand(robot, drives, t, command, noise=NOISE, rng=rng, step=STEP)
    outcomes = []
    for j, motion in enumerate(prepare(log, robot, config)):
        fit = fit_joint(motion, known_law(config, j), config, config.fitted.names)
        for found, value in zip(judge(fit, config), fit.parameters, strict=True):
            true = float(getattr(drives, found.name)[j])
            outcomes.append(
                Outcome(found.name, float(value), true, found.identifiable, found.lower, found.upper, found.sigma)
            )
    return {"outcomes": [asdict(outcome) for outcome in outcomes]}


def tracking(tracked: int) -> Record:
    """Errors [rad] of a seed in following a motion by commands made with the default model and the identified one.

    Both commands are inverses of a model: ahead by its delay, with what body, armature and friction take.
    The default is the robot's stated armature without friction, delay or bias; the truth has unknown friction besides.
    """
    rng, config = np.random.default_rng(tracked), ActuatorConfig()
    robot = leg_on_stand(load_robot("go2"), "FL_")
    drives = Drives.draw(robot.n, rng).with_unknowns(rng)
    t, command = chirp(ChirpConfig(), POSTURE)
    log = run_on_stand(robot, drives, t, command, noise=NOISE, rng=rng)
    found = {name: np.zeros(robot.n) for name in ("armature", "delay", "encoder_bias", "viscous", "coulomb")}
    for j, motion in enumerate(prepare(log, robot, config)):
        fit = fit_joint(motion, known_law(config, j), config, config.fitted.names)
        for name, value in zip(fit.problem.names, fit.parameters, strict=True):
            if name in found:
                found[name][j] = max(value, 0.0) if name != "encoder_bias" else value
    default = {name: np.zeros(robot.n) for name in found} | {"armature": robot.motor.armature}
    wanted = excite(ExcitationConfig(kind="fourier", duration=8.0, last=2.0, seed=tracked), robot.limits, POSTURE)
    errors = []
    for model in (default, found):
        sent = _inverse(robot, drives, model, wanted)
        followed = run_on_stand(robot, drives, wanted.t, sent, noise=0.0, rng=rng)
        kept = followed.t > 0.5  # it begins where the first command is, not where the motion does
        off = followed.q - wanted.q[np.searchsorted(wanted.t, followed.t - 1e-9)]
        errors.append(float(np.sqrt(np.mean(off[kept] ** 2))))
    return {"errors": errors}


def _inverse(robot: Robot, drives: Drives, model: dict[str, Array], wanted: Excitation) -> Array:
    """(M, n) commands that a model needs for a motion."""
    torque = joint_load(robot, wanted.q, wanted.qd, wanted.qdd).torque + model["armature"] * wanted.qdd
    torque += model["viscous"] * wanted.qd + model["coulomb"] * np.tanh(wanted.qd / 0.02)
    held = 0.5 * (wanted.t[1] - wanted.t[0])  # a command that holds until the next is late by half a period
    straight = wanted.q + model["encoder_bias"] + (torque + drives.damping * wanted.qd) / drives.stiffness
    return np.stack(
        [
            np.interp(wanted.t + held + delay, wanted.t, column)
            for delay, column in zip(model["delay"], straight.T, strict=True)
        ],
        axis=1,
    )


def _compare_tracking(report: Report, errors: Sequence[Sequence[float]]) -> None:
    default, identified = (1e3 * np.array(column) for column in zip(*errors, strict=True))
    report.section("Tracking")
    report.text(
        f"Commands that are inverses of a model, on the true leg with unknown friction, {len(errors)} seeds. Target: "
        "with the identified model at most 60 % of the error with the default one."
    )
    ratio = 100.0 * identified / default
    report.table(
        ("", "default [mrad RMS]", "identified [mrad RMS]", "share [%]"),
        [
            ("median", f"{np.median(default):.2f}", f"{np.median(identified):.2f}", f"{np.median(ratio):.0f}"),
            ("worst", f"{default.max():.2f}", f"{identified.max():.2f}", f"{ratio.max():.0f}"),
        ],
    )


def _summarise(report: Report, case: str, outcomes: Sequence[Outcome]) -> None:
    rows = []
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.name == name]
        factor, unit = ABSOLUTE.get(name, (100.0, "%"))
        scale = np.array([1.0 if name in ABSOLUTE else abs(outcome.true) for outcome in mine])
        error = factor * np.array([outcome.value - outcome.true for outcome in mine]) / scale
        told = [outcome for outcome in mine if outcome.identifiable]
        held = [outcome.lower <= outcome.true <= outcome.upper for outcome in told]
        z = [(o.value - o.true) / o.sigma for o in told if o.sigma]
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
