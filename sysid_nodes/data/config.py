# SPDX-License-Identifier: Apache-2.0
"""Configuration dataclasses as the only home of a default.

Nested frozen dataclasses map to ROS parameters by dotted names (``noise.torque_relative``), to YAML as
ROS parameter files (``/**: ros__parameters: ...``) and to the reference page in docs/.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import yaml

from sysid_nodes.data.joint_vector import ByJoint, Words, did_you_mean
from sysid_nodes.exceptions import ConfigError

T = TypeVar("T")

SUITE = frozenset(
    {
        "robot", "variant", "urdf", "body", "joints", "locked", "target", "method", "signals",
        "calibration", "window", "noise", "known_robot", "weigh_first",
        "prior", "tracking", "set_membership", "sensitivity", "scene", "payload_volume", "control", "certifier",
        "planner", "controller", "certified_planner", "robust_controller", "simulated_arm", "authority", "exploration",
        "autostart", "frame_prefix", "estimates",
    }
)  # fmt: skip
"""First names of all keys that one parameter file may hold for several programs at once; each takes its own."""


def option(
    default: Any,
    doc: str,
    *,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
    live: bool = False,
    joints_apart: bool = False,
) -> Any:
    """A configuration field.

    ``live`` says that a running node may change it, ``joints_apart`` that values by joint name are of joints outside
    the chain, or of any.
    """
    metadata = {"doc": doc, "unit": unit, "minimum": minimum, "maximum": maximum, "choices": choices, "live": live}
    metadata["joints_apart"] = joints_apart
    return field(default=default, metadata=metadata)


def section(config: type[Any], doc: str) -> Any:
    """A nested configuration."""
    return field(default_factory=config, metadata={"doc": doc})


@dataclass(frozen=True)
class Option:
    """One leaf of a configuration: dotted name, type, default and what it means."""

    name: str
    type: Any
    default: Any
    doc: str
    unit: str
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    live: bool
    joints_apart: bool = False

    @property
    def is_vector(self) -> bool:
        """Whether it holds a list, of numbers or of words."""
        return self.type not in (bool, int, float, str)


def options(config: Any, prefix: str = "") -> Iterator[Option]:
    """All leaves of a configuration dataclass (the class), depth first."""
    hints = get_type_hints(config)
    for item in dataclasses.fields(config):
        hint = hints[item.name]
        if dataclasses.is_dataclass(hint):
            yield from options(hint, f"{prefix}{item.name}.")
        else:
            yield Option(name=prefix + item.name, type=hint, default=item.default, **item.metadata)


def from_flat(config: type[T], values: Mapping[str, Any], *, source: str = "") -> T:
    """Builds a configuration from dotted names; what is absent keeps its default.

    Raises:
        ConfigError: a name is unknown, a value has a wrong type, is not finite or out of range.
    """
    known = {item.name: item for item in options(config)}
    values = gather_joints(values, known, source)
    if unknown := sorted(set(values) - set(known)):
        raise ConfigError(f"unknown key '{unknown[0]}'{did_you_mean(unknown[0], known)}", source=source)
    checked = {name: _check(known[name], value, source) for name, value in values.items()}
    try:
        built: T = _build(config, checked, "")
        return built
    except ConfigError as error:
        raise error if error.source or not source else ConfigError(str(error), source=source) from None


def gather_joints(values: Mapping[str, Any], known: Mapping[str, Option], source: str = "") -> dict[str, Any]:
    """Dotted names and values, those of one option by joint name (``noise.torque_absolute.joint_1``) made one value."""
    gathered: dict[str, Any] = {}
    for name, value in values.items():
        option_name = next(
            (name[: len(key)] for key in known if name.startswith(key + ".") and known[key].is_vector), ""
        )
        if name in known or not option_name:
            gathered[name] = value
        else:
            table = gathered.setdefault(option_name, {})
            if not isinstance(table, dict):
                raise ConfigError(f"'{option_name}' is given both as a list and by joint name", source=source)
            table[name[len(option_name) + 1 :]] = value
    return {name: ByJoint.of(value.items()) if isinstance(value, dict) else value for name, value in gathered.items()}


def to_flat(config: Any, prefix: str = "") -> dict[str, Any]:
    """Dotted names and values of a configuration, in order."""
    flat: dict[str, Any] = {}
    for item in dataclasses.fields(config):
        value = getattr(config, item.name)
        if dataclasses.is_dataclass(value):
            flat |= to_flat(value, f"{prefix}{item.name}.")
        else:
            flat[prefix + item.name] = value
    return flat


def own_parameters(config: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names and values less those of other programs: of first names in SUITE that the configuration lacks."""
    others = SUITE - {item.name for item in dataclasses.fields(config)}
    return {name: value for name, value in values.items() if name.split(".")[0] not in others}


