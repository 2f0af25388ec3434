# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sysid_nodes.cli.systems import CERTIFIED
from sysid_nodes.data.config import load_yaml, read_parameters, to_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import load_robot, robot_names
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig, actuator_robot
from sysid_nodes.sessions.actuators.session import ActuatorSession
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.sessions.bayesian.session import BayesianSession
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.session import prime_robot
from sysid_nodes.simulation.arm.config import SimulatedArmConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

CONFIG = Path(__file__).resolve().parents[2] / "config"
LEGGED = sorted(path for path in CONFIG.glob("*.yaml") if path.stem in robot_names(floating_base=True))
ACTUATORS = sorted(CONFIG.glob("*_actuators.yaml"))
SAMPLING = sorted(CONFIG.glob("*_sampling.yaml"))
BAYESIAN = sorted(CONFIG.glob("*_bayesian.yaml"))
FILES = sorted(set(CONFIG.glob("*.yaml")) - {*LEGGED, *ACTUATORS, *SAMPLING, *BAYESIAN})
STATING_NOISE = [path for path in FILES if "torque_absolute" in path.read_text(encoding="utf-8")]


def test_the_robots_of_this_package_that_have_a_file() -> None:
    assert {"kinova_gen3", "ur10e", "panda"} <= {path.stem for path in FILES}
    assert {"go2", "g1"} <= {path.stem for path in LEGGED}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_loads_and_names_a_known_robot(path: Path) -> None:
    config = load_yaml(IntervalIdentifierConfig, path)
    assert config.robot in (*robot_names(), "urdf")


def test_the_file_of_the_paper_s_gen3_is_the_built_in_defaults() -> None:
    path = CONFIG / "kinova_gen3_certified.yaml"
    assert load_yaml(IntervalIdentifierConfig, path) == IntervalIdentifierConfig()
    written, built_in = read_parameters(path), to_flat(IntervalIdentifierConfig())
    for name in ("robot", "noise.torque_relative", "known_robot.inertia_relative", "prior.lower", "prior.upper"):
        assert _plain(written[name]) == _plain(built_in[name])


@pytest.mark.parametrize("config", CERTIFIED.reference().configs, ids=lambda config: config.__name__)
def test_the_gen3_files_serve_the_nodes_of_certified_motion(config: type[Any]) -> None:
    """The one is the built-in defaults; the other differs in the simulation alone."""
    assert load_yaml(config, CONFIG / "kinova_gen3_certified.yaml") == config()
    values = to_flat(load_yaml(config, CONFIG / "kinova_gen3_simulated.yaml"))
    changed = {name for name, value in to_flat(config()).items() if values[name] != value}
    assert all(name.startswith("simulated_arm.") or name == "controller.silence" for name in changed)


def test_the_simulated_gen3_keeps_what_the_identifier_is_told_of_it() -> None:
    path = CONFIG / "kinova_gen3_simulated.yaml"
    told, robot = load_yaml(IntervalIdentifierConfig, path), load_yaml(SimulatedArmConfig, path).simulated_arm
    assert told.noise.torque_interpolation == "until"
    assert robot.lockstep
    assert robot.hardware.torque_relative <= told.noise.torque_relative[0]
    assert robot.hardware.velocity_error <= told.noise.velocity_error[0]
    assert robot.hardware.robot_error <= min(told.known_robot.inertia_relative, told.known_robot.friction_relative)


@pytest.mark.parametrize("path", STATING_NOISE, ids=lambda path: path.stem)
def test_a_misspelt_key_is_refused_with_the_file_s_name(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    copy.write_text(path.read_text(encoding="utf-8").replace("torque_absolute", "torque_absolut"), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{path.name}: unknown key 'noise\.torque_absolut'"):
        load_yaml(IntervalIdentifierConfig, copy)


@pytest.mark.parametrize("path", BAYESIAN, ids=lambda path: path.stem)
def test_a_file_of_posteriors_loads_and_fits_its_robot(path: Path) -> None:
    config = load_yaml(BayesianSessionConfig, path)
    BayesianSession(load_robot(config.robot), config)


@pytest.mark.parametrize("path", LEGGED, ids=lambda path: path.stem)
def test_a_legged_robot_s_file_loads_and_fits_its_robot(path: Path) -> None:
    config = load_yaml(PrimeSessionConfig, path)
    robot = prime_robot(config)
    assert robot.contacts
    assert config.horizon.window * config.prime.step >= 0.3  # [s]; shorter ones see too little of a step


def test_a_misspelt_key_of_a_legged_robot_s_file_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "robot.yaml"
    copy.write_text(LEGGED[0].read_text(encoding="utf-8").replace("window:", "windows:"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"robot.yaml: unknown key 'horizon\.windows'"):
        load_yaml(PrimeSessionConfig, copy)


@pytest.mark.parametrize("path", ACTUATORS, ids=lambda path: path.stem)
def test_a_file_of_actuators_loads_and_is_complete(path: Path, tmp_path: Path) -> None:
    config = load_yaml(ActuatorSessionConfig, path)
    ActuatorSession(actuator_robot(config), config)  # the drives' gains are stated
    copy = tmp_path / path.name
    copy.write_text(path.read_text(encoding="utf-8").replace("stiffness:", "stiffnes:"), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"{path.name}: unknown key 'actuators\.law\.stiffnes'"):
        load_yaml(ActuatorSessionConfig, copy)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value
