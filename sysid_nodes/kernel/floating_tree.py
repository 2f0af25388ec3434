# SPDX-License-Identifier: Apache-2.0
"""The plain arrays of a floating-base tree with contact spheres, the common input of both stage kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class FloatingTree(NamedTuple):
    """A free base and n revolute or prismatic joints, parents before children, SI units; body 0 is the base.

    Attributes:
        parents: (n,) index of the body each joint hangs on; joint i carries body i + 1.
        rotation: (n, 3, 3) orientation of the joint frame at q = 0 in the parent's frame.
        translation: (n, 3) origin of the joint frame at q = 0 in the parent's frame [m].
        axis: (n, 3) unit axis in the joint frame.
        revolute: (n,) True where the joint turns about its axis, False where it slides along it.
        gravity: (3,) gravity acceleration in the world [m/s2].
        contact_bodies: (nc,) body that carries each contact sphere.
        contact_offsets: (nc, 3) centre of each sphere in its body's frame [m].
    """

    parents: npt.NDArray[np.int64]
    rotation: Array
    translation: Array
    axis: Array
    revolute: npt.NDArray[np.bool_]
    gravity: Array
    contact_bodies: npt.NDArray[np.int64]
    contact_offsets: Array