def load_yaml(config: type[T], path: Path) -> T:
    """Reads what a ROS parameter file holds for one program.

    Raises:
        ConfigError: the file is unreadable, is not a ROS parameter file or holds a bad value.
    """
    return from_flat(config, own_parameters(config, read_parameters(path)), source=str(path))


def read_yaml(path: Path) -> Any:
    """Content of a YAML file.

    Raises:
        ConfigError: it is unreadable or not YAML; says where, in one line.
    """
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(error.strerror or str(error), source=str(path)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"not valid YAML: {error.problem or error}{where}", source=str(path)) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError("not valid YAML: " + " ".join(str(error).split()), source=str(path)) from None


def read_parameters(path: Path) -> dict[str, Any]:
    """Dotted parameters of a ROS parameter file with a single ``/**`` or node section."""
    tree = read_yaml(path)
    if not isinstance(tree, Mapping) or len(tree) != 1:
        raise ConfigError("expected one '/**' section with 'ros__parameters'", source=str(path))
    body = next(iter(tree.values()))
    if not isinstance(body, Mapping) or set(body) != {"ros__parameters"}:
        raise ConfigError("expected 'ros__parameters' under the node's name", source=str(path))
    parameters = body["ros__parameters"] or {}
    if not isinstance(parameters, Mapping):
        raise ConfigError("'ros__parameters' must hold names and values", source=str(path))
    return dict(_flatten(parameters, ""))


def _flatten(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _build(config: Any, values: Mapping[str, Any], prefix: str) -> Any:
    hints = get_type_hints(config)
    arguments: dict[str, Any] = {}
    for item in dataclasses.fields(config):
        name = prefix + item.name
        if dataclasses.is_dataclass(hints[item.name]):
            arguments[item.name] = _build(hints[item.name], values, name + ".")
        elif name in values:
            arguments[item.name] = values[name]
    return config(**arguments)


def _check(item: Option, value: Any, source: str) -> Any:
    def fail(expected: str) -> ConfigError:
        return ConfigError(f"'{item.name}' must be {expected}, got {value!r}", source=source)

    if item.type is bool:
        if not isinstance(value, bool):
            raise fail("true or false")
        return value
    if item.type is str:
        if not isinstance(value, str):
            raise fail("a string")
        if item.choices and value not in item.choices:
            raise fail("one of " + ", ".join(item.choices))
        return value
    if item.type == Words:
        return _check_words(item, value, fail)
    numbers = _check_numbers(item, value, fail)
    if item.type is int:
        if numbers[0] != int(numbers[0]):
            raise fail("a whole number")
        return int(numbers[0])
    return float(numbers[0]) if item.type is float else _like(value, [float(x) for x in numbers])


def _like(value: Any, checked: list[Any]) -> tuple[Any, ...]:
    """Checked values as a tuple, by joint name where they came so."""
    return ByJoint.of(zip(value.names, checked, strict=True)) if isinstance(value, ByJoint) else tuple(checked)


def _check_words(item: Option, value: Any, fail: Callable[[str], ConfigError]) -> tuple[Any, ...]:
    words = [value] if isinstance(value, str) else value
    if not hasattr(words, "__iter__") or any(not isinstance(word, str) for word in words):
        raise fail("a list of words")
    if item.choices and any(word not in item.choices for word in words):
        raise fail("made of " + ", ".join(item.choices))
    return _like(words, list(words))


def _check_numbers(item: Option, value: Any, fail: Callable[[str], ConfigError]) -> list[Any]:
    """The value's numbers, one for a scalar option, finite and in range."""
    scalar = item.type in (float, int)
    numbers = [value] if scalar else value
    if isinstance(numbers, str) or not hasattr(numbers, "__iter__"):
        raise fail("a list of numbers")
    numbers = list(numbers)
    if any(isinstance(x, bool) or not isinstance(x, (int, float)) or not -math.inf < x < math.inf for x in numbers):
        raise fail("a finite number" if scalar else "a list of finite numbers")
    if item.minimum is not None and any(x < item.minimum for x in numbers):
        raise fail(f"at least {item.minimum:g}")
    if item.maximum is not None and any(x > item.maximum for x in numbers):
        raise fail(f"at most {item.maximum:g}")
    return numbers


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
