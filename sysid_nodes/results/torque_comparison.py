# SPDX-License-Identifier: Apache-2.0
"""Torques of a log beside those that models predict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TorqueComparison:
    """Attributes: t (W,) middles of windows, or stages [s]; measured (W, n) mean torque readings [N m]; predicted, the
    same by each model.
    """

    t: Array
    measured: Array
    predicted: Mapping[str, Array]

    def rms(self, model: str) -> Array:
        """(n,) root mean square of measured minus predicted [N m]."""
        return np.asarray(np.sqrt(np.mean((self.measured - self.predicted[model]) ** 2, axis=0)))
