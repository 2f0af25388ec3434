# SPDX-License-Identifier: Apache-2.0
"""A result of the pipeline `actuators` for other programs: simulators' configurations, our own, plain arrays.

Only what is identified is a value; what is not stands in a comment, with the reason.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from sysid_nodes.exceptions import InputError
from sysid_nodes.results.actuators import ActuatorStatus
from sysid_nodes.robots.export_joints import DrivenJoint

Document = Mapping[str, Any]


def driven_joints(document: Document, source: str = "") -> tuple[DrivenJoint, ...]:
    """The joints of a valid result.

    Raises:
        InputError: the law does not explain the motion, or no parameter is identified.
    """
    if document["status"] == ActuatorStatus.CONTRADICTION.name:
        raise InputError("the data contradict the law or the stated gains; there is nothing to export", source=source)
    joints = tuple(_joint(document, j) for j in range(len(document["joints"])))
    if not any(joint.told for joint in joints):
        raise InputError("no parameter is identified; there is nothing to export", source=source)
    return joints


def _joint(document: Document, j: int) -> DrivenJoint:
    rows = {row["name"]: row for row in document["joints"][j]["parameters"]}
    told = {name: float(row["estimate"]) for name, row in rows.items() if row["identifiable"]}
    untold = {name: str(row["reason"]) for name, row in rows.items() if not row["identifiable"]}
    strength = told.get("gain", None if "gain" in rows else 1.0)

    def stated_value(name: str) -> float | None:
        values = document["config"].get(f"actuators.law.{name}", ())
        return float(values[j if len(values) > 1 else 0]) if values else None

    gains = {name: stated_value(name) for name in ("stiffness", "damping")}
    scaled = {k: None if v is None or strength is None else v * strength for k, v in gains.items()}
    limits = {
        name: told.get(name, None if name in rows else stated_value(name)) for name in ("torque_limit", "no_load_speed")
    }
    return DrivenJoint(document["joints"][j]["name"], told, untold, **scaled, **limits)


def interval_yaml(document: Document, _: float = 0.0) -> str:
    """Parameter file lines for the interval identifier and the planner: friction and armature of the known robot.

    Its uncertainties are half-widths of 95 % intervals: a proof that rests on them holds as often as they do.
    """
    lists, comments = _told_lists(document)
    known: dict[str, Any] = dict(lists)
    for key, names in (("friction_relative", ("coulomb", "viscous")), ("armature_relative", ("armature",))):
        if all(name in lists for name in names):
            known[key] = float(max(_relative(document, name) for name in names))
    return _parameter_file({"known_robot": known}, comments, "Of interval_identifier, for these joints in this order")


def prime_yaml(document: Document, _: float = 0.0) -> str:
    """Parameter file lines for PRIME: friction and armature of the joints."""
    lists, comments = _told_lists(document)
    return _parameter_file({"motor": lists}, comments, "Of prime_estimator, for these joints in this order")


def sampling_yaml(document: Document, _: float = 0.0) -> str:
    """Parameter file lines for the identification by rollouts: the joints' friction and armature, and the drives."""
    lists, comments = _motor_lists(document)
    joints = driven_joints(document)
    drive: dict[str, Any] = {}
    for name in ("stiffness", "damping"):
        gains = [gain for joint in joints if (gain := getattr(joint, name)) is not None]
        if len(gains) == len(joints):
            drive[name] = gains
        else:
            comments.append(f"nobody states the {name} of all drives: give it")
    delays = [joint.told["delay"] for joint in joints if "delay" in joint.told]
    if delays:
        drive["delay"] = float(np.mean(delays))
        told = f"{len(delays)} of {len(joints)} joints"
        comments.append(f"the delay is the mean of {told}, {min(delays):.4g} to {max(delays):.4g} s")
    title = "Of spi_identifier and exploration_planner, for these joints in this order"
    return _parameter_file({"motor": lists, "sampling": {"drive": drive}}, comments, title)


def arrays(document: Document, networks: Mapping[str, Any] | None = None) -> bytes:
    """A NumPy archive: joints (n,), parameters and units (K,), and (n, K) estimate, sigma, lower, upper, identifiable.

    Not a number where nothing is known; where a joint lacks a parameter altogether, too. Weights of networks, if the
    joints have any, are under network/JOINT/NAME.
    """
    driven_joints(document)
    units = {row["name"]: row["unit"] for joint in document["joints"] for row in joint["parameters"]}
    rows = [{row["name"]: row for row in joint["parameters"]} for joint in document["joints"]]

    def table(key: str) -> Any:
        values = [[own.get(name, {}).get(key) for name in units] for own in rows]
        return np.array([[np.nan if value is None else float(value) for value in row] for row in values])

    buffer = io.BytesIO()
    np.savez(
        buffer,
        joints=np.array([joint["name"] for joint in document["joints"]]),
        parameters=np.array(list(units)),
        units=np.array(list(units.values())),
        identifiable=table("identifiable") == 1.0,
        **{key: table(key) for key in ("estimate", "sigma", "lower", "upper")},
        **{f"network/{name}": value for name, value in (networks or {}).items()},
    )
    return buffer.getvalue()


def _told_lists(document: Document) -> tuple[dict[str, list[float]], list[str]]:
    """The same as `_motor_lists`; there has to be one.

    Raises:
        InputError: neither friction nor armature is identified of all joints.
    """
    lists, comments = _motor_lists(document)
    if not lists:
        line = "neither friction nor armature is identified of all joints; there is nothing to export"
        raise InputError(line, source=document["source"])
    return lists, comments


def _motor_lists(document: Document) -> tuple[dict[str, list[float]], list[str]]:
    """Coulomb and viscous friction and armature of all joints, where all are identified, and why others are not."""
    joints = driven_joints(document)
    lists, comments = {}, [", ".join(joint.name for joint in joints)]
    for name in ("coulomb", "viscous", "armature"):
        lacking = [joint for joint in joints if name not in joint.told]
        if not lacking:
            lists[name] = [joint.told[name] for joint in joints]
            continue
        reason = lacking[0].untold.get(name, "it was not fitted")
        comments.append(
            f"{name} of {', '.join(j.name for j in lacking)} is not identified, so that all keep the robot's: {reason}"
        )
    return lists, comments


def _relative(document: Document, name: str) -> float:
    rows = [row for joint in document["joints"] for row in joint["parameters"] if row["name"] == name]
    return float(max(0.5 * (row["upper"] - row["lower"]) / max(abs(row["estimate"]), 1e-12) for row in rows))


def _parameter_file(values: Mapping[str, Any], comments: list[str], title: str) -> str:
    head = "".join(f"# {line}\n" for line in (title + ": " + comments[0] + ".", *comments[1:]))
    return head + yaml.safe_dump(
        {"/**": {"ros__parameters": dict(values)}}, sort_keys=False, default_flow_style=None, width=110
    )
