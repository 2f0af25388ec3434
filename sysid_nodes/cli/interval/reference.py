# SPDX-License-Identifier: Apache-2.0
"""Options of the interval identifier, and their reference page."""

from __future__ import annotations

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Reference
from sysid_nodes.data.config import options
from sysid_nodes.sessions.interval.node_config import IntervalNodeConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

CONFIGS = (IntervalIdentifierConfig, IntervalNodeConfig)


def parameters_page() -> str:
    """Markdown of docs/interval/parameters.md."""
    return page(
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
        *table(options(IntervalIdentifierConfig)),
        "",
        "## Node only",
        "",
        "Set these on the node or through the launch files; they do not belong in the files of `config/`.",
        "",
        *table(options(IntervalNodeConfig)),
    )


REFERENCE = Reference(CONFIGS, parameters_page)
