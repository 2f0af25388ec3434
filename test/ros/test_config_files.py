from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sysid_nodes.data.config import load_yaml, read_parameters, to_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.robots import robot_names

CONFIG = Path(__file__).resolve().parents[2] / "config"
FILES = sorted(CONFIG.glob("*.yaml"))


def test_the_robots_of_this_package_that_have_a_file() -> None:
    assert {"kinova_gen3", "ur10e", "panda"} <= {path.stem for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_loads_and_names_a_known_robot(path: Path) -> None:
    config = load_yaml(IntervalIdentifierConfig, path)
    assert config.robot in (*robot_names(), "urdf")


def test_the_gen3_file_is_the_built_in_defaults() -> None:
    path = CONFIG / "kinova_gen3.yaml"
    assert load_yaml(IntervalIdentifierConfig, path) == IntervalIdentifierConfig()
    written, built_in = read_parameters(path), to_flat(IntervalIdentifierConfig())
    for name in ("robot", "noise.torque_relative", "known_robot.inertia_relative", "prior.lower", "prior.upper"):
        assert _plain(written[name]) == _plain(built_in[name])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_misspelt_key_is_refused_with_the_file_s_name(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_text(path.read_text(encoding="utf-8").replace("torque_absolute", "torque_absolut"), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{path.name}: unknown key 'noise\.torque_absolut'"):
        load_yaml(IntervalIdentifierConfig, copy)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value
