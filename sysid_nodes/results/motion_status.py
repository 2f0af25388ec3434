# SPDX-License-Identifier: Apache-2.0
"""Quality of a running motion estimate, streams and machine considered."""

from __future__ import annotations

from enum import IntEnum


class MotionStatus(IntEnum):
    """From the best to the worst, but for the first."""

    STARTING = 0
    GOOD = 1
    DEGRADED = 2
    DOUBTFUL = 3
    LOST = 4

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]

    @property
    def trusted(self) -> bool:
        """Whether values and covariances mean what they say."""
        return self in (MotionStatus.GOOD, MotionStatus.DEGRADED)


_MESSAGES = {
    MotionStatus.STARTING: "no estimate yet",
    MotionStatus.GOOD: "all streams are heard and agree with the model",
    MotionStatus.DEGRADED: "something is missing or was given up; the covariance accounts for it",
    MotionStatus.DOUBTFUL: "something that was used is wrong; neither values nor covariance are to be relied on",
    MotionStatus.LOST: "too little is heard to know the motion; the last estimate stands",
}
