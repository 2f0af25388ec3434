# SPDX-License-Identifier: Apache-2.0
"""sysid calibrate of a legged robot: drives that say 4 % too much, found from a walk of a robot that was weighed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared.legged_bag import write_bag

from sysid_nodes.cli.main import main
from sysid_nodes.data.config import load_yaml
from sysid_nodes.robots import load_robot
from sysid_nodes.sensors import build_sensors
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.simulation.legged import JointReading, LeggedRobotSim, LeggedSimulationConfig, Reading
from sysid_nodes.simulation.legged.load import LoadConfig

GAIN, LOAD = 0.04, 2.0


@pytest.fixture(scope="module")
def readings() -> tuple[Reading, ...]:
    """A second of a trot with a load, by drives that say too much."""
    config = LeggedSimulationConfig(motion="trot", load=LoadConfig(mass=LOAD))
    sim = LeggedRobotSim(config, np.random.default_rng(1), start=1000.0)
    told = (
        replace(reading, effort=(1.0 + GAIN) * reading.effort) if isinstance(reading, JointReading) else reading
        for reading in sim.run(1.6)
    )
    return tuple(reading for reading in told if reading.stamp > 1000.6)


def test_gains_of_a_robot_that_was_weighed(
    tmp_path: Path, readings: tuple[Reading, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """Gain errors within a share of their prior's 3 %, and a file that the estimator begins with."""
    bag, out = write_bag(tmp_path / "bag", readings), tmp_path / "my_go2.yaml"
    weight = float(load_robot("go2").inertial_parameters()[:, 0].sum()) + LOAD
    assert main(["calibrate", str(bag), "--robot", "go2", "--known-mass", f"{weight:.3f}", "--out", str(out)]) == 0
    assert "gain errors of the drives (one sigma): hip +0.0" in capsys.readouterr().out
    config = load_yaml(PrimeSessionConfig, out)
    torque = config.prime.sensors.joint_torque
    assert config.prime.inertia.weighed == 0.0
    assert torque.gain == pytest.approx([GAIN] * 3, abs=3.0 * torque.gain_sigma)
    assert torque.gain_sigma < 0.012
    sensor = next(one for one in build_sensors(load_robot("go2"), config.prime.sensors) if one.name == "joint_torque")
    np.testing.assert_allclose(sensor.parameters[0].mean, [*torque.gain, 0.0])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "--known-mass: that of the whole robot"),
        (
            ["--known-mass", "15", "--set", "prime.sensors.joint_torque.gain=0.1,0.2"],
            "needs 3 numbers (hip, thigh, calf)",
        ),
        (
            ["--known-mass", "15", "--set", "prime.sensors.joint_torque.gain_sigma=0"],
            "gains are taken for known",
        ),
    ],
)
def test_what_it_needs(
    arguments: list[str], line: str, tmp_path: Path, readings: tuple[Reading, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    bag = write_bag(tmp_path / "bag", readings[: len(readings) // 5])
    out = tmp_path / "my_go2.yaml"
    assert main(["calibrate", str(bag), "--robot", "go2", *arguments, "--out", str(out)]) == 2
    assert line in capsys.readouterr().err
    assert not out.exists()
