# SPDX-License-Identifier: Apache-2.0
"""A first parameter file for an arm, from its description and a recording of it: every number with where it is from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import to_flat
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.check.arm_fit import SURE, ArmFit
from sysid_nodes.systems.interval.check.mending import parameter_lines
from sysid_nodes.systems.interval.check.rounds import CheckRounds, check_in_rounds
from sysid_nodes.systems.interval.check.signal_record import Signals
from sysid_nodes.systems.interval.check.unread_torque import unread_torques
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, WindowConfig

Array = npt.NDArray[np.float64]

_MARGIN = 2.0
"""Factor on what a recording shows, for what another one may."""

_OF_LIMIT = 0.05
"""Friction and torque error where nothing was measured, as a share of a joint's torque limit."""

_OF_CURRENTS = 0.02
"""Dry friction as a share of the torque limit above which torques are of the motors' currents, in the median of the
joints: sensors behind the gears show less than .01 of it (Gen3, Panda), a UR10e's currents .06."""

_CONSTANT = 0.15
"""By how much the constants of such drives are not known: a UR10e's from the literature are .09 too large."""

_SIGNALS = tuple(f"signals.{name}" for name in (
    "torque_sign", "torque_unit", "torque_constant", "torque_delay", "position_unit", "velocity_unit"))  # fmt: skip


def starting_configuration(robot: Robot, config: IntervalIdentifierConfig) -> IntervalIdentifierConfig:
    """A configuration that leaves room for any friction, offset and error that an arm of these torque limits has."""
    limit = np.where(np.isfinite(robot.limits.torque), robot.limits.torque, 100.0)
    guess = tuple(float(f"{max(_OF_LIMIT * x, 0.05):.2g}") for x in limit)
    noise = NoiseConfig(model="window", torque_relative=(0.0,), torque_absolute=guess, velocity_error=(0.01,))
    known = KnownRobotConfig(
        inertia_relative=0.3, inertia_scale="body", friction_relative=1.0, armature_relative=1.0, offset_absolute=guess,
        coulomb=guess, viscous=guess, armature=tuple(float(f"{0.2 * x:.2g}") for x in guess),
    )  # fmt: skip
    return replace(config, noise=noise, known_robot=known, window=WindowConfig(duration=0.2, max_gap=0.05))


def draft_lines(robot: Robot, config: IntervalIdentifierConfig, raw: Signals | None) -> list[str]:
    """Lines of a ROS parameter file.

    Args:
        robot, config: the arm, and its configuration with a prior.
        raw: joint states as the driver delivers them; None where there is no recording.
    """
    start = starting_configuration(robot, config)
    rounds = None if raw is None else check_in_rounds(robot, _any_friction(start), raw)
    if rounds is not None and (rounds.last.fit is None or rounds.last.levels is None):
        rounds = None
    given = "# give its file with --urdf" if config.robot == "urdf" else ""
    lines = ["/**:", "  ros__parameters:", f"    robot: {config.robot:<24} {given}".rstrip()]
    if config.body:
        lines.append(f"    body: {config.body}")
    lines.append("    target: payload")
    if config.joints or robot.joint_names != tuple(config.joints):
        lines.append(f"    joints: [{', '.join(robot.joint_names)}]")
    lines += _indent(_measured_lines(rounds, start) if rounds is not None else _guessed_lines(start))
    return lines + _indent(_prior(config))


def _any_friction(config: IntervalIdentifierConfig) -> IntervalIdentifierConfig:
    """With friction, offset and noise so wide that no finding about them hides what is about the signals."""
    wide = tuple(10.0 * x for x in config.noise.torque_absolute)
    known = replace(config.known_robot, coulomb=wide, viscous=wide, armature=wide, offset_absolute=wide)
    return replace(config, known_robot=known, noise=replace(config.noise, torque_absolute=wide))


