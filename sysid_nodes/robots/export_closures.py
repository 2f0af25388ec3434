# SPDX-License-Identifier: Apache-2.0
"""Writes closed loops into the user's MJCF; every other byte of the file stays as it was.

A URDF has no place for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.export_joints import timestep
from sysid_nodes.robots.xml_spans import Element, append_child, parse_spans

_STIFF = "0.9999 0.9999 0.001"  # with a time constant of two steps: at MuJoCo's own values loops open by millimetres


def export_closures(data: bytes, loops: Sequence[tuple[str, str]], *, source: str = "") -> bytes:
    """An MJCF file with a `connect` for each loop that it does not have yet; any other file as it is.

    Args:
        data: the file.
        loops: pairs of sites, or of bodies, whose origins coincide.
        source: file name for errors.

    Raises:
        RobotError: the file is not XML, or lacks a site or body.
    """
    try:
        for loop in loops:
            root = parse_spans(data)
            if root.tag != "mujoco":
                return data
            ends = _ends(root, loop)
            sections = root.children_named("equality")
            there = [child.attributes for section in sections for child in section.children if child.tag == "connect"]
            if any({loop[0], loop[1]} <= set(attributes.values()) for attributes in there):
                continue
            if not sections:
                data = append_child(data, root, "<equality/>")
            section = parse_spans(data).children_named("equality")[-1]
            solver = f'solref="{2.0 * timestep(root)!r} 1" solimp="{_STIFF}"'
            data = append_child(data, section, f"<connect {ends} {solver}/>")
    except RobotError as error:
        raise error if error.source or not source else RobotError(str(error), source=source) from None
    return data


def _ends(root: Element, loop: tuple[str, str]) -> str:
    """Attributes that say what is connected."""
    for kind, rest in (("site", ""), ("body", ' anchor="0 0 0"')):
        names = {element.attributes.get("name") for element in root.walk() if element.tag == kind}
        if names >= set(loop):
            return f'{kind}1="{loop[0]}" {kind}2="{loop[1]}"{rest}'
    raise RobotError(f"has neither sites nor bodies '{loop[0]}' and '{loop[1]}', which a loop joins")
