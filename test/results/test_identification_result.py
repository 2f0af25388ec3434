# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.results import Contradiction, Status

TIMES = np.array([[1.0, 1.1], [3.0, 3.1]])


def test_every_status_has_a_message_of_its_own() -> None:
    assert len({status.message for status in Status}) == len(Status)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "windows between t = 1.000 s and 3.100 s contradict the stated armature; it would have to be 1.50 times"),
        ({"factors": {"armature": np.inf}}, "windows between t = 1.000 s and 3.100 s contradict the stated armature"),
        ({"payload_changed": True, "change_time": 2.0}, "the payload changed at about t = 2.000 s, or else "),
        ({"windows": (), "times": np.zeros((0, 2))}, "the stated assumptions contradict one another"),
    ],
)
def test_a_contradiction_in_words(changes: dict[str, object], sentence: str) -> None:
    values = {"windows": (0, 20), "times": TIMES, "assumption": "armature", "factors": {"armature": 1.5}} | changes
    found = Contradiction(**values).sentence()  # type: ignore[arg-type]
    assert found.startswith(sentence) and ("times" in found) == ("1.50" in found)


def test_other_explanations_come_mildest_first() -> None:
    factors = {"armature": 1.5, "link inertia": 3.0, "relative torque noise": 1.75, "torque gain": np.inf, "a": 9.0}
    found = Contradiction((0, 20), TIMES, "armature", factors)
    assert found.other_explanations() == [("relative torque noise", 1.75), ("link inertia", 3.0)]
    told = "1.50 times as large, or the relative torque noise 1.75 times, the link inertia 3.00 times"
    assert found.sentence().endswith(told)
