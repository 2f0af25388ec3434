# SPDX-License-Identifier: Apache-2.0
"""Checks again with what the first check would mend, until nothing new shows: a wrong sign hides what masses do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sysid_nodes.data.config import from_flat, to_flat
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.signals.driver import DriverSignals
from sysid_nodes.signals.finding import Finding
from sysid_nodes.systems.interval.check.arm_check import ArmCheck, check_arm
from sysid_nodes.systems.interval.check.mending import mended_values
from sysid_nodes.systems.interval.check.signal_record import Signals
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

_MOST_ROUNDS = 4


@dataclass(frozen=True)
class CheckRounds:
    """Findings of all rounds.

    Attributes:
        first: the check with the configuration as it is.
        last: the check with everything mended that could be.
        findings: of all rounds, in order; those of later rounds hold once the earlier ones are mended.
        values: options that mend all of it, by dotted name.
        config: with these.
        robot: that goes with it.
        is_mended: the last check has no finding left.
    """

    first: ArmCheck
    last: ArmCheck
    findings: tuple[Finding, ...]
    values: dict[str, Any]
    config: IntervalIdentifierConfig
    robot: Robot
    is_mended: bool


def check_in_rounds(robot: Robot, config: IntervalIdentifierConfig, raw: Signals) -> CheckRounds:
    """Checks joint states, numbers as the driver delivers them, with configurations that are mended step by step."""
    findings: list[Finding] = []
    values: dict[str, Any] = {}
    first: ArmCheck | None = None
    for _ in range(_MOST_ROUNDS):
        check = check_arm(robot, config, raw.convert(DriverSignals(config.signals, robot.n)))
        first = first or check
        told = {(finding.kind, finding.subject) for finding in findings}
        new = [finding for finding in check.findings if (finding.kind, finding.subject) not in told]
        findings += new
        step = mended_values(robot, config, new)
        if not step:
            break
        values |= step
        config = from_flat(IntervalIdentifierConfig, {**to_flat(config), **step}, source="what would mend it")
        if "variant" in step:
            robot = load_robot(config.robot, variant=config.variant)
    assert first is not None
    return CheckRounds(first, check, tuple(findings), values, config, robot, not check.findings)
