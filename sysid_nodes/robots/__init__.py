"""Robots by name, or from a URDF.

A registered robot is a folder (or, for URDFs that come with example-robot-data, a line in ``example_robots``) that
offers a RobotDescription, and one line in ``_REGISTERED``.
"""

from __future__ import annotations

from pathlib import Path

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import example_robots, kinova_gen3, unitree_g1, unitree_go2
from sysid_nodes.robots.contacts import ContactsConfig, ContactSpec, with_contacts
from sysid_nodes.robots.description import build_on_urdf, build_registered, build_robot
from sysid_nodes.robots.robot import ContactPoint, JointLimits, MotorConstants, Primitive, Robot

__all__ = [
    "ContactPoint",
    "ContactSpec",
    "ContactsConfig",
    "JointLimits",
    "MotorConstants",
    "Primitive",
    "Robot",
    "load_robot",
    "robot_names",
    "with_contacts",
]

_REGISTERED = (
    kinova_gen3.DESCRIPTION,
    example_robots.UR10,
    example_robots.PANDA,
    example_robots.Z1,
    unitree_go2.DESCRIPTION,
    unitree_g1.DESCRIPTION,
)
_DESCRIPTIONS = {description.name: description for description in _REGISTERED}


def robot_names() -> tuple[str, ...]:
    """Names that ``load_robot`` knows."""
    return tuple(_DESCRIPTIONS)


def load_robot(name: str, *, variant: str = "", urdf: str | Path = "", urdf_text: str = "") -> Robot:
    """A robot by name, from a URDF, or a registered robot's constants on a URDF of the user's.

    Args:
        name: a registered name; with a URDF also any other name, or nothing or ``urdf`` to take the URDF's own.
        variant: form of a registered robot; empty for its default.
        urdf: path of a URDF file.
        urdf_text: URDF text, as in ``robot_description``.

    Raises:
        RobotError: name or variant is unknown, the file is unreadable, both URDFs are given, or the URDF is unusable.
    """
    if urdf and urdf_text:
        raise RobotError("give a URDF file or URDF text, not both")
    description = _DESCRIPTIONS.get(name)
    if not urdf and not urdf_text:
        if description is None:
            known = ", ".join(robot_names())
            raise RobotError(f"unknown robot '{name}'; known are {known}; for any other give its URDF")
        return build_registered(description, variant)
    if variant:
        raise RobotError(f"variant '{variant}' cannot be asked for together with a URDF")
    text, source = (_read(Path(urdf)), str(urdf)) if urdf else (urdf_text, "robot_description")
    if description is not None:
        return build_on_urdf(description, text, source=source)
    return build_robot(text, name="" if name == "urdf" else name, source=source)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RobotError(error.strerror or "cannot be read", source=str(path)) from None
    except UnicodeDecodeError:
        raise RobotError("not a text file", source=str(path)) from None
