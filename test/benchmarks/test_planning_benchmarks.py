# SPDX-License-Identifier: Apache-2.0
"""The planner's benchmarks run from end to end at a tiny size; the figures are not looked at here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import excitation, planning_speed
from benchmarks.certified_motion import Identified, dumbbell, true_arm
from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.models.bezier import Bezier


@pytest.mark.slow
def test_planning_speed(tmp_path: Path) -> None:
    assert planning_speed.main(["--runs", "1", "--out", str(tmp_path)]) == 0
    (found,) = tmp_path.glob("*.md")
    assert "median of 4 steps" in found.read_text(encoding="utf-8")


@pytest.mark.slow
def test_excitation(tmp_path: Path) -> None:
    assert excitation.main(["--pounds", "6", "--rate", "500", "--seeds", "1", "--out", str(tmp_path)]) == 0
    (found,) = tmp_path.glob("*.md")
    text = found.read_text(encoding="utf-8")
    assert "| 6 lb |" in text and "nan" not in text


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
