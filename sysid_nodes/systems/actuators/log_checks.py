# SPDX-License-Identifier: Apache-2.0
"""Faults of a log, before anything is fitted to it; each fault names the joint."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.exceptions import ExcitationError, LogError
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.preparation import JointMotion
from sysid_nodes.systems.actuators.readings import fresh_samples

Array = npt.NDArray[np.float64]

_FOLLOWS = 0.9  # correlation with another's command that says whose joint it is
_ASTRAY = 0.5  # correlation with its own that says it is not
_LEAD = 0.3  # by which a joint is looked for before its command [s]
_STOPPED = 0.1  # share of the time at one end of the motion while the command goes on beyond it
_OFTEN, _VISITS = 0.05, 5  # the same of an end that is come back to; a free sine is at its own for 4.5 %
_SAME = 0.005  # of the motion's range: the same place
_WHILE, _CHANGES = 0.1, 2e-3  # time and distance over which a command counts as going on [s, rad]


def check_motions(log: ActuatorLog, motions: tuple[JointMotion, ...], config: ActuatorConfig) -> tuple[str, ...]:
    """Doubts about a log that can be used all the same.

    Args:
        log: as it was recorded.
        motions: of its joints, see `prepare`.
        config: distance that counts as motion.

    Raises:
        LogError: nothing drives a joint, columns are swapped, joints move before their commands, or one is at a stop.
        ExcitationError: nothing was commanded, or nothing moved.
    """
    doubts = []
    for motion in motions:
        _check_driven(motion)
    stale = 1.0 - float(np.mean(fresh_samples(log.q, log.names)))
    if stale > 0.0:
        doubts.append(f"{100.0 * stale:.1f} % of the samples send the readings before them again; they are left out")
    _check_travel(motions, config.motion.travel)
    commanded = np.stack([motion.command.at(motion.t) for motion in motions], axis=1)
    measured = np.stack([motion.q for motion in motions], axis=1)
    for j, motion in enumerate(motions):
        if not motion.open_loop:
            _check_owner(motions, commanded, measured, j)
            _check_lead(motion, commanded[:, j])
            _check_stop(motion, commanded[:, j])
    missing = 1.0 - float(np.mean(motions[0].measured))
    if missing > 0.0:
        doubts.append(f"{100.0 * missing:.1f} % of the time has no readings")
    return tuple(doubts)


def _check_driven(motion: JointMotion) -> None:
    """Whether what a joint is told drives it: positions that gains of zero take no notice of do not."""
    held = motion.stiffness > 0.0 or (motion.damping > 0.0 and motion.command_rate is not None)
    if not held and (motion.command_torque is None or not motion.command_torque.values.any()):
        raise LogError(
            f"joint '{motion.name}' has a stiffness of 0 and is told no torque: nothing follows its commands"
        )


def _check_travel(motions: tuple[JointMotion, ...], travel: float) -> None:
    for motion in motions:
        if not motion.open_loop and np.ptp(motion.command.values) < travel:
            raise ExcitationError(
                f"joint '{motion.name}' was commanded to move by {np.ptp(motion.command.values):.3g} rad"
            )
        if np.ptp(motion.q) < travel:
            raise ExcitationError(
                f"joint '{motion.name}' moved by {np.ptp(motion.q):.3g} rad only, whatever it was told"
            )


def _correlation(a: Array, b: Array) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / max(float(np.sqrt((a @ a) * (b @ b))), 1e-300))


def _check_owner(motions: tuple[JointMotion, ...], commanded: Array, measured: Array, j: int) -> None:
    """Whether a joint follows another's command: their positions, not their shapes alone, tell whose."""
    own = _correlation(measured[:, j], commanded[:, j])
    near = np.mean(np.abs(measured[:, j, None] - commanded), axis=0)
    other = int(np.argmin(near))
    travel = np.ptp(commanded[:, j])
    crossed = other != j and near[j] > travel and near[other] < 0.5 * np.ptp(commanded[:, other])
    follows = other != j and own < _ASTRAY and _correlation(measured[:, j], commanded[:, other]) > _FOLLOWS
    if crossed or follows:
        raise LogError(
            f"joint '{motions[j].name}' follows the command of '{motions[other].name}'; are columns swapped?"
        )
    if own < 0.0:
        raise LogError(f"joint '{motions[j].name}' moves against its command (correlation {own:.2f}); is a sign wrong?")


def _check_lead(motion: JointMotion, command: Array) -> None:
    """Whether the motion comes before what it was told."""
    dt = motion.step * motion.stride
    most = min(int(_LEAD / dt), len(command) // 4)
    rate, told = motion.velocity, np.gradient(command, dt)
    inner = slice(most, len(rate) - most)
    lags = np.arange(-most, most + 1)
    scores = [_correlation(rate[inner], told[most - lag : len(rate) - most - lag]) for lag in lags]
    best = int(np.argmax(scores))
    if lags[best] * dt < -2.0 * dt and scores[best] > _ASTRAY:
        raise LogError(
            f"joint '{motion.name}' moves {-1e3 * lags[best] * dt:.0f} ms before its command; "
            "are their stamps of one clock?"
        )


def _check_stop(motion: JointMotion, command: Array) -> None:
    """Whether a joint often rests at one and the same end of its motion, while what it is told beyond it changes."""
    apart = max(round(_WHILE / (motion.step * motion.stride)), 1)
    changes = np.zeros(len(command), dtype=np.bool_)
    changes[apart:] = np.abs(command[apart:] - command[:-apart]) > _CHANGES
    slack = _SAME * float(np.ptp(motion.q))
    for end, beyond in ((motion.q.max(), command > motion.q), (motion.q.min(), command < motion.q)):
        at_rest = (np.abs(motion.q - end) < slack) & beyond & changes
        rests, visits = float(np.mean(at_rest)), 1 + int(np.sum(np.diff(np.flatnonzero(at_rest)) > apart))
        if rests > (_STOPPED if visits < _VISITS else _OFTEN):
            raise LogError(
                f"joint '{motion.name}' rests at {end:.3f} rad for {100.0 * rests:.0f} % of the time while it is told "
                "to go on; is it at its stop?"
            )
