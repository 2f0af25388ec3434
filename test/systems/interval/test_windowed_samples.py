# SPDX-License-Identifier: Apache-2.0
"""Sums and maxima over windows against slices, whatever the windows' order and where they end."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.systems.interval.windowed_samples import WindowedSamples


@pytest.mark.parametrize("edges", [[[0, 2], [2, 5]], [[0, 2], [3, 4]], [[0, 5], [3, 5]], [[3, 5], [0, 5]], [[3, 5]]])
def test_windows_are_slices(edges: list[list[int]]) -> None:
    t, none = np.arange(6.0), np.zeros((6, 1))
    windows = WindowedSamples(
        JointSamples(("a",), t, none, none, none), np.array(edges), 0.0, np.zeros((5, 1), dtype=bool)
    )
    values = np.array([[1.0], [-2.0], [3.0], [-4.0], [-5.0]])
    np.testing.assert_array_equal(windows.sum(values), [values[a:b].sum(axis=0) for a, b in edges])
    np.testing.assert_array_equal(windows.maximum(values), [values[a:b].max(axis=0) for a, b in edges])
    np.testing.assert_array_equal(windows.any(values < -4.0), [(values[a:b] < -4.0).any() for a, b in edges])
