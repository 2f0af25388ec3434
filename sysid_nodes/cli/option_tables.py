# SPDX-License-Identifier: Apache-2.0
"""Tables of options for the reference pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sysid_nodes.data.config import Option, range_text
from sysid_nodes.data.joint_vector import Words

LIVE = "yes"
UNCONFIGURED = "while unconfigured"


def page(title: str, *lines: str) -> str:
    """A page of its own with a title, how it came about, and lines."""
    told = "Written by `python -m sysid_nodes.cli.reference_pages` from the configuration dataclasses; a test compares."
    return "\n".join([f"# {title}", "", told, "", *lines, ""])


def table(items: Iterable[Option]) -> list[str]:
    """A row for each option."""
    rows = ["| name | type | default | unit | range | may change | meaning |", "|---|---|---|---|---|---|---|"]
    for item in items:
        cells = (
            f"`{item.name}`",
            type_name(item),
            f"`{_plain(item.default)}`",
            item.unit,
            range_text(item),
            LIVE if item.live else UNCONFIGURED,
            item.doc,
        )
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def _plain(default: Any) -> str:
    if isinstance(default, tuple):
        return "[" + ", ".join(x if isinstance(x, str) else f"{x:g}" for x in default) + "]"
    if isinstance(default, bool):
        return str(default).lower()
    return (
        f"{default:g}" if isinstance(default, float) else f'"{default}"' if isinstance(default, str) else str(default)
    )


def type_name(item: Option) -> str:
    """The type as a user of ROS parameters knows it."""
    plain = {bool: "bool", int: "integer", float: "double", str: "string", Words: "string array"}
    return plain.get(item.type, "double array")
