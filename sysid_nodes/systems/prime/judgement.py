# SPDX-License-Identifier: Apache-2.0
"""Whether a whole log's residuals agree with the noise that was stated for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sysid_nodes.solvers.trajectory_least_squares import Blocks

SPAN = 0.5
"""A fault that lasts so long is not diluted by the healthy rest of a log [s]."""

_FEWEST = 10
"""Blocks in a span needed for a judgement: a stray reading is an outlier, not a stream that is wrong."""

_UNMEASURED = ("arrival", "prior")
"""Groups that are not measurements of the motion."""


def worst_misfit(groups: Sequence[str], blocks: Sequence[Blocks], span: int) -> Mapping[str, float]:
    """Largest root mean square of each group's whitened residuals over half-overlapping spans.

    Args:
        groups: names.
        blocks: residuals of each.
        span: stages.
    """
    worst = {}
    for name, group in zip(groups, blocks, strict=True):
        if name in _UNMEASURED or not group.residual.size:
            continue
        squares = np.mean(group.residual**2, axis=1)
        half = np.asarray(group.first // max(span // 2, 1), dtype=np.intp)
        total, count = np.bincount(half, squares), np.bincount(half)
        if len(total) > 1:
            total, count = total[1:] + total[:-1], count[1:] + count[:-1]
        enough = count >= _FEWEST
        worst[name] = float(np.sqrt(np.max(total[enough] / count[enough]))) if enough.any() else 0.0
    return worst
