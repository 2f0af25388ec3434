# SPDX-License-Identifier: Apache-2.0
"""Configuration of a command: file, packaged defaults, flags, --set."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from sysid_nodes.cli.configuration import add_arguments
from sysid_nodes.cli.interval.configuration import configuration
from sysid_nodes.data.config import load_yaml
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

FILE = "/**:\n  ros__parameters:\n    robot: panda\n    noise:\n      torque_relative: [0.07]\n"


def configure(*words: str) -> IntervalIdentifierConfig:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return configuration(parser.parse_args(words))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "arm.yaml"
    path.write_text(FILE)
    return path


def test_a_file_is_read(file: Path) -> None:
    config = configure("--config", str(file))
    assert (config.robot, config.noise.torque_relative) == ("panda", (0.07,))


def test_without_a_file_the_robot_brings_its_own(project_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    assert configure() == load_yaml(IntervalIdentifierConfig, project_root / "config" / "kinova_gen3.yaml")
    assert (project_root / "config" / "panda.yaml").is_file()
    assert configure("--robot", "panda").robot == "panda"
    assert configure("--robot", "z1") == IntervalIdentifierConfig(robot="z1")  # has no file of its own


def test_a_urdf_alone_is_another_robot() -> None:
    config = configure("--urdf", "arm.urdf")
    assert (config.robot, config.urdf) == ("urdf", "arm.urdf")


def test_a_robot_without_a_name_needs_its_description(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    file.write_text("/**: {ros__parameters: {robot: urdf}}")
    with pytest.raises(ConfigError, match=r"arm\.yaml: this robot is known by its description only; give that with"):
        configure("--config", str(file))
    assert configure("--config", str(file), "--urdf", "arm.urdf").urdf == "arm.urdf"


def test_a_urdf_beside_a_robot_replaces_its_description(file: Path) -> None:
    assert configure("--config", str(file), "--urdf", "arm.urdf").robot == "panda"
    assert configure("--robot", "panda", "--urdf", "arm.urdf").robot == "panda"


def test_flags_and_settings_override_the_file(file: Path) -> None:
    config = configure(
        "--config", str(file), "--method", "sensitivity", "--body", "hand", "--set", "window.duration=0.2"
    )
    assert (config.method, config.body, config.window.duration) == ("sensitivity", "hand", 0.2)
    assert config.noise.torque_relative == (0.07,)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("noise.torque_absolute=3", (3.0,)),
        ("noise.torque_absolute=1e-3", (1e-3,)),
        ("noise.torque_absolute=[1, 2e0, 3.5]", (1.0, 2.0, 3.5)),
        ("noise.torque_absolute=1,2,3", (1.0, 2.0, 3.0)),
    ],
)
def test_lists_are_easy_to_write(setting: str, value: tuple[float, ...]) -> None:
    assert configure("--set", setting).noise.torque_absolute == value


def test_numbers_without_a_point_are_numbers() -> None:
    config = configure("--set", "window.duration=2e-1", "--set", "set_membership.max_rows=300")
    assert config.window.duration == 0.2
    assert config.set_membership.max_rows == 300


def test_names_stay_names() -> None:
    assert configure("--set", "body=1e3").body == "1e3"
    assert configure("--set", "body=off").body == "off"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "noise"), "--set: expected KEY=VALUE, got 'noise'"),
        (("--set", "=3"), "--set: expected KEY=VALUE, got '=3'"),
        (("--set", "window.duration=[1"), "--set: the value of 'window.duration' does not parse: [1"),
        (("--set", "window.width=1"), "command line: unknown key 'window.width'"),
        (("--set", "window.duration=-1"), "command line: 'window.duration' must be at least 0.001, got -1"),
        (("--set", "window.duration=.nan"), "command line: 'window.duration' must be a finite number, got nan"),
        (
            ("--set", "noise.torque_relative=a"),
            "command line: 'noise.torque_relative' must be a list of finite numbers",
        ),
        (("--config", "nowhere.yaml"), "nowhere.yaml: No such file or directory"),
    ],
)
def test_mistakes_are_named(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        configure(*words)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not valid YAML"),
        ("robot: panda", "expected 'ros__parameters'"),
        (FILE + "    colour: red\n", "unknown key 'colour'"),
        (FILE + "    prior:\n      lower: [9, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n", "impossible bounds: m has lower 9"),
    ],
)
def test_mistakes_in_a_file_name_the_file(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigError, match=f"{re.escape(str(file))}: {re.escape(message)}"):
        configure("--config", str(file), "--set", "window.duration=0.2")
