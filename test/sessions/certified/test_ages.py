# SPDX-License-Identifier: Apache-2.0
"""Delays and waits of a robust controller that cannot be right together."""

from __future__ import annotations

from typing import Any

import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.sessions.certified.config import RobustControllerConfig, check_ages


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"control.delay": 0.0005}, "no joint state could be in time"),
        ({"control.delay": 0.002, "controller.silence": 2.5}, "'controller.silence' is 2.5 s; above 2 s is for"),
    ],
)  # fmt: skip
def test_one_clock_watches_ages(values: dict[str, Any], message: str) -> None:
    stated = {"robot": "kinova_gen3", **values}
    check_ages(from_flat(RobustControllerConfig, stated, source="test"))  # nobody knows how old a state is
    with pytest.raises(ConfigError, match=message):
        check_ages(from_flat(RobustControllerConfig, stated | {"robust_controller.same_clock": True}, source="test"))
