# SPDX-License-Identifier: Apache-2.0
"""The numbers of an identification by rollouts that other runs can be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sysid_nodes.results.quantity import Quantity


def sampling_quantities(document: Mapping[str, Any]) -> list[Quantity]:
    """Inertia and motors that the motion told, with a standard deviation."""
    return [
        Quantity(row["name"], row["unit"], row["estimate"], row["lower"], row["upper"], row["sigma"])
        for row in document["parameters"]
        if row["identifiable"] and row["sigma"] and row["group"] in ("inertia", "motors")
    ]
