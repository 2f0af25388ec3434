# SPDX-License-Identifier: Apache-2.0
"""Windows that lack samples, found by their stamps, so that live node and replay leave out the same ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.systems.interval.noise import Noise

Edges = npt.NDArray[np.intp]

MISSING = "window lacks samples"


class MissingSamples:
    """Compares every step with the driver's period, the smallest median of the steps of any window so far.

    The smallest, because where every second sample is lost the median of the window tells nothing. A driver that
    becomes slower is taken for one that loses samples until the next reset.
    """

    def __init__(self) -> None:
        self._period = np.inf

    def violations(self, samples: JointSamples, edges: Edges, noise: Noise) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Windows (W,) with a longer step than the errors stand for, by reason; none where they stand for any.

        Args:
            samples: of all windows.
            edges: (W, 2) first and last sample of each window, in the order of time.
            noise: says how long a step may be.
        """
        if np.isinf(noise.longest_step):
            return {}
        steps = [np.diff(samples.t[first : last + 1]) for first, last in edges]
        period = np.minimum.accumulate([self._period, *map(np.median, steps)])[1:]
        self._period = float(period[-1])
        return {MISSING: np.array([step.max() for step in steps]) > noise.longest_step * period}
