# SPDX-License-Identifier: Apache-2.0
"""Variance of sums of errors that neighbours share."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.solvers.block_jackknife import long_run_ratio


@pytest.mark.parametrize("length", [1, 3, 12])
@pytest.mark.parametrize("time", [1.0, 2.0, 9.0])
def test_blocks_show_less_of_slow_errors(time: float, length: int) -> None:
    fall = (time - 1.0) / (time + 1.0)
    k = np.arange(length)
    shown = (fall ** np.abs(k[:, None] - k)).sum() / length
    assert long_run_ratio(np.array([time]), length)[0] == pytest.approx(time / shown)
