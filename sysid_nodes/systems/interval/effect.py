# SPDX-License-Identifier: Apache-2.0
"""Options that have no effect in the chosen mode: to state one is a mistake, and silence would hide it."""

from __future__ import annotations

from collections.abc import Collection

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


def refuse_without_effect(config: IntervalIdentifierConfig, stated: Collection[str]) -> None:
    """Raises ConfigError where an option that somebody stated does nothing.

    Args:
        stated: names of the options that somebody stated.
    """
    noise = config.noise
    rules = (
        ("noise.position_error", noise.model == "window", "noise.model window: it is part of the window's error"),
        ("noise.torque_rate", noise.model == "window", "noise.model window: it is part of the window's error"),
        ("noise.torque_curvature", noise.model == "window", "noise.model window: it is part of the window's error"),
        ("noise.jerk", noise.model == "window", "noise.model window: it is part of the window's error"),
        *(
            (name, noise.torque_interpolation != "linear", f"noise.torque_interpolation {noise.torque_interpolation}")
            for name in ("noise.torque_rate", "noise.torque_curvature")
        ),
        (
            "known_robot.load_friction",
            noise.model != "window",
            f"noise.model {noise.model}: torque_relative bounds it there",
        ),
        (
            "known_robot.viscous_power",
            noise.model != "window",
            f"noise.model {noise.model}: torque_relative bounds what it changes",
        ),
        ("noise.torque_factor", not config.calibration, "no calibration"),
        ("set_membership.spans", noise.model == "window", "noise.model window: a calibration's sums take its place"),
        ("set_membership.", config.method != "set_membership", f"method {config.method}"),
        ("sensitivity.", config.method != "sensitivity", f"method {config.method}"),
    )
    for name, idle, mode in rules:
        if idle and (
            found := sorted(key for key in stated if key == name or (name[-1] == "." and key.startswith(name)))
        ):
            raise ConfigError(f"'{found[0]}' has no effect with {mode}; take it out")


def refuse_replaced(config: IntervalIdentifierConfig, insisted: Collection[str]) -> None:
    """Raises ConfigError where an option is insisted on that a calibration replaces.

    A parameter file may hold such options all the same: the calibration itself is made with them.
    """
    if not config.calibration:
        return
    replaced = [name for name in sorted(insisted) if name.startswith("known_robot.")]
    if config.noise.model == "window" and "noise.torque_absolute" in insisted:
        replaced.append("noise.torque_absolute")
    if replaced:
        raise ConfigError(f"'{replaced[0]}' has no effect with a calibration, which replaces it; calibrate with it")
