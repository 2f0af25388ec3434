# SPDX-License-Identifier: Apache-2.0
"""A joint state as it comes from a topic or a log, before anything is checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class RawJointState(NamedTuple):
    """A joint state as recorded: any joint order, nothing checked.

    Attributes:
        stamp: the sensor's stamp of the header [s].
        names: k joint names.
        position: (k,) or (0,) [rad or m].
        velocity: (k,) or (0,) [rad/s or m/s].
        effort: (k,) or (0,) [N m or N].
    """

    stamp: float
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array
