# SPDX-License-Identifier: Apache-2.0
"""Writes closed loops into the user's MJCF; every other byte of the file stays as it was.

A URDF has no place for them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.export_joints import timestep
from sysid_nodes.robots.loops import POINT, WELD, Loop
from sysid_nodes.robots.xml_spans import Element, append_child, parse_spans

_ELEMENTS = {POINT: "connect", WELD: "weld"}
_STIFF = "0.9999 0.9999 0.001"  # with a time constant of two steps: at MuJoCo's own values loops open by millimetres


def export_closures(data: bytes, loops: Sequence[Loop], *, source: str = "") -> bytes:
    """An MJCF file with a `connect` or `weld` for each loop that it does not have yet; any other file as it is.

    Args:
        loops: pairs of sites, or of bodies, whose frames coincide.
        source: file name for errors.

    Raises:
        RobotError: the file is not XML, lacks a site or body, or has no element for a loop of that kind.
    """
    try:
        for loop in loops:
            root = parse_spans(data)
            if root.tag != "mujoco":
                return data
            ends = _ends(root, loop)
            sections = root.children_named("equality")
            if loop.kind not in _ELEMENTS:
                raise RobotError(f"MJCF has no element for a loop that is closed by a {loop.kind}")
            there = [child for section in sections for child in section.children if child.tag in _ELEMENTS.values()]
            if any({loop.first.link, loop.second.link} <= set(child.attributes.values()) for child in there):
                continue
            if not sections:
                data = append_child(data, root, "<equality/>")
            section = parse_spans(data).children_named("equality")[-1]
            solver = f'solref="{2.0 * timestep(root)!r} 1" solimp="{_STIFF}"'
            data = append_child(data, section, f"<{_ELEMENTS[loop.kind]} {ends} {solver}/>")
    except RobotError as error:
        raise error if error.source or not source else RobotError(str(error), source=source) from None
    return data


def _ends(root: Element, loop: Loop) -> str:
    """Attributes that say what is connected."""
    names = loop.first.link, loop.second.link
    for kind, rest in (("site", ""), ("body", ' anchor="0 0 0"' + ' relpose="0 0 0 1 0 0 0"' * (loop.kind == WELD))):
        if {element.attributes.get("name") for element in root.walk() if element.tag == kind} >= set(names):
            return f'{kind}1="{names[0]}" {kind}2="{names[1]}"{rest}'
    raise RobotError(f"has neither sites nor bodies '{names[0]}' and '{names[1]}', which a loop joins")
