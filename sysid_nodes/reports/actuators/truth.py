# SPDX-License-Identifier: Apache-2.0
"""Truth of simulated drives, as `simulated_drives` writes it, beside estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

FILE = "truth.json"

_FITTED = ("armature", "delay", "encoder_bias", "viscous", "coulomb", "position_friction")


def true_parameters(truth: Mapping[str, Any], joint: str, *, after: bool) -> dict[str, float]:
    """True parameters of a joint by name, before or after what changes on the way.

    Where Stribeck's friction comes on top of Coulomb's, the latter alone is meant.
    """
    at = truth["joints"].index(joint)
    drives = truth["drives"][-1 if after else 0]
    return {name: float(drives[name][at]) for name in _FITTED}


def true_torques(truth: Mapping[str, Any], t: Array) -> Array:
    """(S, n) torques that the bodies took [N m], at times since the first sample (S,) [s]; not a number in pauses."""
    known, values = np.array(truth["torque"]["t"]), np.array(truth["torque"]["values"])
    half = 0.5 * float(np.diff(known).min())  # of the encoders' period; pauses are longer
    nearest = np.clip(np.searchsorted(known, t - half), 0, len(known) - 1)
    return np.where((np.abs(known[nearest] - t) < half)[:, None], values[nearest], np.nan)


def compare_truth(document: Mapping[str, Any], truth: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for every parameter of a result: what is claimed and the truth.

    Args:
        document: of the result, with `online`.
        truth: the file of a simulated robot.
    """
    rows = []
    for joint in document["joints"]:
        true = true_parameters(truth, joint["name"], after=bool(document["online"]["alarms"]))
        for row in joint["parameters"]:
            if row["name"] in true:
                value = true[row["name"]]
                low, high = (float("-inf") if row["lower"] is None else row["lower"]), row["upper"]
                holds = low <= value <= (float("inf") if high is None else high)
                rows.append({"joint": joint["name"], "name": row["name"], "truth": value, "holds": holds})
    return rows
