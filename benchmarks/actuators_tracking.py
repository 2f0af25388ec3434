# SPDX-License-Identifier: Apache-2.0
"""What an identified model is worth for control: commands and feedback gains made with it, on a true Go2 leg.

The default model is what a robot's description says: its armature, neither friction nor delay nor bias. The truth has
friction at rest and torque ripple besides, which no model here knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.records import Record
from benchmarks.report import Report
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.models.joint_load import joint_load
from sysid_nodes.results.actuators import ActuatorResult
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sessions.actuators.recording import recorded_log
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, control_on_stand, leg_on_stand, run_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators
from sysid_nodes.systems.actuators.excitation import Excitation, ExcitationConfig, excite

Array = npt.NDArray[np.float64]

TRACKED = 20
"""Seeds whose models are used for control."""
POSTURE = np.array([0.0, 0.85, -1.95])
_NOISE = 8e-4
_USED = ("armature", "delay", "encoder_bias", "viscous", "coulomb")
_FACTORS = (4.0, 2.0, 1.4)
"""By which the search for gains changes one at a time."""
_SETTLED = 0.5
"""Time after which tracking counts: a motion begins where the first command is, not where it should be [s]."""


@dataclass(frozen=True)
class Gains:
    """Of feedback from encoders to commands, on top of the drives' own: 1, 1/s and s."""

    proportional: float = 0.25
    integral: float = 2.0
    derivative: float = 0.01


def identify(log: ActuatorLog, robot: Robot, config: ActuatorConfig) -> ActuatorResult:
    """What `sysid replay` makes of a log that is recorded as messages."""
    nothing = np.zeros(0)
    states = [RawJointState(float(t), log.names, q, nothing, nothing) for t, q in zip(log.t, log.q, strict=True)]
    commands = [
        RawSetPoints(float(t), True, log.names, np.array([t]), q[None], None, None, log.stiffness, log.damping)
        for t, q in zip(log.command_t, log.command, strict=True)
    ]
    return identify_actuators(recorded_log(robot, states, commands), robot, config)


def tracking(tracked: int) -> Record:
    """A seed's errors [rad] with (default, identified) models: by commands that are inverses, and by tuned feedback."""
    rng = np.random.default_rng(tracked)
    robot = leg_on_stand(load_robot("go2"), "FL_")
    drives = Drives.draw(robot.n, rng).with_unknowns(rng)
    t, command = chirp(ChirpConfig(), POSTURE)
    result = identify(run_on_stand(robot, drives, t, command, noise=_NOISE, rng=rng), robot, ActuatorConfig())
    default = _model_with(drives, armature=robot.motor.armature)
    found = _model_with(drives, **{name: _values(result, name, getattr(default, name)) for name in _USED})
    wanted = excite(ExcitationConfig(kind="fourier", duration=8.0, last=2.0, seed=tracked), robot.limits, POSTURE)
    ahead = []
    for model in (default, found):
        followed = run_on_stand(robot, drives, wanted.t, inverse(robot, model, wanted), noise=0.0, rng=rng)
        off = followed.q - wanted.q[np.searchsorted(wanted.t, followed.t - 1e-9)]
        ahead.append(_rms(off[followed.t > _SETTLED]))
    # Another motion than that by which gains are chosen.
    other = excite(ExcitationConfig(kind="fourier", duration=4.0, last=2.0, seed=1000 + tracked), robot.limits, POSTURE)
    chosen = [tune(robot, model, other) for model in (default, found)]
    tuned = [feedback_error(robot, drives, wanted, gains) for gains in chosen]
    alone = feedback_error(robot, drives, wanted, Gains(0.0, 0.0, 0.0))
    return {"errors": {"ahead": ahead, "tuned": tuned, "alone": alone, "gains": [vars(gains) for gains in chosen]}}


def tune(robot: Robot, model: Drives, wanted: Excitation) -> Gains:
    """Gains that track a motion best where the drives are as a model says: one at a time, in ever smaller steps."""
    best = Gains()
    least = feedback_error(robot, model, wanted, best)
    for factor in _FACTORS:
        for name in vars(best):
            for by in (factor, 1.0 / factor):
                trial = replace(best, **{name: by * getattr(best, name)})
                error = feedback_error(robot, model, wanted, trial)
                if error < least:
                    best, least = trial, error
                    break
    return best


