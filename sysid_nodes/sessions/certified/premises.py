# SPDX-License-Identifier: Apache-2.0
"""Certificates as documents for the independent checker: a record, and all that it rests on, as plain data."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sysid_nodes import __version__
from sysid_nodes.data.scene import Scene
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots import Primitive, Robot
from sysid_nodes.sessions.certified.settings import CertifiedSettings

Fields = dict[str, Any]


def certificate_document(
    record: TrajectoryRecord, former: TrajectoryRecord | None, premises: Fields, scene: Scene
) -> Fields:
    """A document for `sysid verify` (verification/document.py).

    Args:
        former: the one that it continues; None for one from rest, or where it is not at hand.
        premises: see below.
        scene: obstacles that it was certified among.
    """
    return {
        "record": _plain(record),
        "former": None if former is None else _plain(former),
        "premises": premises | {"obstacles": [_plain(obstacle) for obstacle in scene.obstacles]},
    }


def certificate_premises(robot: Robot, shapes: tuple[Primitive, ...], settings: CertifiedSettings) -> Fields:
    """All that a certificate rests on but bounds, obstacles and trajectory: what models.config_digest is of.

    Args:
        robot, shapes: as certified.
    """
    body = robot.body_index(settings.body)
    return {
        "version": __version__,
        "robot": {
            "name": robot.name,
            "urdf": robot.urdf,
            "joint_names": list(robot.joint_names),
            "inertial_parameters": robot.inertial_parameters().tolist(),
            "gravity": robot.model.gravity.linear.tolist(),
            "limits": _plain(robot.limits),
            "motor": _plain(robot.motor),
            "encoder_step": robot.encoder_step.tolist(),
            "may_overlap": None if robot.may_overlap is None else [list(pair) for pair in robot.may_overlap],
        },
        "body": robot.joint_names[body],
        "shapes": [_plain(shape) for shape in shapes],
        "known_robot": _plain(settings.known_robot),
        "control": _plain(settings.control),
        "certifier": _plain(settings.certifier),
        "estimates": settings.estimates,
    }


def _plain(value: Any) -> Any:
    """Dataclasses, arrays and tuples as JSON has them; infinite numbers stay as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
