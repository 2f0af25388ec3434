# SPDX-License-Identifier: Apache-2.0
"""The identification methods by name."""

from __future__ import annotations

from collections.abc import Callable

from sysid_nodes.systems.interval.calibration_file import Calibration
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.method import Method
from sysid_nodes.systems.interval.sensitivity import Sensitivity
from sysid_nodes.systems.interval.set_membership import SetMembership
from sysid_nodes.systems.interval.unknowns import Unknowns

Build = Callable[[Unknowns, IntervalIdentifierConfig, Calibration | None], Method]

BUILDERS: dict[str, Build] = {
    "set_membership": lambda unknowns, config, calibration: SetMembership(unknowns, config.set_membership, calibration),
    "sensitivity": lambda unknowns, config, _: Sensitivity(unknowns, config.sensitivity),
}
"""One entry for each of `config.METHODS`."""


def build_method(unknowns: Unknowns, config: IntervalIdentifierConfig, calibration: Calibration | None) -> Method:
    """The configured method, before any data.

    Args:
        unknowns: assumed box of all parameters.
        config: names the method and has its options.
        calibration: of the known robot, where there is one.
    """
    return BUILDERS[config.method](unknowns, config, calibration)
