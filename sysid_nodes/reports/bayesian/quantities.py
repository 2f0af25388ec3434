# SPDX-License-Identifier: Apache-2.0
"""The numbers of a posterior that other runs can be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sysid_nodes.results.quantity import Quantity


def bayesian_quantities(document: Mapping[str, Any]) -> list[Quantity]:
    """Constants that the log tells: elsewhere two runs agree because their prior is the same."""
    return [
        Quantity(row["name"], row["unit"], row["mean"], row["lower"], row["upper"], row["sigma"])
        for row in document["parameters"]
        if row["verdict"] == "observed"
    ]
