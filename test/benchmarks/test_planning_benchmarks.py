# SPDX-License-Identifier: Apache-2.0
"""The planner's benchmarks run from end to end at a tiny size; the figures are not looked at here."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import excitation, late_task, planning_speed
from benchmarks.certified_motion import Identified, dumbbell, true_arm
from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.models.bezier import Bezier


@pytest.mark.slow
def test_planning_speed(tmp_path: Path) -> None:
    assert planning_speed.main(["--runs", "1", "--out", str(tmp_path)]) == 0
    (found,) = tmp_path.glob("*.md")
    assert re.search(r"median of [1-9]\d* steps", found.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_excitation(tmp_path: Path) -> None:
    assert excitation.main(["--pounds", "6", "--rate", "500", "--seeds", "1", "--out", str(tmp_path)]) == 0
    (found,) = tmp_path.glob("*.md")
    text = found.read_text(encoding="utf-8")
    assert "| 6 lb |" in text and "nan" not in text


@pytest.mark.slow
def test_a_load_is_identified_and_carried_with_torques_that_are_4_ms_late(tmp_path: Path) -> None:
    """From a rest that the first plan's errors do not let it leave."""
    arguments = ["--seed", "2", "--seeds", "1", "--delays", "0.004", "--out", str(tmp_path)]
    assert late_task.main(arguments) == 0
    (found,) = tmp_path.glob("*.md")
    assert "**1 of 1 tasks" in found.read_text(encoding="utf-8")


def test_a_task_that_fails_is_named(tmp_path: Path) -> None:
    fine = {
        "arrived": True, "why": "", "took": 20.0, "plans": 9, "paused": 3, "refused": [], "width": 0.2, "missed": 0,
        "updates": 200, "broken": [], "usage": 0.3,
    }  # fmt: skip
    short = fine | {"arrived": False, "why": "torque of joint_5", "missed": 2, "broken": ["torque"], "took": 120.0}
    keys = [{"seed": k, "delay": 0.004, "longest": 120.0} for k in (1, 2)]
    report = late_task.Report("late_task", "Late", tmp_path, "")
    assert late_task.summarise(report, keys, [fine, short]) == 1
    text = report.write().read_text(encoding="utf-8")
    assert "**1 of 2 tasks" in text and "398 of 400 updates" in text
    told = "2 updates missed the truth; torque was not kept; not at its goal after 120 s: torque of joint_5"
    assert f"- seed 2, 4 ms: {told}" in text


@pytest.mark.parametrize("pounds", [4.0, 6.0, 8.0])
def test_dumbbells_are_physical(pounds: float) -> None:
    assert is_consistent(dumbbell(pounds))
    assert dumbbell(pounds)[0] - dumbbell(0.0)[0] == pytest.approx(pounds * 0.45359237)


def test_motion_beyond_what_the_identifier_was_told_is_an_error() -> None:
    rng = np.random.default_rng(0)
    measured = Identified(true_arm(6.0, rng), 200.0, rng)
    start = np.zeros(7)
    assert not measured.allows(Bezier(start, start, start, np.full(7, 3.0), 1.0))
    assert measured.allows(Bezier(start, start, start, np.full(7, 0.3), 3.0))
    with pytest.raises(RuntimeError, match="faster than the identifier was told"):
        measured.feed(Bezier(start, start, start, np.full(7, 3.0), 1.0), 0.0, 1.0)
