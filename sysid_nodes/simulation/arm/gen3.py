# SPDX-License-Identifier: Apache-2.0
"""The Gen3's exciting motion, designed once (benchmarks/gen3_design.py) and kept as numbers."""

from __future__ import annotations

import numpy as np

from sysid_nodes.simulation.arm.excitation import FourierTrajectory, at_rest

PERIOD = 10.0
CENTRE = (-1.16, 0.2, -3.3, -1.3, 0.2, -0.8, -0.2)
"""Near the authors' start configuration, unfolded; joint 3 lies beyond -pi, so that its reading wraps."""


def gen3_excitation() -> FourierTrajectory:
    """Ten seconds a period; condition number of the last link's regressor 6.1, at most 70 % of the speed limits."""
    sine = np.array(
        (
            (0.09201, -0.11723, -0.20200, -0.00122, 0.15067),
            (-0.30000, 0.07506, -0.05643, 0.14676, -0.05358),
            (-0.04609, -0.19512, -0.17018, 0.17218, 0.05163),
            (0.00960, -0.05205, -0.20490, 0.00995, 0.13389),
            (-0.02238, 0.00802, -0.11266, -0.00308, 0.07133),
            (0.24984, 0.27946, -0.07859, -0.14540, 0.00172),
            (-0.07520, -0.06036, 0.05802, -0.12940, 0.10789),
        )
    )
    cosine = np.array(
        (
            (-0.01589, 0.03128, 0.01764, -0.02073, 0.00255),
            (-0.02356, -0.04775, 0.06311, 0.06826, -0.05782),
            (0.03469, -0.12525, -0.02571, 0.06213, -0.01186),
            (0.01997, 0.02715, -0.00968, -0.05870, 0.03591),
            (-0.15101, -0.04044, -0.03210, 0.14962, -0.07169),
            (0.03428, 0.01747, 0.00974, -0.07842, 0.04251),
            (-0.24589, 0.03312, 0.04631, 0.05551, -0.04766),
        )
    )
    # Rounding leaves a velocity of some 1e-5 rad/s at the ends; projecting it away moves no coefficient visibly.
    return FourierTrajectory(PERIOD, np.array(CENTRE), *at_rest(sine, cosine))
