# SPDX-License-Identifier: Apache-2.0
"""A result of the interval identifier, every field of it another number."""

from __future__ import annotations

import math

import numpy as np

from sysid_nodes.results import Contradiction, Excitation, IdentificationResult, Status


def make_result(status: Status, contradiction: Contradiction | None = None) -> IdentificationResult:
    claimed = 1.0 if status is not Status.INCONSISTENT else math.nan
    return IdentificationResult(
        status=status,
        t=12.25,
        nominal=claimed * np.arange(10.0),
        lower=claimed * (np.arange(10.0) - 1.0),
        upper=claimed * (np.arange(10.0) + 1.0),
        excitation=Excitation(250.0, np.arange(10.0)[::-1], ("Izz",)),
        window=7,
        samples_used=800,
        samples_rejected={"not finite": 3, "gap": 40},
        solve_time=0.02,
        tightened=True,
        contradiction=contradiction,
    )
