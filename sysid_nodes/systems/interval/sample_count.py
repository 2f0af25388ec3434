# SPDX-License-Identifier: Apache-2.0
"""Counts every sample once: used in a window, or rejected for the first reason found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples

Edges = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class SampleCount:
    """Numbers the windows and counts their samples; one that two windows share counts for the earlier one.

    Attributes:
        windows: windows so far, rejected ones included.
        accepted: of these, those that were not rejected.
        used: samples of accepted windows.
        rejected: samples of rejected windows, by reason.
    """

    def __init__(self) -> None:
        self.windows = self.accepted = 0
        self.used = 0
        self.rejected: Counter[str] = Counter()
        self._end = float("nan")  # stamp of the last sample of the last window

    def accept(
        self, samples: JointSamples, edges: Edges, violations: Mapping[str, Mask]
    ) -> tuple[npt.NDArray[np.int64], Edges]:
        """Ids and edges of the windows that violate nothing; the others count under the first violation they have.

        Args:
            samples: of all windows.
            edges: (W, 2) first and last sample of each window.
            violations: (W,) windows that violate an assumption, by assumption.
        """
        ids = self.windows + np.arange(edges.shape[0])
        counts = self._new_samples(samples, edges)
        bad = np.zeros(edges.shape[0], dtype=bool)
        for name, mask in violations.items():
            if (new := mask & ~bad).any():
                self.rejected[name] += int(counts[new].sum())
            bad |= mask
        self.windows += edges.shape[0]
        self.accepted += int((~bad).sum())
        self.used += int(counts[~bad].sum())
        return ids[~bad], edges[~bad]

    def _new_samples(self, samples: JointSamples, edges: Edges) -> npt.NDArray[np.intp]:
        """(W,) samples of each window that the window before it does not share."""
        begin, end = samples.t[edges[:, 0]], samples.t[edges[:, 1]]
        shares_first = begin == np.concatenate([[self._end], end[:-1]])
        self._end = float(end[-1])
        return np.asarray(edges[:, 1] - edges[:, 0] + ~shares_first)
