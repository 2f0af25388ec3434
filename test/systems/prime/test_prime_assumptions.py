# SPDX-License-Identifier: Apache-2.0
"""The assumptions that a result names are those of its configuration."""

from __future__ import annotations

from dataclasses import replace

from sysid_nodes.systems.prime import PrimeConfig
from sysid_nodes.systems.prime.assumptions import assumptions


def test_what_is_estimated_is_not_assumed() -> None:
    config = PrimeConfig()
    plain = assumptions(config)
    asked = assumptions(replace(config, process=replace(config.process, outside_force=20.0)))
    assert [one for one in plain if "outside_force" in one]
    assert not [one for one in asked if "outside_force" in one]
    uneven = assumptions(replace(config, contact=replace(config.contact, foothold_sigma=0.01)))
    assert plain[0].startswith("the ground is one plane") and uneven[0].startswith("footholds lie about one plane")
