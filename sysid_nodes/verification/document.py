# SPDX-License-Identifier: Apache-2.0
"""A certificate as plain data: a record, and the premises whose digest it bears (docs/certified/verification.md).

{"record": {... the fields of CertifiedTrajectory.msg ...}, "former": record or null, "premises": {"version",
 "robot": {"name", "urdf", "joint_names", "inertial_parameters", "gravity", "limits", "motor", "encoder_step",
 "may_overlap"}, "body": joint that moves the body, "shapes", "known_robot", "control", "certifier",
 "estimates", "obstacles"}}
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.digest import digest
from sysid_nodes.verification.chain import Chain, OutsideScopeError, read_chain

Array = npt.NDArray[np.float64]
Fields = Mapping[str, Any]

_TEXTS = ("frame_id", "previous_id", "phase", "config_id", "scene_id", "body", "target", "proof", "binding")
_ORDER = (
    "start_ns", "frame_id", "previous_id", "previous_time", "phase", "last", "joint_names", "duration", "q0", "qd0",
    "qdd0", "k", "config_id", "scene_id", "body", "target", "bounds_window", "lower", "upper", "nominal",
    "start_rate", "verdict", "proof", "binding", "robust_limit", "torque_margin", "position_margin",
    "velocity_margin", "obstacle_margin", "self_margin", "edges", "error_energy", "error_norm", "error_rate",
    "error_acceleration", "error_change", "error_position", "error_reference",
)  # fmt: skip
"""Fields of a record in the order of its digest."""
_WHOLE = ("start_ns", "bounds_window", "verdict")
_SCALARS = ("previous_time", "duration", "start_rate", "obstacle_margin", "self_margin")


@dataclass(frozen=True)
class Document:
    """A certificate with its premises.

    Attributes:
        fields: of the record, arrays as arrays.
        former: those of the trajectory that it continues; None for one from rest.
        id: that the record came with.
        premises: as they came.
    """

    fields: Fields
    former: Fields | None
    id: str
    premises: Fields
    chain: Chain = field(repr=False)

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.chain.names)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def per_joint(self, value: Any) -> Array:
        """One number for all joints, or one each."""
        return np.asarray(np.broadcast_to(np.array(value, dtype=np.float64), (self.n,)))


def read(document: Fields) -> Document:
    """A document from plain data.

    Raises:
        KeyError, TypeError, ValueError: it is not of the form above.
        OutsideScopeError: the robot is not.
    """
    premises, record, former = document["premises"], document["record"], document.get("former")
    chain = read_chain(premises["robot"]["urdf"], premises["robot"]["joint_names"])
    if record["target"] != "body":
        raise OutsideScopeError("the bounds are of what was added to a body, not of the whole")
    if any(one is not None and one["proof"] not in ("energy", "delayed") for one in (record, former)):
        raise OutsideScopeError("its errors, or those it begins with, rest on a proof unknown here")
    before = None if former is None or not record["previous_id"] else _convert_types(former)
    return Document(_convert_types(record), before, str(record["id"]), premises, chain)


def _convert_types(record: Fields) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _ORDER:
        value = record[name]
        if name in _TEXTS:
            found[name] = str(value)
        elif name == "last":
            found[name] = bool(value)
        elif name == "joint_names":
            found[name] = [str(word) for word in value]
        else:
            number = int if name in _WHOLE else float
            found[name] = number(value) if name in _WHOLE + _SCALARS else np.array(value, dtype=np.float64)
    return found


def seal(fields: Fields) -> str:
    """The id of a record of this content."""
    return digest(*(fields[name] for name in _ORDER))


def config_id(premises: Fields) -> str:
    """The digest of the premises but the obstacles, as a record names it, which says where bounds are estimates."""
    robot, shapes = premises["robot"], premises["shapes"]
    overlap = robot["may_overlap"]
    return "estimated-" * bool(premises.get("estimates")) + digest(
        premises["version"],
        robot["name"],
        robot["urdf"],
        robot["joint_names"],
        np.array(robot["inertial_parameters"], dtype=np.float64),
        np.array([*robot["gravity"], 0.0, 0.0, 0.0]),
        {name: np.array(value, dtype=np.float64) for name, value in robot["limits"].items()},
        {name: np.array(value, dtype=np.float64) for name, value in robot["motor"].items()},
        np.array(robot["encoder_step"], dtype=np.float64),
        "nothing listed" if overlap is None else overlap,
        [_shape(shape) for shape in shapes],
        premises["known_robot"],
        premises["control"],
        premises["certifier"],
    )


def senseless(premises: Fields) -> list[str]:
    """Names of numbers that are negative or not finite where they are sizes, errors, rates or shares."""
    robot, limits = premises["robot"], premises["robot"]["limits"]
    found = {
        **{f"control.{name}": value for name, value in premises["control"].items()},
        **{f"certifier.{name}": value for name, value in premises["certifier"].items()},
        **{name: value for name, value in premises["known_robot"].items() if name not in ("offset", "inertia_scale")},
        **{f"motor.{name}": value for name, value in robot["motor"].items() if name != "offset"},
        "encoder_step": robot["encoder_step"],
        **{f"size of '{item['name']}'": item["size"] for item in premises["obstacles"]},
        **{f"size of a {item['kind']} on '{item['frame']}'": item["size"] for item in premises["shapes"]},
    }
    wrong = [name for name, value in found.items() if not _is_within(value, 0.0, np.finfo(float).max)]
    if not _is_within(premises["known_robot"].get("viscous_power", 1.0), 1.0, 1.0):
        wrong.append("viscous_power")  # another law of friction than is verified
    return wrong + [f"{name} limits" for name in ("velocity", "torque") if not _is_within(limits[name], 0.0, np.inf)]


def _is_within(value: Any, low: float, high: float) -> bool:
    numbers = np.array(value, dtype=np.float64)
    return bool(((low <= numbers) & (numbers <= high)).all())


def _shape(shape: Fields) -> dict[str, Any]:
    arrays = ("position", "rotation", "size")
    return {name: np.array(value, dtype=np.float64) if name in arrays else value for name, value in shape.items()}


def scene_id(premises: Fields) -> str:
    """The digest of the obstacles, as a record names it."""
    rows = []
    for item in sorted(premises["obstacles"], key=lambda obstacle: str(obstacle["name"])):
        numbers = [tuple(float(x) for x in item[name]) for name in ("position", "size", "quaternion")]
        generators = tuple(tuple(float(x) for x in generator) for generator in item["generators"])
        rows.append(repr((item["name"], item["kind"], *numbers, generators)))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:12]