def feedback_error(robot: Robot, drives: Drives, wanted: Excitation, gains: Gains) -> float:
    """RMS [rad] by which drives miss a motion under feedback, with the encoders' noise (the same for all gains)."""
    period, last, total = float(wanted.t[1] - wanted.t[0]), np.zeros(robot.n), np.zeros(robot.n)

    def command(k: int, read: Array) -> Array:
        nonlocal last, total
        off = wanted.q[k] - read
        total = np.clip(total + period * off, -0.2, 0.2)
        rate = (off - last) / period if k else np.zeros(robot.n)
        last = off
        asked = gains.proportional * off + gains.integral * total + gains.derivative * rate
        return wanted.q[k] + np.clip(asked, -0.5, 0.5)  # what a careful controller would ask for at most [rad]

    rng, duration = np.random.default_rng(0), float(wanted.t[-1])
    q = control_on_stand(robot, drives, command, wanted.q[0], duration, noise=_NOISE, rng=rng, rate=1.0 / period)
    late = wanted.t[: len(q)] > _SETTLED
    return _rms((q - wanted.q[: len(q)])[late])


def inverse(robot: Robot, model: Drives, wanted: Excitation) -> Array:
    """(M, n) commands that a model needs for a motion: ahead by its delay, with what body, armature, friction take."""
    torque = joint_load(robot, wanted.q, wanted.qd, wanted.qdd).torque + model.armature * wanted.qdd
    torque += model.viscous * wanted.qd + model.coulomb * np.tanh(wanted.qd / 0.02)
    held = 0.5 * (wanted.t[1] - wanted.t[0])  # a command that holds until the next is late by half a period
    straight = wanted.q + model.encoder_bias + (torque + model.damping * wanted.qd) / model.stiffness
    return np.stack(
        [
            np.interp(wanted.t + held + delay, wanted.t, column)
            for delay, column in zip(model.delay, straight.T, strict=True)
        ],
        axis=1,
    )


def compare_tracking(report: Report, errors: Sequence[Record]) -> None:
    """Both kinds of control in one table."""
    report.section("Tracking")
    report.text(
        f"{len(errors)} seeds; the true leg has unknown friction. Inverse: commands that a model needs for the motion. "
        "Feedback: proportional, integral and derivative gains from encoders to commands, the best ones for another "
        "motion in simulated rollouts of a model; default and identified differ in the model alone. Target: with the "
        "identified model at most 60 % of the error with the default one. Without feedback the drives alone miss by "
        f"{1e3 * float(np.median([row['alone'] for row in errors])):.2f} mrad (median)."
    )
    rows = []
    for name, key in (("inverse", "ahead"), ("feedback", "tuned")):
        default, identified = 1e3 * np.array([row[key] for row in errors]).T
        ratio = 100.0 * identified / default
        for label, of in (("median", np.median), ("worst", np.max)):
            cells = (f"{of(values):.2f}" for values in (default, identified))
            rows.append((f"{name}, {label}", *cells, f"{of(ratio):.0f}"))
    report.table(("", "default [mrad RMS]", "identified [mrad RMS]", "share [%]"), rows)
    gains = [[tuple(one.values()) for one in row["gains"]] for row in errors]
    middle = np.median(np.array(gains), axis=0)
    report.text(
        "Gains chosen (median of proportional, integral [1/s], derivative [s]): "
        + "; ".join(
            f"{name} {', '.join(f'{x:.3g}' for x in row)}"
            for name, row in zip(("default", "identified"), middle, strict=True)
        )
        + "."
    )


def _model_with(drives: Drives, **values: Array) -> Drives:
    """Drives of the stated gains, with nothing but what is given."""
    zero = np.zeros(len(drives.stiffness))
    plain = dict.fromkeys(("armature", "viscous", "coulomb", "delay", "encoder_bias"), zero)
    plain |= dict.fromkeys(("stribeck", "position_friction", "ripple", "load_friction"), zero)
    return replace(drives, **{**plain, **values}, mass_error=0.0)


def _values(result: ActuatorResult, name: str, default: Array) -> Array:
    """(n,) a parameter's values; the default where the motion does not tell it."""
    told = [joint.parameter(name).estimate for joint in result.joints]
    return np.array([known if value is None else value for value, known in zip(told, default, strict=True)])


def _rms(off: Array) -> float:
    return float(np.sqrt(np.mean(off**2)))
