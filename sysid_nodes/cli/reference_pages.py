"""The reference pages of all parameters, from the configuration dataclasses.

``python -m sysid_nodes.cli.reference_pages`` writes them into docs/; a test compares.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sysid_nodes.data.config import Option, options, range_text
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, RobustControllerConfig
from sysid_nodes.sessions.interval.node_config import IntervalNodeConfig
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.node_config import PrimeNodeConfig
from sysid_nodes.simulation.arm.config import SimulatedRobotConfig
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.node_config import SimulatedLeggedRobotConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

SYSTEMS: dict[str, tuple[type[Any], ...]] = {
    "interval": (IntervalIdentifierConfig, IntervalNodeConfig),
    "certified": (CertifiedPlannerConfig, RobustControllerConfig, SimulatedRobotConfig),
    "actuators": (ActuatorSessionConfig,),
    "prime": (PrimeSessionConfig, PrimeNodeConfig, SimulatedLeggedRobotConfig, LeggedSimulationConfig),
}
"""Configurations of each system's nodes."""

LIVE = "yes"
UNCONFIGURED = "while unconfigured"


def pages() -> dict[str, str]:
    """Markdown of each system's page by its place in docs/."""
    return {
        "interval/parameters.md": interval_page(),
        "certified/parameters.md": certified_page(),
        "prime/parameters.md": prime_page(),
        "actuators/parameters.md": actuators_page(),
    }


def interval_page() -> str:
    """Markdown of docs/interval/parameters.md."""
    return _page(
        "Parameters of the interval identifier",
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
        *_table(options(IntervalNodeConfig)),
    )


def certified_page() -> str:
    """Markdown of docs/certified/parameters.md."""
    return _page(
        "Parameters of certified motion",
        "Read by the nodes named; a key that several of them have means the same for all. One parameter file may serve",
        "them and the identifier: each node takes the keys it has. Keys that these nodes share with the identifier",
        "(`robot`, `variant`, `body`, `target`, `known_robot`, `prior`) are on [its page](../interval/parameters.md).",
        "",
        *_table(_certified_options()),
    )


def prime_page() -> str:
    """Markdown of docs/prime/parameters.md."""
    return _page(
        "Parameters of PRIME",
        "## Estimator",
        "",
        "Read by the node `prime_estimator`, by `sysid replay` and by `sysid demo go2` and `g1` alike, from a ROS",
        "parameter file; `config/unitree_go2.yaml` and `config/unitree_g1.yaml` name what differs from here.",
        "An unknown key, a wrong type or a value out of range is an error.",
        "",
        *_table(options(PrimeSessionConfig)),
        "",
        "## Node only",
        "",
        *_table(options(PrimeNodeConfig)),
        "",
        "## Simulated robot",
        "",
        "Read by the node `simulated_legged_robot`.",
        "",
        *_table([*options(SimulatedLeggedRobotConfig), *options(LeggedSimulationConfig)]),
    )


def actuators_page() -> str:
    """Markdown of docs/actuators/parameters.md."""
    return _page(
        "Parameters of actuator identification",
        "Read by `sysid replay` of logs with commands, from a ROS parameter file (`/**: ros__parameters:`) or `--set`.",
        "An unknown key, a wrong type or a value out of range is an error. Where a list of numbers is asked for, one",
        "number stands for every joint.",
        "",
        *_table(options(ActuatorSessionConfig)),
    )


def _page(title: str, *lines: str) -> str:
    told = "Written by `python -m sysid_nodes.cli.reference_pages` from the configuration dataclasses; a test compares."
    return "\n".join([f"# {title}", "", told, "", *lines, ""])


def _certified_options() -> list[Option]:
    """Options of the nodes of certified motion that the identifier lacks, once each."""
    known = {item.name for item in options(IntervalIdentifierConfig)}
    found: dict[str, Option] = {}
    for config in SYSTEMS["certified"]:
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


def type_name(item: Option) -> str:
    """The type as a user of ROS parameters knows it."""
    return {bool: "bool", int: "integer", float: "double", str: "string"}.get(item.type, "double array")


if __name__ == "__main__":
    for name, text in pages().items():
        (Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / name).write_text(text, encoding="utf-8")
