# SPDX-License-Identifier: Apache-2.0
"""The numbers of an interval identification that other runs can be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sysid_nodes.results.quantity import Quantity


def interval_quantities(document: Mapping[str, Any]) -> list[Quantity]:
    """The parameters, where there are bounds; no bound has a sigma."""
    return [
        Quantity(row["name"], row["unit"], row["nominal"], row["lower"], row["upper"])
        for row in document["parameters"]
        if None not in (row["nominal"], row["lower"], row["upper"])
    ]
