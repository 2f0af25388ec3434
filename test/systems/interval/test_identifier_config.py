# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from sysid_nodes.data.config import from_flat, load_yaml, options, to_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


def test_defaults_survive_a_parameter_file(tmp_path: Path) -> None:
    defaults = IntervalIdentifierConfig()
    flat = {name: list(value) if isinstance(value, tuple) else value for name, value in to_flat(defaults).items()}
    path = tmp_path / "defaults.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": flat}}))
    assert load_yaml(IntervalIdentifierConfig, path) == defaults


def test_every_default_keeps_its_own_limits_and_is_documented() -> None:
    for item in options(IntervalIdentifierConfig):
        assert from_flat(IntervalIdentifierConfig, {item.name: item.default})
        assert item.doc


def test_live_options_touch_no_structure() -> None:
    live = {item.name for item in options(IntervalIdentifierConfig) if item.live}
    assert live and all(name.startswith("noise.") or name == "set_membership.min_shrink" for name in live)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"noise.torque_relativ": [0.1]}, "unknown key 'noise.torque_relativ'"),
        ({"noise.torque_relative": [-0.1]}, "'noise.torque_relative' must be at least 0"),
        ({"noise.torque_relative": [1.5]}, "'noise.torque_relative' must be at most 1"),
        ({"noise.stamp_error": 0.2}, "'noise.stamp_error' must be at most 0.1"),
        ({"noise.acceleration": [0.0]}, "'noise.acceleration' must be at least 1e-06"),
        ({"noise.torque_interpolation": "cubic"}, "'noise.torque_interpolation' must be one of linear, hold, until"),
        ({"known_robot.gain_relative": [0.95]}, "'known_robot.gain_relative' must be at most 0.9"),
        ({"known_robot.gain": [0.0]}, "'known_robot.gain' must be at least 1e-06"),
        ({"method": "magic"}, "'method' must be one of set_membership, sensitivity"),
        ({"target": "arm"}, "'target' must be one of body, payload"),
        ({"window.duration": 0.0}, "'window.duration' must be at least 0.001"),
        ({"set_membership.max_rows": 5}, "'set_membership.max_rows' must be at least 20"),
        ({"prior.lower": [1.0, 2.0]}, "'prior.lower' needs 10 numbers"),
        ({"prior.lower": [9.0] + [-1.0] * 9}, "impossible bounds: m has lower 9 above upper 5.2"),
        ({"prior.upper": [5.2, 0.4, 0.4, -0.1, -0.3] + [0.2] * 5}, "impossible bounds: Ixx has lower -0.2"),
    ],
)
def test_bad_values_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_flat(IntervalIdentifierConfig, values, source="x.yaml")


def test_an_open_prior_is_refused() -> None:
    with pytest.raises(ConfigError, match="'prior' must be finite"):
        PriorConfig(upper=(np.inf, *[1.0] * 9))
