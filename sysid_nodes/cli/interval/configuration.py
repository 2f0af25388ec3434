# SPDX-License-Identifier: Apache-2.0
"""The identifier's configuration from a file, the robot's packaged defaults and the command line, in this order."""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path

import numpy as np

from sysid_nodes.cli.configuration import file_values, parse_setting
from sysid_nodes.data.config import from_flat
from sysid_nodes.data.packaged import packaged_file
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.logs import read_joint_states
from sysid_nodes.systems.interval.arm import Arm, load_arm
from sysid_nodes.systems.interval.config import METHODS, IntervalIdentifierConfig
from sysid_nodes.systems.interval.effect import refuse_replaced

_FIRST = 100
"""Joint states that tell which joints a recording has: several publishers may share the topic."""

# Flags that are an option of the configuration under another name.
_FLAGS = ("robot", "urdf", "body", "method", "calibration")


def configuration(args: argparse.Namespace) -> IntervalIdentifierConfig:
    """The configuration that the arguments ask for.

    Raises:
        ConfigError: a file cannot be read, a key is unknown or a value is wrong.
    """
    return stated_configuration(args)[0]


def stated_configuration(args: argparse.Namespace) -> tuple[IntervalIdentifierConfig, frozenset[str]]:
    """The configuration that the arguments ask for, and the names of the options that file or arguments state.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, has no effect or a value is wrong.
    """
    chosen = dict(parse_setting(text, IntervalIdentifierConfig) for text in args.settings)
    insisted = frozenset(chosen)
    chosen |= {name: getattr(args, name) for name in _FLAGS if getattr(args, name) is not None}
    if args.config is None and args.urdf is not None:
        chosen.setdefault("robot", "urdf")
    robot = chosen.get("robot", IntervalIdentifierConfig().robot)
    path = args.config or packaged_file(f"config/{robot}.yaml")
    values = file_values(IntervalIdentifierConfig, path)
    config = from_flat(IntervalIdentifierConfig, {**values, **chosen}, source="command line")
    if config.robot == "urdf" and not config.urdf:
        raise ConfigError("this robot is known by its description only; give that with --urdf FILE", source=str(path))
    refuse_replaced(config, insisted)
    if "method" in chosen:  # a file's options of its own method are no mistake where the command asks for another
        others = tuple(f"{method}." for method in METHODS if method != config.method)
        values = {name: value for name, value in values.items() if not name.startswith(others)}
    return config, frozenset({*values, *chosen})


def load(args: argparse.Namespace, bag: Path) -> Arm:
    """The arm that the arguments ask for, and its configuration; what is assumed is said on stderr.

    Args:
        bag: the recording, whose joints and places decide what is locked, and where.

    Raises:
        InputError: configuration, robot and recording do not fit together.
    """
    config, stated = stated_configuration(args)
    arm = load_arm(config, stated=stated, logged=logged_places(bag, args.topic))
    unnamed = f"no robot is named (--robot, --urdf or --config): taken for a {config.robot}"
    for note in (*(() if _names_robot(args) else (unnamed,)), *arm.notes):
        sys.stderr.write(f"sysid: warning: {note}\n")
    return arm


def _names_robot(args: argparse.Namespace) -> bool:
    """Whether the arguments say whose recording it is."""
    settings = (text.partition("=")[0].strip() for text in args.settings)
    return any(given is not None for given in (args.config, args.robot, args.urdf)) or "robot" in settings


def logged_places(bag: Path, topic: str) -> dict[str, float]:
    """Joints that the first joint states of a recording name, with their places there.

    Raises:
        LogError: the recording cannot be read.
    """
    places: dict[str, float] = {}
    for message in islice(read_joint_states(bag, topic), _FIRST):
        known = zip(message.names, message.position, strict=False)
        places |= {name: float(place) for name, place in known if name not in places and np.isfinite(place)}
        places |= {name: 0.0 for name in message.names if name not in places}
    return places
