# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.results import Contradiction, Status
from sysid_nodes.results.identification import times_text
from sysid_nodes.systems.interval.momentum_rows import CAUSES

TIMES = np.array([[1.0, 1.1], [3.0, 3.1]])


def test_every_status_has_a_message_of_its_own() -> None:
    assert len({status.message for status in Status}) == len(Status)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "windows from 1.000 to 3.100 s contradict the stated armature; 1.50 times it would do"),
        ({"factors": {"armature": np.inf}}, "windows from 1.000 to 3.100 s contradict the stated armature"),
        ({"payload_changed": True, "change_time": 2.0}, "the payload changed at about t = 2.000 s, or else "),
        ({"windows": (), "times": np.zeros((0, 2))}, "the stated assumptions contradict one another"),
    ],
)
def test_a_contradiction_in_words(changes: dict[str, object], sentence: str) -> None:
    values = {"windows": (0, 20), "times": TIMES, "assumption": "armature", "factors": {"armature": 1.5}} | changes
    found = Contradiction(**values).sentence()  # type: ignore[arg-type]
    assert found.startswith(sentence) and ("times" in found) == ("1.50" in found)


def test_a_default_is_not_blamed_as_stated() -> None:
    found = Contradiction((0,), TIMES[:1], "armature", {"armature": 1.5}, unstated=frozenset({"armature"}))
    assert "contradict the assumed (default) armature; 1.50 times" in found.sentence()


def test_what_a_calibration_found_nobody_stated_or_left_to_a_default() -> None:
    marks = frozenset({"armature"})
    found = Contradiction((0,), TIMES[:1], "armature", {"armature": 1.5}, unstated=marks, calibrated=marks)
    assert "contradict the armature of the calibration; 1.50 times" in found.sentence()


@pytest.mark.parametrize(
    ("factor", "text"),
    [(1.5, "1.50"), (1.003, "1.003"), (1.00012, "1.00012"), (1.0 + 1e-9, "a hair over 1")],
)
def test_a_factor_never_reads_as_one_and_is_enough(factor: float, text: str) -> None:
    assert times_text(factor) == text


def test_other_explanations_come_mildest_first() -> None:
    factors = {"armature": 1.5, "link inertia": 3.0, "relative torque noise": 1.75, "torque gain": np.inf, "a": 9.0}
    found = Contradiction((0, 20), TIMES, "armature", factors)
    assert found.other_explanations() == [("relative torque noise", 1.75), ("link inertia", 3.0)]
    told = "so would the relative torque noise 1.75 times, the link inertia 3.00 times as large"
    assert found.alternatives() == told
    changed = Contradiction((0, 20), TIMES, "armature", factors, payload_changed=True, change_time=2.0)
    assert changed.alternatives() == ""


def test_the_lines_on_a_contradiction_are_short_whatever_is_to_blame() -> None:
    """Below 200 characters with `sysid: BAG: ` before and the report's path after them, at stamps since 1970."""
    names = [*CAUSES, "Coulomb friction", "viscous friction", "prior of the body"]
    now = TIMES + 1.7e9
    for name in names:
        factors = dict.fromkeys(names, 123.456)
        for unstated in (frozenset({name}), frozenset[str]()):
            found = Contradiction((0, 20), now, name, factors, unstated=unstated)
            assert len(found.sentence()) <= 140
            assert len(found.alternatives()) <= 140
