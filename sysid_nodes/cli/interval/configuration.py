# SPDX-License-Identifier: Apache-2.0
"""The identifier's configuration from a file, the robot's packaged defaults and the command line, in this order."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.configuration import file_values, setting
from sysid_nodes.data.config import from_flat
from sysid_nodes.data.packaged import packaged_file
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

# Flags that are an option of the configuration under another name.
_FLAGS = ("robot", "urdf", "body", "method", "calibration")


def configuration(args: argparse.Namespace) -> IntervalIdentifierConfig:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: a file cannot be read, a key is unknown or a value is wrong.
    """
    chosen = dict(setting(text, IntervalIdentifierConfig) for text in args.settings)
    chosen |= {name: getattr(args, name) for name in _FLAGS if getattr(args, name) is not None}
    if args.config is None and args.urdf is not None:
        chosen.setdefault("robot", "urdf")
    robot = chosen.get("robot", IntervalIdentifierConfig().robot)
    path = args.config or packaged_file(f"config/{robot}.yaml")
    values = file_values(IntervalIdentifierConfig, path)
    config = from_flat(IntervalIdentifierConfig, {**values, **chosen}, source="command line")
    if config.robot == "urdf" and not config.urdf:
        raise ConfigError("this robot is known by its description only; give that with --urdf FILE", source=str(path))
    return config