def _measured_lines(rounds: CheckRounds, start: IntervalIdentifierConfig) -> Iterator[str]:
    """Numbers that the recording shows, with a margin."""
    check, flat = rounds.last, to_flat(rounds.config)
    fit, levels = check.fit, check.levels
    assert fit is not None and levels is not None
    assumed = _signs_as_the_others(fit, np.broadcast_to(rounds.config.signals.torque_sign, rounds.robot.n))
    if assumed is not None:
        signs, untold = assumed
        flat["signals.torque_sign"] = signs
        names = ", ".join(rounds.robot.joint_names[k] for k in untold)
        yield f"# the sign of {names} is that of all other joints: this motion does not tell it"
    if signals := {name: flat[name] for name in _SIGNALS if flat[name] != to_flat(start)[name]}:
        yield "# how the driver's numbers read, found by weight, friction and the reach of positions"
        yield from parameter_lines(signals)
    step = float(np.median(np.diff(check.samples.t)))
    yield f"# joint states came every {1e3 * step:.3g} ms"
    yield from parameter_lines({"window.duration": 0.2, "window.max_gap": _two(max(5.0 * step, 0.01))})
    left = np.array([np.quantile(np.abs(joint.residual), 0.99) for joint in fit.joints]) / fit.unit
    torque_absolute = _round(_MARGIN * left + 0.01)
    for joint, limit in _unread_joints(rounds).items():
        yield f"# the effort of {joint} does not show what the described links need: with its limit nothing rests on it"
        torque_absolute[rounds.robot.joint_names.index(joint)] = limit
    yield f"# {_MARGIN:g} times what friction and inertia leave in 99 of 100 windows; sysid calibrate finds its own"
    yield from parameter_lines({
        "noise.model": "window",
        "noise.torque_relative": [0.0],
        "noise.torque_absolute": torque_absolute,
        "noise.velocity_error": _round(levels.velocity + 1e-4),
        "noise.acceleration": _round(1.5 * levels.acceleration + 0.1),
    })  # fmt: skip
    friction = np.array([joint.friction for joint in fit.joints]) / fit.unit[:, None]
    spread = np.array([joint.friction_error for joint in fit.joints]) / fit.unit[:, None]
    # With 100 %: anywhere between none and twice the number, which holds the estimate and three deviations of it.
    half = np.maximum(friction, 0.5 * (friction + 3.0 * spread)) + np.array([0.02, 0.02, 0.005])
    offset = np.abs([joint.offset for joint in fit.joints]) / fit.unit
    share = float(np.median(friction[:, 0] / rounds.robot.limits.torque))
    gains = {"known_robot.gain_relative": [_CONSTANT]} if share > _OF_CURRENTS else {}
    if gains:
        yield f"# dry friction is {100 * share:.2g} % of the torque limits: motor currents of uncertain constants"
    yield "# friction, armature: anywhere between none and twice these; link inertia within 10 % of their mass and size"
    yield from parameter_lines({
        "known_robot.inertia_relative": 0.1,
        "known_robot.inertia_scale": "body",
        "known_robot.coulomb": _round(half[:, 0]),
        "known_robot.viscous": _round(half[:, 1]),
        "known_robot.friction_relative": 1.0,
        "known_robot.armature": _round(half[:, 2]),
        "known_robot.armature_relative": 1.0,
        "known_robot.offset_absolute": _round(_MARGIN * offset + 0.1),
        **gains,
    })  # fmt: skip


def _unread_joints(rounds: CheckRounds) -> dict[str, float]:
    """Joints whose efforts tell nothing of their torques, and a bound on the error that allows for that [N m]."""
    check, robot = rounds.last, rounds.robot
    assert check.fit is not None and check.means is not None
    body = robot.body_index(rounds.config.body)
    found = unread_torques(check.fit, check.means, np.zeros(robot.n), robot, body)
    return {mend.joint: float(mend.value) for finding in found for mend in finding.mends}


def _signs_as_the_others(fit: ArmFit, signs: Array) -> tuple[list[float], npt.NDArray[np.intp]] | None:
    """Signs of all joints, and which of them no motion told, where most were told and are alike but these differ."""
    told = np.array([joint.evidence > SURE for joint in fit.joints])
    if 2 * told.sum() <= len(told) or np.ptp(signs[told]) > 0.0:
        return None
    untold = np.flatnonzero(~told & (signs != signs[told][0]))
    return ([float(signs[told][0])] * len(told), untold) if untold.size else None


def _guessed_lines(start: IntervalIdentifierConfig) -> Iterator[str]:
    """Numbers that the torque limits suggest."""
    flat = to_flat(start)
    yield f"# guessed: {100 * _OF_LIMIT:g} % of the torque limits; a recording tells more, and sysid calibrate most"
    names = [name for name in flat if name.startswith(("noise.", "known_robot.", "window."))]
    changed = [name for name in names if flat[name] != to_flat(IntervalIdentifierConfig())[name]]
    yield from parameter_lines({name: flat[name] for name in changed})


def _prior(config: IntervalIdentifierConfig) -> Iterator[str]:
    prior = config.prior
    yield f"# what the torque limits let the arm lift, {prior.upper[0]:g} kg, within half a metre of its last joint"
    yield from parameter_lines({"prior.lower": list(prior.lower), "prior.upper": list(prior.upper)})


def _indent(lines: Iterator[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _round(values: Array) -> list[float]:
    return [_two(float(value)) for value in values]


def _two(value: float) -> float:
    """To two digits, upwards."""
    power = 10.0 ** (np.floor(np.log10(value)) - 1.0)
    return float(f"{np.ceil(value / power - 1e-9) * power:.2g}")
