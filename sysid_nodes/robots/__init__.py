# SPDX-License-Identifier: Apache-2.0
"""Robots by name, or from a URDF.

A robot that has a name is a folder beside this file whose ``__init__.py`` has a RobotDescription called DESCRIPTION.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

from sysid_nodes.data.joint_vector import did_you_mean
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.contacts import ContactsConfig, ContactSpec, with_contacts
from sysid_nodes.robots.description import RobotDescription, build_on_urdf, build_registered, build_robot
from sysid_nodes.robots.limb import limb
from sysid_nodes.robots.motor import MotorConfig, with_motor
from sysid_nodes.robots.robot import ContactPoint, JointLimits, MotorConstants, Primitive, Robot

__all__ = [
    "ContactPoint",
    "ContactSpec",
    "ContactsConfig",
    "JointLimits",
    "MotorConfig",
    "MotorConstants",
    "Primitive",
    "Robot",
    "limb",
    "load_robot",
    "robot_names",
    "robot_variants",
    "with_contacts",
    "with_motor",
]


def _find_descriptions() -> dict[str, RobotDescription]:
    """DESCRIPTION of every folder beside this file, by the robot's name."""
    folders = [entry.name for entry in pkgutil.iter_modules(__path__) if entry.ispkg]
    found: list[RobotDescription] = [importlib.import_module(f"{__name__}.{name}").DESCRIPTION for name in folders]
    return {description.name: description for description in found}


_DESCRIPTIONS = _find_descriptions()


def robot_names(*, floating_base: bool | None = None) -> tuple[str, ...]:
    """Names that ``load_robot`` knows; of robots with a floating or a fixed base alone if asked for."""
    return tuple(
        name
        for name, description in _DESCRIPTIONS.items()
        if floating_base is None or description.floating_base is floating_base
    )


def robot_variants(name: str) -> tuple[str, ...]:
    """Names of a registered robot's forms; empty where it has one form, or is not registered."""
    return tuple(filter(None, _DESCRIPTIONS[name].variants)) if name in _DESCRIPTIONS else ()


def load_robot(
    name: str, *, variant: str = "", urdf: str | Path = "", urdf_text: str = "", floating_base: bool = False
) -> Robot:
    """A robot by name, from a URDF, or a registered robot's constants on a URDF of the user's.

    Args:
        name: a registered name; with a URDF also any other name, or nothing or ``urdf`` to take the URDF's own.
        variant: form of a registered robot; empty for its default.
        urdf: path of a URDF file.
        urdf_text: URDF text, as in ``robot_description``.
        floating_base: whether the base of a robot that is not registered moves freely; a registered one's is known.

    Raises:
        RobotError: name or variant is unknown, the file is unreadable, both URDFs are given, or the URDF is unusable.
    """
    if urdf and urdf_text:
        raise RobotError("give a URDF file or URDF text, not both")
    description = _DESCRIPTIONS.get(name)
    if not urdf and not urdf_text:
        if description is None:
            known = robot_names()
            near = did_you_mean(name, known)
            raise RobotError(f"unknown robot '{name}'; known are {', '.join(known)}; for any other give its URDF{near}")
        return build_registered(description, variant)
    if variant:
        raise RobotError(f"variant '{variant}' cannot be asked for together with a URDF; '--set variant=' takes it out")
    text, source = (_read(Path(urdf)), str(urdf)) if urdf else (urdf_text, "robot_description")
    if description is not None:
        return build_on_urdf(description, text, source=source)
    own = "" if name == "urdf" else name
    return build_robot(text, name=own, source=source, floating_base=floating_base)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RobotError(error.strerror or "cannot be read", source=str(path)) from None
    except UnicodeDecodeError:
        raise RobotError("not a text file", source=str(path)) from None
