# SPDX-License-Identifier: Apache-2.0
"""Readings of one sensor message, and the topics that such messages come on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Readings(NamedTuple):
    """Readings with one stamp, nothing checked.

    Attributes:
        stamp: the sensor's [s].
        values: a reading of each stream, by the stream's name; what the message lacks is left out or empty.
        frame: that they are in, where the message says so and it is that of the estimate.
        joints: their names where every reading has one number a joint, in this order; None for other readings.
    """

    stamp: float
    values: Mapping[str, Array]
    joints: tuple[str, ...] | None = None
    frame: str = ""


@dataclass(frozen=True)
class Source:
    """A topic with messages of sensors, the same live and in a recording.

    Attributes:
        name: a word for it: ``--NAME-topic`` renames the topic in a recording.
        topic: its usual name, relative.
        types: turns a message into readings, by the message's type (``package/msg/Name``). It gets ROS's message from
            the live node and a decoded one from a recording, which have the same fields.
        streams: names of the streams that its readings are of.
    """

    name: str
    topic: str
    types: Mapping[str, Callable[[Any], Readings]]
    streams: tuple[str, ...]
