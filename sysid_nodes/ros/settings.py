"""Options a node has beside its algorithm's configuration, and the reference page of all parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sysid_nodes.data.config import Option, option, options
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.ros.certified_config import CertifiedPlannerConfig, RobustControllerConfig
from sysid_nodes.simulation.robot_config import SimulatedRobotConfig

CERTIFIED = (CertifiedPlannerConfig, RobustControllerConfig, SimulatedRobotConfig)
"""Configurations of the nodes of certified motion."""

LIVE = "yes"
UNCONFIGURED = "while unconfigured"


@dataclass(frozen=True)
class NodeConfig:
    """How the node meets its surroundings. Nothing here touches a number that it publishes."""

    autostart: bool = option(True, "configure and activate without a lifecycle manager")
    reliability: str = option(
        "reliable",
        "of the joint state subscription; best_effort also hears best-effort publishers, and may lose samples",
        choices=("reliable", "best_effort"),
    )
    queue_depth: int = option(
        5000, "messages the middleware keeps until the node takes them", minimum=1, maximum=1000000
    )
    buffer: int = option(
        20000,
        "messages that may wait for the identifier; one more empties the buffer, counted as overload",
        minimum=1,
        maximum=10000000,
    )
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)


def type_name(item: Option) -> str:
    """The type as a user of ROS parameters knows it."""
    return {bool: "bool", int: "integer", float: "double", str: "string"}.get(item.type, "double array")


def range_text(item: Option) -> str:
    """Admissible values in words; empty when anything of the type goes."""
    if item.choices:
        return ", ".join(f"`{choice}`" for choice in item.choices)
    ends = []
    if item.minimum is not None:
        ends.append(f">= {item.minimum:g}")
    if item.maximum is not None:
        ends.append(f"<= {item.maximum:g}")
    return ", ".join(ends)


def reference_page() -> str:
    """Markdown of docs/parameters.md, from the dataclasses."""
    lines = [
        "# Parameters",
        "",
        "Written by `sysid_nodes.ros.settings.reference_page` from the configuration dataclasses; a test compares.",
        "",
        "## Identifier",
        "",
        "Read by the node `interval_identifier`, by `sysid replay` and by `sysid demo` alike, from a ROS parameter",
        "file (`/**: ros__parameters:`, see `config/`). An unknown key, a wrong type or a value out of range is",
        "an error.",
        "Where a list of numbers is asked for, one number stands for every joint. A whole number passes for a double.",
        "A running node takes what says *yes* under *may change*, at once and atomically; anything else may change",
        "only while the node is unconfigured. New error bounds hold for the windows to come; what earlier windows",
        "proved rests on the old ones until `~/reset`, and the assumptions in `result.json` and the report say so.",
        "",
        *_table(options(IntervalIdentifierConfig)),
        "",
        "## Node only",
        "",
        "Set these on the node or through the launch files; they do not belong in the files of `config/`.",
        "",
        *_table(options(NodeConfig)),
        "",
        "## Certified motion",
        "",
        "Read by the nodes named; a key that several of them have means the same for all. One parameter file may serve",
        "them and the identifier: each node takes the keys it has. Keys above that these nodes share with the",
        "identifier (`robot`, `variant`, `body`, `target`, `known_robot`, `prior`) are left out here.",
        "",
        *_table(_certified_options()),
        "",
    ]
    return "\n".join(lines)


def _certified_options() -> list[Option]:
    """Options of the nodes of certified motion that the identifier lacks, once each."""
    known = {item.name for item in options(IntervalIdentifierConfig)}
    found: dict[str, Option] = {}
    for config in CERTIFIED:
        found |= {item.name: item for item in options(config) if item.name not in known and item.name not in found}
    return list(found.values())


def _table(items: Iterable[Option]) -> list[str]:
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
        return "[" + ", ".join(f"{x:g}" for x in default) + "]"
    if isinstance(default, bool):
        return str(default).lower()
    return (
        f"{default:g}" if isinstance(default, float) else f'"{default}"' if isinstance(default, str) else str(default)
    )
