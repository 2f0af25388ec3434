# SPDX-License-Identifier: Apache-2.0
"""A number that a run found, whatever found it: what results of all systems have in common."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """One identified number of one run.

    Attributes:
        name: with the body or joint it belongs to where there are several.
        estimate: value.
        lower, upper: ends of its interval.
        sigma: one standard deviation; None where the interval is not statistical but holds under stated assumptions.
    """

    name: str
    unit: str
    estimate: float
    lower: float
    upper: float
    sigma: float | None = None


def with_unit(number: str, unit: str) -> str:
    """A number with its unit behind it; unit 1, of a share or a factor, is not written."""
    return number if unit == "1" else f"{number} {unit}"
