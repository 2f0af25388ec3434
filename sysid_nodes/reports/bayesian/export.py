# SPDX-License-Identifier: Apache-2.0
"""A posterior's most probable robot, for other programs: links, joints and loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import log_cholesky_to_parameters
from sysid_nodes.exceptions import InputError
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.robots.export_joints import DrivenJoint
from sysid_nodes.robots.loops import Loop, is_file, parse_loop

Array = npt.NDArray[np.float64]
Document = Mapping[str, Any]

_UNKNOWN = "the log says nothing of it"
_COUPLED = "its motor turns with another joint, too"
_LOGARITHMS = ("turning_speed", "stribeck_speed", "deflection")


def bodies(document: Document, source: str = "") -> dict[str, Array]:
    """(10,) inertial parameters of each link that was unknown, in its joint's frame.

    Raises:
        InputError: nothing is claimed.
    """
    vectors: dict[str, list[float]] = {}
    for name, value in _coordinates(document, source).items():
        link, is_body, _ = name.partition(": ")
        if is_body:
            vectors.setdefault(link, []).append(value)
    return {link: log_cholesky_to_parameters(np.array(vector)) for link, vector in vectors.items()}


def joints(document: Document, source: str = "") -> tuple[DrivenJoint, ...]:
    """The joints of which a constant was unknown; what the log says nothing of is not told, nor are coupled motors'.

    Raises:
        InputError: nothing is claimed.
    """
    at, found = _coordinates(document, source), dict[str, tuple[dict[str, float], dict[str, str]]]()
    coupled = {word.partition(":")[0] for word in document["config"]["bayesian.mechanism.couplings"]}
    for row in document["parameters"]:
        joint, _, name = row["name"].rpartition(".")
        if row["group"] in ("inertia", "user", "contact") or not joint:
            continue
        told, untold = found.setdefault(joint, ({}, {}))
        if joint in coupled or row["verdict"] == "not observed":
            untold[name] = _COUPLED if joint in coupled else _UNKNOWN
        else:
            value = at[row["name"]]
            told[name] = float(np.exp(value)) if name in _LOGARITHMS else value if name == "offset" else max(value, 0.0)
    return tuple(DrivenJoint(joint, told, untold) for joint, (told, untold) in found.items())


def loops(document: Document) -> tuple[Loop, ...]:
    """Loops that were stated in words; those of a file are where they came from."""
    words = document["config"]["bayesian.mechanism.loops"]
    return tuple(parse_loop(word) for word in words if word and not is_file(word))


def _coordinates(document: Document, source: str) -> dict[str, float]:
    if not BayesianStatus[document["status"]].trusted:
        raise InputError(f"{document['message']}; there is nothing to export", source=source)
    told = document["coordinates"]
    return dict(zip(told["names"], told["mean"], strict=True))
