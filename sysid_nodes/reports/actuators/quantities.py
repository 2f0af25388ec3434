# SPDX-License-Identifier: Apache-2.0
"""The numbers of an identification of actuators that other runs can be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sysid_nodes.results.quantity import Quantity


def actuator_quantities(document: Mapping[str, Any]) -> list[Quantity]:
    """The joints' parameters that the motion told, with a standard deviation."""
    return [
        Quantity(
            f"{joint['name']} {row['name']}", row["unit"], row["estimate"], row["lower"], row["upper"], row["sigma"]
        )
        for joint in document["joints"]
        for row in joint["parameters"]
        if row["identifiable"] and row["sigma"]
    ]
