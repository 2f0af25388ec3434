# SPDX-License-Identifier: Apache-2.0
"""Dotted names, types, ranges and files, on a small configuration of every kind of option."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat, load_yaml, option, options, section, to_flat
from sysid_nodes.exceptions import ConfigError


@dataclass(frozen=True)
class Inner:
    gains: tuple[float, ...] = option((1.0,), "gains", minimum=0.0)
    steps: int = option(3, "steps", minimum=1, maximum=9, live=True)


@dataclass(frozen=True)
class Outer:
    name: str = option("a", "name", choices=("a", "b"))
    rate: float = option(0.5, "rate", unit="Hz", maximum=10.0)
    on: bool = option(False, "switch")
    inner: Inner = section(Inner, "inner")

    def __post_init__(self) -> None:
        if self.rate == 7.0:
            raise ConfigError("seven is taken")


def test_names_are_dotted_and_in_order() -> None:
    assert [item.name for item in options(Outer)] == ["name", "rate", "on", "inner.gains", "inner.steps"]
    assert list(to_flat(Outer())) == [item.name for item in options(Outer)]


def test_what_is_absent_keeps_its_default() -> None:
    built = from_flat(Outer, {"inner.steps": 4, "rate": 2})
    assert built == Outer(rate=2.0, inner=Inner(steps=4))
    assert isinstance(built.rate, float)


def test_flat_round_trip() -> None:
    config = Outer(name="b", rate=2.5, on=True, inner=Inner((1.0, 2.0), 5))
    assert from_flat(Outer, to_flat(config)) == config


def test_arrays_and_whole_floats_are_numbers() -> None:
    built = from_flat(Outer, {"inner.gains": np.array([0.5, 1.0]), "inner.steps": 2.0})
    assert built.inner == Inner((0.5, 1.0), 2)
    assert isinstance(built.inner.steps, int)


BAD_VALUES = [
    ({"speed": 1.0}, "unknown key 'speed'"),
    ({"inner": None}, "unknown key 'inner'"),
    ({"inner.steps.x": 1.0}, "unknown key 'inner.steps.x'"),
    ({"inner.gain": 1.0}, "unknown key 'inner.gain'; did you mean 'inner.gains'?"),
    ({"inner.gains": [1.0], "inner.gains.x": 1.0}, "'inner.gains' is given both as a list and by joint name"),
    ({"inner.gains.x": -1.0}, "'inner.gains' must be at least 0"),
    ({"name": "c"}, "'name' must be one of a, b, got 'c'"),
    ({"name": 1}, "'name' must be a string, got 1"),
    ({"on": 1}, "'on' must be true or false, got 1"),
    ({"rate": "1"}, "'rate' must be a finite number, got '1'"),
    ({"rate": True}, "'rate' must be a finite number, got True"),
    ({"rate": [1.0]}, "'rate' must be a finite number"),
    ({"rate": float("nan")}, "'rate' must be a finite number, got nan"),
    ({"rate": 11.0}, "'rate' must be at most 10, got 11.0"),
    ({"rate": 7.0}, "seven is taken"),
    ({"inner.steps": 2.5}, "'inner.steps' must be a whole number, got 2.5"),
    ({"inner.steps": 0}, "'inner.steps' must be at least 1, got 0"),
    ({"inner.gains": 1.0}, "'inner.gains' must be a list of numbers, got 1.0"),
    ({"inner.gains": "12"}, "'inner.gains' must be a list of numbers, got '12'"),
    ({"inner.gains": [1.0, None]}, "'inner.gains' must be a list of finite numbers"),
    ({"inner.gains": [1.0, float("inf")]}, "'inner.gains' must be a list of finite numbers"),
    ({"inner.gains": [1.0, -1.0]}, "'inner.gains' must be at least 0"),
]


@pytest.mark.parametrize(("values", "message"), BAD_VALUES)
def test_bad_values_are_refused_with_their_name_and_source(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        from_flat(Outer, values, source="arm.yaml")
    assert str(caught.value).startswith("arm.yaml: ") and caught.value.source == "arm.yaml"
    assert "\n" not in str(caught.value)


def test_a_ros_parameter_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text("/**:\n  ros__parameters:\n    rate: 2.0\n    inner: {steps: 4}\n    inner.gains: [3]\n")
    assert load_yaml(Outer, path) == Outer(rate=2.0, inner=Inner((3.0,), 4))
    path.write_text("some_node:\n  ros__parameters:\n")
    assert load_yaml(Outer, path) == Outer()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected one '/\*\*' section"),
        ("[1, 2]", r"expected one '/\*\*' section"),
        ("a: {}\nb: {}", r"expected one '/\*\*' section"),
        ("/**: {rate: 1.0}", "expected 'ros__parameters'"),
        ("/**: {ros__parameters: {}, more: 1}", "expected 'ros__parameters'"),
        ("/**: {ros__parameters: [1, 2]}", "'ros__parameters' must hold names and values"),
        ("/**: {ros__parameters: rate}", "'ros__parameters' must hold names and values"),
        ("/**: {ros__parameters: {1: 2}}", "unknown key '1'"),
        ("\t- :", "not valid YAML"),
        (
            "a:\n  b: [1,",
            r"not valid YAML: expected the node content, but found '<stream end>' at line 2, column 9$",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "arm.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_yaml(Outer, path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_missing_and_a_binary_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        load_yaml(Outer, tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_yaml(Outer, tmp_path / "binary.yaml")
