# SPDX-License-Identifier: Apache-2.0
"""Options of actuator identification, and their reference page."""

from __future__ import annotations

from sysid_nodes.cli.option_tables import page, table
from sysid_nodes.cli.system import Reference
from sysid_nodes.data.config import options
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.actuators.node_config import ActuatorNodeConfig
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig

CONFIGS = (ActuatorSessionConfig, ActuatorNodeConfig, SimulatedDrivesConfig)


def parameters_page() -> str:
    """Markdown of docs/actuators/parameters.md."""
    return page(
        "Parameters of actuator identification",
        "## Identification",
        "",
        "Read by the node `actuator_identifier`, by `sysid replay` of logs with commands and by `sysid demo actuators`",
        "alike, from a ROS parameter file (`config/go2_actuators.yaml` is one); `sysid replay` has `--set` too.",
        "An unknown key, a wrong type or a value out of range is an error. Where a list of numbers is asked for, one",
        "number stands for every joint.",
        "",
        *table(options(ActuatorSessionConfig)),
        "",
        "## Node only",
        "",
        *table(options(ActuatorNodeConfig)),
        "",
        "## Simulated leg",
        "",
        "Read by the node `simulated_drives`.",
        "",
        *table(options(SimulatedDrivesConfig)),
    )


REFERENCE = Reference(CONFIGS, parameters_page)
