# SPDX-License-Identifier: Apache-2.0
"""The runs of a batch of recordings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """End of one run of many; the value is the verdict in words."""

    DONE = "done"
    CONTRADICTION = "the data contradict the stated assumptions"
    FAILED = "bad input"
    LOST = "its process died, twice"


@dataclass(frozen=True)
class BatchRun:
    """One recording.

    Attributes:
        name: of its folder of results.
        key: digest of the recording, the options and the version: a run of the same key need not be made again.
        start: when it was recorded [s since the epoch]; None where it could not be read.
        duration: of the recording [s]; None likewise.
        outcome: how it ended.
        message: its last line.
        seconds: wall time that it took [s].
    """

    name: str
    source: str
    key: str
    start: float | None
    duration: float | None
    outcome: Outcome
    message: str
    seconds: float
