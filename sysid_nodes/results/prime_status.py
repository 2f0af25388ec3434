# SPDX-License-Identifier: Apache-2.0
"""Quality of a running estimate by PRIME, streams and machine considered."""

from __future__ import annotations

from enum import IntEnum


class PrimeStatus(IntEnum):
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
        return self in (PrimeStatus.GOOD, PrimeStatus.DEGRADED)


_MESSAGES = {
    PrimeStatus.STARTING: "no estimate yet",
    PrimeStatus.GOOD: "all streams are heard and agree with the model",
    PrimeStatus.DEGRADED: "something is missing or was given up; the covariance accounts for it",
    PrimeStatus.DOUBTFUL: "something that was used is wrong; neither values nor covariance are to be relied on",
    PrimeStatus.LOST: "too little is heard to know the motion; the last estimate stands",
}
