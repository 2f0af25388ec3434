# SPDX-License-Identifier: Apache-2.0
"""Whether the arguments ask for an identification by rollouts, and its configuration."""

from __future__ import annotations

import argparse
from typing import Any

from sysid_nodes.cli.configuration import file_values, option_names, setting
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig

_SECTION = "sampling"
_INTERVAL = ("body", "method", "calibration")


def wanted(args: argparse.Namespace) -> bool:
    """Whether an option is given that only an identification by rollouts has.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return any(name.split(".")[0] == _SECTION for name in option_names(args))


def configuration(args: argparse.Namespace) -> SamplingSessionConfig:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value is wrong, or an argument belongs to another
            pipeline.
    """
    for name in _INTERVAL:
        if getattr(args, name, None) is not None:
            raise ConfigError(f"--{name} is for an identification in intervals, not for one by rollouts")
    chosen: dict[str, Any] = dict(setting(text, SamplingSessionConfig) for text in args.settings)
    flags = ("robot", "urdf", "commands")
    chosen |= {name: getattr(args, name) for name in flags if getattr(args, name, None) is not None}
    values = file_values(SamplingSessionConfig, args.config)
    return from_flat(SamplingSessionConfig, {**values, **chosen}, source="command line")
