# SPDX-License-Identifier: Apache-2.0
"""Configuration arguments that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from sysid_nodes.data.config import from_flat, options, own_parameters, read_parameters
from sysid_nodes.data.joint_vector import Words
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import robot_names
from sysid_nodes.systems.interval.config import METHODS

Config = TypeVar("Config")

_INTERVAL = ("body", "method", "calibration")
"""Arguments that only the interval identifier has."""


def add_arguments(parser: argparse.ArgumentParser, *, method: bool = True) -> None:
    """Arguments that choose a configuration; without --method where a command has one of its own."""
    group = parser.add_argument_group("configuration")
    group.add_argument("--config", type=Path, metavar="FILE", help="ROS parameter file; without it, the robot's own")
    robot = group.add_argument("--robot", metavar="NAME", help=f"robot by name ({', '.join(robot_names())})")
    robot.completer = lambda **_: robot_names()  # type: ignore[attr-defined]  # argcomplete's, instead of files
    group.add_argument("--urdf", metavar="FILE", help="URDF that replaces the robot's own, or of any other robot")
    group.add_argument("--body", metavar="LINK", help="link to identify; default: the robot's last")
    if method:
        group.add_argument("--method", choices=METHODS, help="identification method")
    else:
        parser.set_defaults(method=None)
    group.add_argument("--calibration", metavar="FILE", help="calibration.json of this robot, see 'sysid calibrate'")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="any option, e.g. noise.torque_relative=0.05 or window.duration=0.2; may be given several times",
    )


def option_names(args: argparse.Namespace) -> list[str]:
    """Names of the options that the parameter file and --set give.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    values = {} if args.config is None else read_parameters(args.config)
    return [*values, *(text.partition("=")[0].strip() for text in args.settings)]


def has_section(args: argparse.Namespace, *sections: str) -> bool:
    """Whether the parameter file or --set gives an option of one of these sections.

    Raises:
        ConfigError: the parameter file cannot be read.
    """
    return any(name.split(".")[0] in sections for name in option_names(args))


def file_values(config: type[Any], path: Path | None, leave_out: Collection[str] = ()) -> Mapping[str, Any]:
    """A configuration's own options from a parameter file, checked by themselves so that an error names the file.

    Raises:
        ConfigError: the file cannot be read, a key is unknown or a value is wrong.
    """
    if path is None:
        return {}
    values = own_parameters(config, read_parameters(path))
    values = {name: value for name, value in values.items() if name not in leave_out}
    from_flat(config, values, source=str(path))
    return values


def chosen_values(args: argparse.Namespace, config: type[Any], flags: Sequence[str], *, subject: str) -> dict[str, Any]:
    """Options of a configuration that --set and arguments of their names give; the arguments win.

    Args:
        config: of the pipeline that runs.
        flags: names of options that are arguments too.
        subject: of the pipeline, in the words of an error message.

    Raises:
        ConfigError: a setting is malformed, or an argument belongs to the interval identifier.
    """
    for name in _INTERVAL:
        if getattr(args, name, None) is not None:
            raise ConfigError(f"--{name} is for an identification in intervals, not for {subject}")
    given = {name: value for name in flags if (value := getattr(args, name, None)) is not None}
    return dict(parse_setting(text, config) for text in args.settings) | given


def session_configuration(
    args: argparse.Namespace, config: type[Config], flags: Sequence[str], *, subject: str, any_robot: bool = False
) -> Config:
    """The configuration of a session that parameter file and arguments ask for; the arguments win.

    Args:
        args, config, flags, subject: see `chosen_values`.
        any_robot: --urdf alone describes a robot of its own, not another form of the default one.

    Raises:
        ConfigError: a file cannot be read, a key is unknown, a value is wrong, or an argument belongs to another
            pipeline.
    """
    chosen = chosen_values(args, config, flags, subject=subject)
    if any_robot and args.config is None and args.urdf is not None:
        chosen.setdefault("robot", "urdf")
    return from_flat(config, {**file_values(config, args.config), **chosen}, source="command line")


def parse_setting(text: str, config: type[Any]) -> tuple[str, Any]:
    """Name and value of an option of a configuration from KEY=VALUE.

    Raises:
        ConfigError: it is not of that form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"expected KEY=VALUE, got '{text}'", source="--set")
    try:
        parsed = yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigError(f"the value of '{name}' does not parse: {value}", source="--set") from None
    item = next((item for item in options(config) if item.name == name.strip()), None)
    if item is not None and item.type is str:
        # A name like 1e3 or off stays a name.
        return item.name, value.strip()
    if item is not None and item.type == Words:
        return item.name, [part.strip() for part in value.strip().strip("[]").split(",")]
    if item is not None and item.type not in (bool, int, float) and not isinstance(parsed, list):
        return item.name, [_number(part) for part in str(value).split(",")]
    return name.strip(), [_number(x) for x in parsed] if isinstance(parsed, list) else _number(parsed)


def _number(value: Any) -> Any:
    """YAML takes 1e-4 (no point) for text; here it is a number."""
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if value.strip().lstrip("+-").isdigit() else number
