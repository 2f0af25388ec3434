# SPDX-License-Identifier: Apache-2.0
"""Fields of headers, points and turns, as plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.logs.writer import stamp_fields

Array = npt.NDArray[np.float64]
Fields = dict[str, Any]

WORLD = "world"
"""Frame that a floating base moves in, where a pose names none."""


def header(t: float, frame: str = "") -> Fields:
    """A header; a time that no stamp can hold gives zero."""
    stamp = stamp_fields(t) if math.isfinite(t) and 0.0 <= t < 2.0**31 else {"sec": 0, "nanosec": 0}
    return {"stamp": stamp, "frame_id": frame}


def vector(values: Array) -> Fields:
    """A geometry_msgs Point or Vector3."""
    x, y, z = np.asarray(values, dtype=np.float64).tolist()
    return {"x": x, "y": y, "z": z}


def quaternion(values: Array) -> Fields:
    """A geometry_msgs Quaternion from x, y, z, w."""
    x, y, z, w = np.asarray(values, dtype=np.float64).tolist()
    return {"x": x, "y": y, "z": z, "w": w}
