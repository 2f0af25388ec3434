# SPDX-License-Identifier: Apache-2.0
"""A demo whose estimate is wrong by its own sigmas does not end well, unless the estimate says that it may be."""

from __future__ import annotations

from typing import Any

import pytest

from sysid_nodes.cli.demo.ending import NOT_HELD, NOT_THERE, Ending
from sysid_nodes.cli.prime.demo_summary import verdict

WORDS = "of its standard deviations from the truth, and the estimate calls itself GOOD"


def document(mass: float | None, sigma: float | None, status: str = "GOOD") -> dict[str, Any]:
    rows = [{"name": "m", "estimate": mass, "sigma": sigma}, {"name": "m*cx", "estimate": 0.14, "sigma": 0.01}]
    truth = {"bodies": [{"parameters": [9.1, 0.15]}]}
    return {"status": status, "bodies": [{"link": "base", "parameters": rows}], "run": {"truth": truth}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (document(9.0, 0.08), Ending()),
        (document(None, None), Ending()),  # not observed
        (document(8.1, 0.08, "DOUBTFUL"), Ending()),
        (
            document(8.1, 0.08),
            Ending(NOT_HELD, f"m of the base is 12.5 {WORDS}"),
        ),
    ],
    ids=["near", "not observed", "said", "far"],
)
def test_an_estimate_that_calls_itself_good_has_to_be(found: dict[str, Any], expected: Ending) -> None:
    assert verdict(found, fallen=False) == expected


def test_a_robot_that_has_fallen_is_not_there() -> None:
    assert verdict(document(8.1, 0.08), fallen=True) == Ending(NOT_THERE, "the robot has fallen")
