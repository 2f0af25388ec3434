# SPDX-License-Identifier: Apache-2.0
"""The configuration of PRIME that the arguments ask for."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from sysid_nodes.cli.configuration import chosen_values, file_values
from sysid_nodes.data.config import from_flat
from sysid_nodes.data.packaged import packaged_file
from sysid_nodes.sensors import SOURCES, SensorsConfig, sources
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.node_config import PrimeNodeConfig

NODE_ONLY = frozenset(item.name for item in dataclasses.fields(PrimeNodeConfig))
"""Options that a parameter file may have for the live node alone; none touches a number."""


def configuration(args: argparse.Namespace) -> PrimeSessionConfig:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value is wrong, or an argument belongs to the other
            pipeline.
    """
    values = given_values(args)
    config = from_flat(PrimeSessionConfig, values, source="command line")
    if asked := _enabled_by_topics(args, config.prime.sensors):
        return from_flat(PrimeSessionConfig, values | asked, source="command line")
    return config


def given_values(args: argparse.Namespace) -> dict[str, Any]:
    """Options by dotted names that the parameter file and the arguments give; the arguments win.

    Raises:
        ConfigError: see `configuration`.
    """
    chosen = chosen_values(args, PrimeSessionConfig, ("robot", "urdf"), subject="a motion")
    path = args.config or packaged_file(f"config/{chosen.get('robot', PrimeSessionConfig().robot)}.yaml")
    return {**file_values(PrimeSessionConfig, path, NODE_ONLY), **chosen}


def topics(args: argparse.Namespace) -> dict[str, str]:
    """Topics that the arguments give to sources, by the sources' names."""
    given = {source.name: getattr(args, f"{source.name}_topic", None) for source in SOURCES}
    return {SOURCES[0].name: args.topic} | {name: topic for name, topic in given.items() if topic is not None}


def _enabled_by_topics(args: argparse.Namespace, config: SensorsConfig) -> dict[str, bool]:
    """Options that enable the sensors of sources which are given a topic and are otherwise not used at all."""
    idle = [source for source in SOURCES if source not in sources(config)]
    asked = [source for source in idle if getattr(args, f"{source.name}_topic", None) is not None]
    return {f"prime.sensors.{stream}.enabled": True for source in asked for stream in source.streams}
