# SPDX-License-Identifier: Apache-2.0
"""A demo whose estimate is wrong by its own sigmas does not end well, unless the estimate says that it may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sysid_nodes.cli.demo.ending import NOT_HELD, NOT_THERE, Ending
from sysid_nodes.cli.prime.demo_screen import plain_line
from sysid_nodes.cli.prime.demo_summary import summary, verdict
from sysid_nodes.cli.prime.demo_watch import PrimeWatch
from sysid_nodes.results.prime_status import PrimeStatus

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


def test_the_summary_says_how_long_the_live_estimate_was_less_than_good() -> None:
    watch = PrimeWatch(np.ones(10), np.zeros(4, dtype=np.int64), "base", 0.01)
    good, doubtful, lost = PrimeStatus.GOOD, PrimeStatus.DOUBTFUL, PrimeStatus.LOST
    for t, status in ((10.0, good), (12.0, good), (12.5, doubtful), (14.5, lost), (14.52, good), (20.0, good)):
        watch.take({"forces": {"t": t, "status": status, "normal": [np.nan] * 4}})
    run = {"truth": {"bodies": [{"link": "base", "parameters": [1.0], "mass_error": 0.0, "centre_of_mass_error": 0.0}]}}
    run["truth"] |= {"force_error": 0.0, "contact_f1": 1.0, "position_rms": 0.0}
    fields = {
        "findings": [],
        "robot": "go2",
        "run": run | {"live": {"sentence": "Same."}},
    }
    text = summary(watch, fields, {})
    assert "Of 10.0 s the live estimate's status was DOUBTFUL for 2.0 s.\n" in text, "20 ms are no line's worth"
    watch.take({"inertia": {"body": "base", "estimate": [1.0], "sigma": [0.1]} | {
        name: dict.fromkeys("xyz", np.nan) for name in ("centre_of_mass", "centre_of_mass_sigma")
    }})  # fmt: skip
    assert "CoM unknown" in plain_line(watch)


def test_forces_are_compared_with_the_truth_about_their_own_time() -> None:
    """A foot lands 4 ms after a stage, a share a = 0.4 of a box of 10 ms, and lifts at one. That the box is level moves
    a (1 - a) / 2 of the force, 12 N; a box nearest in time would be 40 N off. What has a hole in it is not compared."""
    watch = PrimeWatch(np.ones(10), np.zeros(1, dtype=np.int64), "base", 0.01)

    def mean(t: float) -> float:
        """Over a triangle about t of 100 N from 0.104 to 0.3."""

        def reached(end: float) -> float:
            x = np.clip((end - t) / 0.01, -1.0, 1.0)
            return 0.5 + x - 0.5 * x * abs(x)

        return 100.0 * (reached(0.3) - reached(0.104))

    for k in range(50):
        start = 0.01 * k
        pressed = max(min(start + 0.01, 0.3) - max(start, 0.104), 0.0) / 0.01
        if k != 40:
            watch.take({"truth": {"t": start + 0.005, "normal": [100.0 * pressed]}})
    compared = []
    for k in range(1, 49):
        watch.take(
            {"forces": {"t": 0.01 * k, "status": PrimeStatus.GOOD, "normal": [mean(0.01 * k) + 50.0 * (k in (40, 41))]}}
        )
        compared.append(float(watch.true_normal[0]))
    true = np.array([mean(0.01 * k) for k in range(1, 49)])
    assert np.abs(np.array(compared) - true).max() < 12.1
    assert watch.f1 == 1.0
