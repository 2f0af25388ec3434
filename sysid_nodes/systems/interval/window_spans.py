# SPDX-License-Identifier: Apache-2.0
"""Remembers the last windows of a stream, so that rows over several in a row end with the next ones.

Every window obeys the momentum balance, whatever it shares with others. Errors of the readings at its ends weigh less
the longer it is, errors that grow with time weigh more; rows of several lengths narrow what either alone leaves wide.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples

Edges = npt.NDArray[np.intp]


class WindowSpans:
    """Windows that rows over several may begin in.

    Args:
        most: windows in the longest row; 1: there are none.

    Attributes:
        lengths: windows in a row, 1 and its doubles: each length has rows of its own.
    """

    def __init__(self, most: int) -> None:
        self.lengths = tuple(length for length in (1, 2, 4, 8) if length <= most)
        self._tail: tuple[JointSamples, Edges] | None = None

    def join(self, samples: JointSamples, edges: Edges) -> tuple[JointSamples, Edges, int]:
        """Windows behind those remembered where they meet these.

        Args:
            samples: of the new windows.
            edges: (W, 2) first and last sample of each new window, in order.

        Returns:
            Samples and edges of both, and the number of the earlier windows.
        """
        if self._tail is None or not len(edges):
            return samples, edges, 0
        old, old_edges = self._tail
        first = int(edges[0, 0])
        both = ((old.t, samples.t), (old.q, samples.q), (old.qd, samples.qd), (old.tau, samples.tau))
        if not all(np.array_equal(a[-1], b[first]) for a, b in both):
            return samples, edges, 0
        joined = JointSamples(old.names, *(np.concatenate([a, b[first + 1 :]]) for a, b in both))
        return joined, np.concatenate([old_edges, edges + len(old) - 1 - first]), len(old_edges)

    def keep(self, samples: JointSamples, edges: Edges) -> None:
        """Remembers the end of windows that were used, for rows that end with later ones: what `joined` returned."""
        if self.lengths[-1] < 2 or not len(edges):
            return
        last_ones = edges[1 - self.lengths[-1] :]
        start, end = int(last_ones[0, 0]), int(last_ones[-1, 1])
        self._tail = samples.slice(start, end + 1), last_ones - start

    def forget(self) -> None:
        """Has no row begin before the next window: other bounds hold for what comes."""
        self._tail = None
