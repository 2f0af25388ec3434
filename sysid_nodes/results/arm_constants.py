# SPDX-License-Identifier: Apache-2.0
"""All constants of an arm as one Gaussian: what one method of calibration says, in terms that another can read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ArmConstants:
    """Constants p = [theta_1 .. theta_n (10 each), F_c, F_v, I_a, beta, gain, load friction (n each)], 16 n.

    gain * reading = torque + beta; theta in pinocchio's order in each joint's frame. A constant that is known has no
    variance. Where gears couple joints, all but theta is of the motors behind their gears.

    Attributes:
        mean: (16 n,).
        covariance: (16 n, 16 n).
        coupling: (n, n) motors turn by it times joints; None where each turns with its own joint alone.
    """

    mean: Array
    covariance: Array
    coupling: Array | None = None

    @property
    def sigma(self) -> Array:
        """(16 n,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))
