# SPDX-License-Identifier: Apache-2.0
"""Effects of the benchmark `untold` on readings: each is there, as large as it says, and touches nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.untold_effects import Readings, Untold, spoil

T = np.arange(0.0, 4.0, 0.008)
SIDES = np.array([1.0, -0.5])
TRUE = Readings(T, np.column_stack([np.sin(T), T]), np.column_stack([np.cos(T), T**0]), np.column_stack([T, 5.0 - T]))


def change(**untold: Any) -> dict[str, np.ndarray]:
    """Of each reading that the effect touches."""
    found = spoil(TRUE, Untold(**untold), SIDES, np.random.default_rng(0))
    moved = {name: getattr(found, name) - getattr(TRUE, name) for name in ("t", "q", "qd", "effort")}
    return {name: part for name, part in moved.items() if part.any()}


@pytest.mark.parametrize(
    ("name", "size", "reading", "largest"),
    [
        ("gain", 0.1, "effort", 0.5),  # of 5 N m
        ("delay", 0.02, "effort", 0.02),  # of 1 N m/s
        ("warm", 0.3, "effort", 0.3),
        ("step", 0.01, "q", 0.005),
        ("zero", 0.009, "q", 0.009),
        ("lag", 0.02, "qd", 0.02),  # of 1 rad/s2
        ("jitter", 0.003, "t", 0.003),
    ],
)
def test_an_effect_on_readings(name: str, size: float, reading: str, largest: float) -> None:
    found = change(**{name: size})
    assert list(found) == [reading]
    # a filter begins without lag and is a sample's share short of its time constant; rounding and jitter seldom reach
    assert np.abs(found[reading]).max() == pytest.approx(largest, rel=0.25)


def test_an_arm_without_effects_is_read_as_it_is() -> None:
    assert not change()
