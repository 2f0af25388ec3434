# SPDX-License-Identifier: Apache-2.0
"""The lines of a configuration that would mend findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sysid_nodes.data.config import to_flat
from sysid_nodes.models.known_robot import nominal_parameters
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

_MOTOR = ("coulomb", "viscous", "armature", "offset")
_PRIOR = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def mended_values(robot: Robot, config: IntervalIdentifierConfig, findings: Iterable[Finding]) -> dict[str, Any]:
    """Options and values that mend all findings together; what is per joint is there for every joint of the robot."""
    base = _base(robot, config)
    values: dict[str, Any] = {}
    for mend in (mend for finding in findings for mend in finding.mends):
        if not mend.joint:
            values[mend.option] = [mend.value] if isinstance(base.get(mend.option), list) else mend.value
            continue
        names: Sequence[str] = _PRIOR if mend.option.startswith("prior.") else robot.joint_names
        full = values.setdefault(mend.option, list(base[mend.option]))
        full[names.index(mend.joint)] = mend.value
    return values


def _base(robot: Robot, config: IntervalIdentifierConfig) -> Mapping[str, Any]:
    """Present values, lists with an entry for each joint."""
    n = robot.n
    flat: dict[str, Any] = {}
    for name, value in to_flat(config).items():
        flat[name] = list(value) * (n if len(value) == 1 else 1) if isinstance(value, tuple) else value
    nominal = nominal_parameters(robot, config.known_robot)
    for row, term in enumerate(_MOTOR):
        flat[f"known_robot.{term}"] = [float(x) for x in nominal[n * (10 + row) : n * (11 + row)]]
    for name in ("signals.torque_constant", "signals.gear_ratio"):
        flat[name] = flat[name] or [1.0] * n
    return flat


def parameter_lines(values: Mapping[str, Any]) -> list[str]:
    """Options and values as lines for a ROS parameter file, to stand below ``ros__parameters``."""
    lines: list[str] = []
    section = ""
    for name in sorted(values, key=lambda name: ("." in name, name)):
        head, _, rest = name.rpartition(".")
        if head and head != section:
            lines.append(f"{head}:")
        section = head
        lines.append(("  " if head else "") + f"{rest}: {_write(values[name])}")
    return lines


def _write(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_write(item) for item in value) + "]"
    if isinstance(value, str):
        return value
    return repr(value) if isinstance(value, (bool, int)) else _number(float(value))


def _number(value: float) -> str:
    """With a point, so that YAML takes it for a number, and four digits."""
    text = (
        np.format_float_positional(float(f"{value:.4g}"), trim="0")
        if 1e-4 <= abs(value) < 1e6 or not value
        else f"{value:.4g}"
    )
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    return text
