# SPDX-License-Identifier: Apache-2.0
"""Windows over several windows in a row, whose balance has no errors of readings at the edges between these.

Every window obeys the momentum balance, whatever it shares with others. Errors of the readings at its ends weigh less
the longer it is, errors that grow with time weigh more; rows of several lengths narrow what either alone leaves wide.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples

Edges = npt.NDArray[np.intp]


class WindowSpans:
    """Finds the stretches of 2 up to so many windows that end with each new one.

    Args:
        most: windows in the longest stretch; 1: there are none.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._tail: tuple[JointSamples, Edges] | None = None

    def ending_with(self, samples: JointSamples, edges: Edges) -> tuple[JointSamples, Edges, npt.NDArray[np.intp]]:
        """Stretches of windows of which each begins where the one before ends, by their lasts.

        Args:
            samples: of the new windows.
            edges: (W, 2) first and last sample of each new window, in order.

        Returns:
            The samples with those of earlier windows that stretches begin in, (S, 2) first and last sample of each
            stretch among these, and (S,) the new window that each ends with.
        """
        before, found = 0, self._joined(samples, edges)
        if found is not None:
            samples, edges, before = found
        spans, owner = list[tuple[int, int]](), list[int]()
        begin = 0
        for last in range(len(edges)):
            if last and edges[last, 0] != edges[last - 1, 1]:
                begin = last
            if last >= before:
                firsts = range(last - 1, max(begin, last - self._most + 1) - 1, -1)
                spans += [(int(edges[first, 0]), int(edges[last, 1])) for first in firsts]
                owner += [last - before] * len(firsts)
        return samples, np.array(spans, dtype=np.intp).reshape(-1, 2), np.array(owner, dtype=np.intp)

    def keep(self, samples: JointSamples, edges: Edges) -> None:
        """Remembers the end of windows that were used, for stretches that end with later ones. Arguments as above."""
        if self._most < 2 or not len(edges):
            return
        found = self._joined(samples, edges)
        if found is not None:
            samples, edges, _ = found
        last_ones = edges[1 - self._most :]
        start, end = int(last_ones[0, 0]), int(last_ones[-1, 1])
        self._tail = samples.slice(start, end + 1), last_ones - start

    def forget(self) -> None:
        """Has no stretch begin before the next window: other bounds hold for what comes."""
        self._tail = None

    def _joined(self, samples: JointSamples, edges: Edges) -> tuple[JointSamples, Edges, int] | None:
        """Samples and edges behind those remembered, and the number of the latter; None where they do not meet."""
        if self._tail is None or not len(edges):
            return None
        old, old_edges = self._tail
        first = int(edges[0, 0])
        both = ((old.t, samples.t), (old.q, samples.q), (old.qd, samples.qd), (old.tau, samples.tau))
        if not all(np.array_equal(a[-1], b[first]) for a, b in both):
            return None
        joined = JointSamples(old.names, *(np.concatenate([a, b[first + 1 :]]) for a, b in both))
        return joined, np.concatenate([old_edges, edges + len(old) - 1 - first]), len(old_edges)
