# SPDX-License-Identifier: Apache-2.0
"""Values as the JSON of our files, which knows neither infinity nor what is not a number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def number(value: float | None) -> float | None:
    """Null for what is not finite."""
    return float(value) if value is not None and math.isfinite(value) else None


def numbers(values: Any) -> list[float | None]:
    """All entries of an array, in one row."""
    return [number(float(x)) for x in np.ravel(values)]


def encode(document: Mapping[str, Any]) -> str:
    """JSON text with a line for each field and for each entry of a list of objects: small, and diff-friendly."""
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            entries = ",\n".join("    " + json.dumps(item, allow_nan=False) for item in value)
            text = f"[\n{entries}\n  ]"
        else:
            text = json.dumps(value, allow_nan=False)
        lines.append(f"  {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
