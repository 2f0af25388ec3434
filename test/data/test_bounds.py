# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data import PARAMETER_NAMES, PARAMETER_UNITS, Bounds
from sysid_nodes.exceptions import ConfigError


def test_centre_half_width_and_membership() -> None:
    bounds = Bounds(np.array([0.0, -1.0]), np.array([2.0, -1.0]))
    np.testing.assert_array_equal(bounds.centre, [1.0, -1.0])
    np.testing.assert_array_equal(bounds.half_width, [1.0, 0.0])
    assert bounds.contains(np.array([2.0, -1.0]))  # closed intervals
    assert not bounds.contains(np.array([2.0, -1.1]))
    assert not bounds.contains(np.array([np.nan, -1.0]))


def test_bounds_are_copies_nobody_can_change() -> None:
    lower = np.zeros(2)
    bounds = Bounds(lower, np.ones(2))
    lower[0] = 5.0
    assert bounds.lower[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        bounds.lower[0] = 1.0


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0], [1.0, 2.0], r"two vectors of one length, got \(1,\) and \(2,\)"),
        (0.0, 1.0, r"two vectors of one length"),
        ([np.nan], [1.0], "must not be NaN"),
        ([2.0], [1.0], "impossible bounds: entry 0 has lower 2 above upper 1"),
        ([0.0] * 4 + [1.0] + [0.0] * 5, [0.5] * 10, "impossible bounds: Ixx has lower 1 above upper 0.5"),
    ],
)
def test_impossible_bounds_are_refused(lower: object, upper: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Bounds(lower, upper)  # type: ignore[arg-type]


def test_every_parameter_has_a_name_and_a_unit() -> None:
    assert len(PARAMETER_NAMES) == len(PARAMETER_UNITS) == len(set(PARAMETER_NAMES)) == 10
