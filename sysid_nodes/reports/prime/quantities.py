# SPDX-License-Identifier: Apache-2.0
"""The numbers of a motion estimate that other runs can be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sysid_nodes.results.quantity import Quantity

_REACH = 1.96  # sigmas to the ends of an interval of 95 %


def prime_quantities(document: Mapping[str, Any]) -> list[Quantity]:
    """The bodies' parameters with a standard deviation."""
    several = len(document["bodies"]) > 1
    return [
        Quantity(
            f"{body['link']} {row['name']}" if several else row["name"],
            row["unit"],
            row["estimate"],
            row["estimate"] - _REACH * row["sigma"],
            row["estimate"] + _REACH * row["sigma"],
            row["sigma"],
        )
        for body in document["bodies"]
        for row in body["parameters"]
        if row["estimate"] is not None and row["sigma"]
    ]
