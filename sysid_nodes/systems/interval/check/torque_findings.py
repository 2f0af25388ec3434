# SPDX-License-Identifier: Apache-2.0
"""Sign, unit and side of the torques, friction and offsets, against what the configuration says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_vector import per_joint, spread
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.robots import Robot, load_robot, robot_variants
from sysid_nodes.signals.driver import TORQUE_UNITS
from sysid_nodes.signals.finding import Finding, Mend
from sysid_nodes.signals.plausibility import ALL_JOINTS
from sysid_nodes.systems.interval.check.arm_fit import CERTAIN, SURE, ArmFit
from sysid_nodes.systems.interval.check.joint_fit import JointFit
from sysid_nodes.systems.interval.check.window_means import WindowMeans
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

Array = npt.NDArray[np.float64]

LIKELY_SIGN = "likely torque_sign"
"""Kind of a finding about a sign that is not beyond doubt."""

_FAR = 4.0
"""Standard deviations from which a number counts as outside what is stated."""

_NOTHING = 0.5
"""Log-likelihood ratio that tells next to nothing about a sign."""

_SAME_UNIT = np.log(2.0)
"""Largest logarithm of a scale over that of N m or N mm at which it is called that: an unknown load scales along."""

_MATTERS = 0.05
"""Torque below which nothing about friction is worth a word [N m]."""

_TERMS = ("coulomb", "viscous", "armature")
_UNITS = {"coulomb": "N m", "viscous": "N m s/rad", "armature": "kg m2"}
_NAMES = {"coulomb": "Coulomb friction", "viscous": "viscous friction", "armature": "armature"}


def sign_and_unit(fit: ArmFit, config: IntervalIdentifierConfig, names: Sequence[str], start: float) -> list[Finding]:
    """Joints whose torque reads with another sign or in another unit than the configuration says."""
    n = len(names)
    now = np.broadcast_to(np.array(config.signals.torque_sign), n)
    units = spread(config.signals.torque_unit, n, "signals.torque_unit")
    constants = per_joint(config.signals.torque_constant or (1.0,), n, "signals.torque_constant")
    found = []
    for k, joint in enumerate(names):
        factor = (constants[k] if units[k] == "A" else TORQUE_UNITS[units[k]]) / fit.unit[k]
        text, mended = _unit(float(fit.unit[k]), units[k], float(factor), joint)
        kind, line, mends = _judge(fit.joints[k], text, mended, float(now[k]), joint)
        if kind:
            found.append((kind, joint, line, mends))
    certain = {
        line.replace("probably has", "has").replace("friction needs", "gravity needs") for _, _, line, _ in found
    }
    same = len(found) == n and len(certain) == 1
    if same:
        kind, line = ("torque_sign" if "sign" in found[0][0] else "torque_unit"), certain.pop()
        together = tuple(mend for entry in found for mend in entry[3])
        return [Finding(kind, ALL_JOINTS, start, f"effort of all joints {line}", together)]
    single = [Finding(kind, joint, start, f"effort of '{joint}' {line}", mends) for kind, joint, line, mends in found]
    return [*single, *_sign_of_the_others(fit, now, names, start)]


def _sign_of_the_others(fit: ArmFit, now: Array, names: Sequence[str], start: float) -> list[Finding]:
    """All joints, where one is surely of the wrong sign, the others together are as sure and none is against it."""
    against = np.array([-joint.sign * joint.evidence for joint in fit.joints])
    others = against <= SURE
    if others.all() or against[others].sum() <= SURE or against[others].min() < -_NOTHING:
        return []
    line = "effort of all joints probably has the opposite sign: what the others show, taken together, says the same"
    mends = [
        Mend("signals.torque_sign", -float(sign), name)
        for sign, name, other in zip(now, names, others, strict=True)
        if other
    ]
    return [Finding(LIKELY_SIGN, ALL_JOINTS, start, line, tuple(mends))]


def _unit(unit: float, stated: str, factor: float, joint: str) -> tuple[str, list[Mend]]:
    """Text and mends; both empty where the unit is as stated.

    Args:
        unit: torque as stated over what it has to be.
        stated: the unit's name.
        factor: from the driver's number to N m.
        joint: its name.
    """
    if unit == 1.0:
        return "", []
    size = "far above" if unit > 1.0 else "far below"
    if stated == "A":
        text = f"is {size} what gravity needs: its torque constant is another, or its unit not A"
        return text, [Mend("signals.torque_constant", factor, joint)]
    for name in {"N m", "N mm"} - {stated}:
        if abs(np.log(factor / TORQUE_UNITS[name])) < _SAME_UNIT:
            return f"seems to be in {name} instead of {stated}", [Mend("signals.torque_unit", name, joint)]
    text = f"is {size} what gravity needs: "
    text += f"its unit is not {stated}" if unit > 1.0 else "motor current or motor-side torque instead of joint torque"
    return text, [Mend("signals.torque_unit", "A", joint), Mend("signals.torque_constant", factor, joint)]


def _judge(fit: JointFit, text: str, mended: list[Mend], sign: float, joint: str) -> tuple[str, str, tuple[Mend, ...]]:
    """Kind, text and mends, those of the unit included; an empty kind for a plausible torque."""
    if fit.sign < 0 and fit.evidence > SURE:
        needs = "gravity" if fit.is_measured else "friction"
        also = f", and {text}" if text else ""
        kind, has = ("torque_sign", "has") if fit.evidence > CERTAIN else (LIKELY_SIGN, "probably has")
        mends = (Mend("signals.torque_sign", -sign, joint), *mended)
        return kind, f"{has} the opposite sign of the torque {needs} needs{also}", mends
    return ("torque_unit" if text else ""), text, tuple(mended)


def friction_and_offset(
    fit: ArmFit, means: WindowMeans, allowed: Array, robot: Robot, config: IntervalIdentifierConfig
) -> Iterator[Finding]:
    """Friction, armature and offsets that the data put outside what is stated.

    Args:
        fit: of the arm.
        means: of the windows it was made of.
        allowed: (n,) torque error that is stated [N m].
        robot, config: what is stated.
    """
    n, start = robot.n, float(means.t[0, 0])
    centre, radius = known_box(robot, config.known_robot)
    body = robot.body_index(config.body)
    links = radius[: 10 * n].copy()
    links[10 * body : 10 * body + 10] = _FAR * fit.body_error
    # Links that are as wrong as stated, or as the fit of the last one, look like an offset to a short motion.
    allowed = allowed + np.abs(means.regressor).mean(axis=0) @ links
    size = np.abs(means.motion).mean(axis=0)
    for row, term in enumerate(_TERMS):
        part = slice(n * (10 + row), n * (11 + row))
        low, high = centre[part] - radius[part], centre[part] + radius[part]
        found = np.array([joint.friction[row] for joint in fit.joints]) / fit.unit
        error = _FAR * np.array([joint.friction_error[row] for joint in fit.joints]) / fit.unit
        off = np.maximum(found - error - high, low - found - error)
        matters = off * size[:, row] > np.maximum(_MATTERS, 0.5 * allowed)
        if matters.any():
            yield _friction_finding(robot, term, found, (low, high), matters, start)
    yield from _offsets(fit, means, centre, radius, allowed, robot, body)


def _friction_finding(
    robot: Robot, term: str, found: Array, stated: tuple[Array, Array], matters: npt.NDArray[np.bool_], start: float
) -> Finding:
    low, high = stated
    joints = [name for name, off in zip(robot.joint_names, matters, strict=True) if off]
    which = ALL_JOINTS if len(joints) == robot.n else ", ".join(joints)
    worst = int(np.argmax(np.where(matters, np.maximum(found - high, low - found), -np.inf)))
    side = ""
    if term != "coulomb" and matters.sum() > robot.n // 2 and (low - found)[matters].min() > 0.0:
        side = "; what is stated is of the motors' side of the gears, the torque is of the joints'"
    elif term == "armature" and (found - high)[matters].min() > 0.0:
        side = "; the torque is of the motors' side of the gears"
    line = (
        f"{_NAMES[term]} of {which} is not what is stated: {robot.joint_names[worst]} shows "
        f"{found[worst]:.3g} {_UNITS[term]}, stated are {low[worst]:.3g} to {high[worst]:.3g}{side}"
    )
    share = "armature_relative" if term == "armature" else "friction_relative"
    mends = [Mend(f"known_robot.{term}", max(_round(value), 0.01), name)
             for name, value in zip(robot.joint_names, found, strict=True)]  # fmt: skip
    return Finding(term, which, start, line, (*mends, Mend(f"known_robot.{share}", 1.0)))


def _offsets(
    fit: ArmFit, means: WindowMeans, centre: Array, radius: Array, allowed: Array, robot: Robot, body: int
) -> Iterator[Finding]:
    n, start = robot.n, float(means.t[0, 0])
    stated, bound = centre[13 * n : 14 * n], radius[13 * n : 14 * n]
    found = np.array([joint.sign * joint.offset for joint in fit.joints]) / fit.unit
    spread = np.array([joint.rms for joint in fit.joints]) / fit.unit
    theta = robot.inertial_parameters()
    theta[body] = fit.body
    # What a motion hardly tells from a constant, weight or friction, it does not tell from an offset either.
    columns = np.abs(np.dstack([means.rigid(theta), means.motion]).mean(axis=0))
    errors = np.array([[joint.factor_error, *joint.friction_error] for joint in fit.joints]) / fit.unit[:, None]
    slack = spread / np.sqrt(means.count) + (columns * errors).sum(axis=1)
    over = np.abs(found - stated) - bound - _FAR * slack
    off = (over > np.maximum(2.0 * _MATTERS, allowed)) & means.moving  # at rest friction holds whatever it likes
    if off.any():
        worst = int(np.argmax(np.where(off, over, -np.inf)))
        which = ", ".join(name for name, bad in zip(robot.joint_names, off, strict=True) if bad)
        line = (
            f"torque of {which} has an offset: {robot.joint_names[worst]} reads {found[worst]:+.3g} N m where there "
            f"is none, stated are at most {bound[worst]:.3g}"
        )
        most = np.maximum(1.5 * np.abs(found - stated), bound)
        mends = [Mend("known_robot.offset_absolute", _round(value), name)
                 for name, value in zip(robot.joint_names, most, strict=True)]  # fmt: skip
        yield Finding("offset", which, start, line, tuple(mends))


def wrist(fit: ArmFit, robot: Robot, config: IntervalIdentifierConfig, start: float) -> list[Finding]:
    """A body that weighs other than the configuration allows, as without the gripper that the description has.

    Args:
        fit: of the arm.
        robot, config: what is stated.
        start: first stamp [s].
    """
    index = robot.body_index(config.body)
    mass, error = float(fit.body[0]), float(fit.body_error[0])
    described = float(robot.inertial_parameters()[index, 0])
    known = described if config.target == "payload" else 0.0
    unsure = config.known_robot.inertia_relative * known
    prior = config.prior.bounds
    low, high = known - unsure + prior.lower[0], known + unsure + prior.upper[0]
    slack = _FAR * error + 0.1 + 0.03 * mass
    if low - slack <= mass <= high + slack:
        return []
    payload = config.target == "payload"
    said = f"the description has {described:.3g}" if payload else f"the prior says {low:.3g} to {high:.3g}"
    line = f"what the wrist carries weighs {mass:.2f} +- {2.0 * error:.2f} kg (two sigma), {said}"
    mends = []
    if mass < low:
        line += ": no gripper?" if described - mass > slack else ""
        if payload:
            mends += [Mend("variant", name) for name, other in _variants(robot, index) if abs(other - mass) < slack]
        else:
            mends.append(Mend("prior.lower", max(0.0, _round(0.5 * mass)), "m"))
    else:
        mends.append(Mend("prior.upper", _round(1.5 * (mass - known)), "m"))
    return [Finding("mass", config.body or robot.body, start, line, tuple(mends))]


def _variants(robot: Robot, index: int) -> list[tuple[str, float]]:
    """Name and mass of the body [kg] of each of the robot's other forms."""
    others = [name for name in robot_variants(robot.name) if name != robot.variant and robot.variant != "urdf"]
    return [(name, float(load_robot(robot.name, variant=name).inertial_parameters()[index, 0])) for name in others]


def _round(value: float) -> float:
    """To two digits."""
    return float(f"{value:.2g}")
