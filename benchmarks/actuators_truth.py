# SPDX-License-Identifier: Apache-2.0
"""Actuator identification against a known truth: errors, and how often 95 % intervals hold it.

A Go2 leg on a stand in MuJoCo, coupled, chirped to 2 Hz for 23.5 s, delayed commands, 0.8 mrad of encoder noise; every
seed draws drives of its own. `as modelled` has nothing else but what MuJoCo's dry friction, integrator and coupling do
differently, and the configuration says that the bodies are as described. `bodies off` has bodies that are heavier or
lighter by half a percent (sigma), as the default configuration grants. `friction unknown` has friction at rest (10 % of
Coulomb's) and torque ripple (5 %) besides, whose shapes are not those that the fit guesses: friction fades at .03 to
.3 rad/s, as exp(-(qd / speed)^p) with p from .7 to 2, and there are 12 to 48 ripples a turn. `friction
with load` has friction that grows by 1 to 5 % of the load besides, which the fit does not know either. `other legs and
postures` has all that, any leg and any posture. Every log goes through `identify_actuators`, as a user's does: checks,
verdict and refusals included; what it does not tell counts as not identifiable. At the end commands made with the
identified model move the true leg, and gains tuned in it control the true leg.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.models.joint_load import joint_load
from sysid_nodes.results.actuators import ActuatorResult
from sysid_nodes.robots import Robot, limb, load_robot
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators, replay_log
from sysid_nodes.systems.actuators.excitation import Excitation, ExcitationConfig, excite

Array = npt.NDArray[np.float64]

NOISE = 8e-4
LEGS = ("FL_", "FR_", "RL_", "RR_")
POSTURE = np.array([0.0, 0.85, -1.95])
POSTURES = np.array([[-0.3, 0.4, -2.2], [0.3, 1.4, -1.3]])
"""The ends of what is drawn from."""
TRACKED = 20
"""Seeds whose models are used for control."""
STIFFER = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
DAMPED = (0.5, 1.0, 1.5, 2.0)
"""Gains that are tried, relative to the default ones."""
MARGIN = 1.5
"""Factor by which a drive may be stronger than the model before tuned gains lose what they have gained."""
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
    load: bool = False


_GRANTED = ActuatorConfig().doubt.body_error
CASES = {
    "as modelled": Case(False, 0.0),
    "bodies off": Case(False, _GRANTED),
    "friction unknown": Case(True, _GRANTED),
    "friction with load": Case(True, _GRANTED, load=True),
    "other legs and postures": Case(True, _GRANTED, anywhere=True, load=True),
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
    options.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="which of them")
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
    for name in chosen.cases:
        keys = [{"seed": seed, "case": name, "last": chosen.last} for seed in seeds]
        found = collect(chosen, keys, trial, name)
        _summarise(report, name, [Outcome(**row) for record in found for row in record["outcomes"]])
    keys = [{"tracked": seed} for seed in seeds[:TRACKED]]
    _compare_tracking(report, [row["errors"] for row in collect(chosen, keys, track_motion, "tracking")])
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
    robot = limb(load_robot("go2"), leg)
    drives = Drives.draw(robot.n, rng)
    if unknown.friction:
        drives = drives.with_unknowns(rng).with_other_shapes(rng)
    if unknown.load:
        drives = drives.with_load_friction(rng)
    drives = replace(drives, mass_error=unknown.bodies * float(rng.standard_normal()))
    t, command = chirp(ChirpConfig(last=last), posture)
    log = move_on_stand(robot, drives, t, command, step=STEP).read(noise=NOISE, rng=rng)
    outcomes = []
    for j, joint in enumerate(identify_actuators(log, robot, config).joints):
        for found in joint.parameters:
            true, value = float(getattr(drives, found.name)[j]), found.estimate
            told = np.nan if value is None else value
            outcomes.append(Outcome(found.name, told, true, found.identifiable, found.lower, found.upper, found.sigma))
    return {"outcomes": [asdict(outcome) for outcome in outcomes]}


def track_motion(tracked: int) -> Record:
    """Errors [rad] of a seed in following a motion, and the gains that were tuned.

    By inverses of the default and of the identified model, and by feedback with the default gains and with those tuned
    in the identified model.

    Both commands are inverses of a model: ahead by its delay, with what body, armature and friction take.
    The default is the robot's stated armature without friction, delay or bias; the truth has unknown friction besides.
    """
    rng, config = np.random.default_rng(tracked), ActuatorConfig()
    robot = limb(load_robot("go2"), "FL_")
    drives = Drives.draw(robot.n, rng).with_unknowns(rng)
    t, command = chirp(ChirpConfig(), POSTURE)
    log = move_on_stand(robot, drives, t, command).read(noise=NOISE, rng=rng)
    result = identify_actuators(log, robot, config)
    names = ("armature", "delay", "encoder_bias", "viscous", "coulomb")
    found = {name: np.array([joint.law[INDEX[name]] for joint in result.joints]) for name in names}
    default = {name: np.zeros(robot.n) for name in found} | {"armature": robot.motor.armature}
    wanted = excite(ExcitationConfig(kind="fourier", duration=8.0, last=2.0, seed=tracked), robot.limits, POSTURE)
    tuned = tune_gains(result, robot, drives, wanted, config)
    runs = [(drives, _inverse(robot, drives, model, wanted)) for model in (default, found)]
    runs += [(drives, wanted.q), (replace(drives, stiffness=tuned[0], damping=tuned[1]), wanted.q)]
    errors = []
    for driven, sent in runs:
        followed = move_on_stand(robot, driven, wanted.t, sent).read(noise=0.0, rng=rng)
        kept = followed.t > 0.5  # it begins where the first command is, not where the motion does
        off = followed.q - wanted.q[np.searchsorted(wanted.t, followed.t - 1e-9)]
        errors.append(float(np.sqrt(np.mean(off[kept] ** 2))))
    return {"errors": errors, "stiffness": tuned[0].tolist(), "damping": tuned[1].tolist()}


def tune_gains(
    result: ActuatorResult, robot: Robot, drives: Drives, wanted: Excitation, config: ActuatorConfig
) -> tuple[Array, Array]:
    """(n,), (n,) stiffness and damping with which the identified model follows a motion best, each joint by itself.

    The worse of two rollouts counts, of the model as it is and of one whose drives are stronger by `MARGIN`: gains at
    the brink of what the delay allows are no good gains. The true drives give their default gains and nothing else.
    """
    laws = [joint.law for joint in result.joints]
    stronger = [law.copy() for law in laws]
    for law in stronger:
        law[INDEX["gain"]] *= MARGIN
    least, best = np.full(robot.n, np.inf), np.ones((2, robot.n))
    for stiffer in STIFFER:
        for damped in DAMPED:
            gains = stiffer * drives.stiffness, damped * drives.damping
            log = ActuatorLog(robot.joint_names, wanted.t, wanted.q, wanted.t, wanted.q, None, *gains)
            both = [[error.rmse for _, _, error in replay_log(log, robot, own, config)] for own in (laws, stronger)]
            worse = np.nan_to_num(np.max(both, axis=0), nan=np.inf)
            better = worse < least
            least, best = np.where(better, worse, least), np.where(better, np.array([[stiffer], [damped]]), best)
    return best[0] * drives.stiffness, best[1] * drives.damping


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
    report.section("Tracking")
    report.text(
        f"On the true leg with unknown friction, {len(errors)} seeds; target: with the identified model at most 60 % "
        "of the error with the default one. Inverse: commands are the inverse of a model, gains as they are. "
        "Feedback: commands are the wanted positions; stiffness and damping are the default ones, or those with which "
        f"the identified model follows best in simulation, also if it were {MARGIN:g} times as strong."
    )
    rows = []
    for name, first in (("inverse", 0), ("feedback", 2)):
        default, identified = (1e3 * np.array([row[k] for row in errors]) for k in (first, first + 1))
        ratio = 100.0 * identified / default
        for label, pick in (("median", np.median), ("worst", np.max)):
            rows.append((f"{name}, {label}", *(f"{pick(x):.2f}" for x in (default, identified)), f"{pick(ratio):.0f}"))
    report.table(("", "default [mrad RMS]", "identified [mrad RMS]", "share [%]"), rows)


def _summarise(report: Report, case: str, outcomes: Sequence[Outcome]) -> None:
    rows = []
    for name in dict.fromkeys(outcome.name for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.name == name]
        factor, unit = ABSOLUTE.get(name, (100.0, "%"))
        scale = np.array([1.0 if name in ABSOLUTE else abs(outcome.true) for outcome in mine])
        error = factor * np.array([outcome.value - outcome.true for outcome in mine]) / scale
        error = error[np.isfinite(error)] if np.isfinite(error).any() else np.array([np.nan])
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
