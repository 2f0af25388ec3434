# SPDX-License-Identifier: Apache-2.0
"""The plain arrays of a kinematic tree, the common input of the compiled kernel and of its NumPy reference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Tree(NamedTuple):
    """A fixed-base tree of n revolute and prismatic joints, parents before children, SI units.

    Attributes:
        parents: (n,) index of the joint each joint hangs on, -1 for the base.
        rotation: (n, 3, 3) orientation of the joint frame at q = 0 in the parent joint's frame.
        translation: (n, 3) origin of the joint frame at q = 0 in the parent joint's frame [m].
        axis: (n, 3) unit axis in the joint frame.
        revolute: (n,) True where the joint turns about its axis, False where it slides along it.
        gravity: (3,) gravity acceleration in the base frame [m/s2].
    """

    parents: npt.NDArray[np.int64]
    rotation: Array
    translation: Array
    axis: Array
    revolute: npt.NDArray[np.bool_]
    gravity: Array
