# SPDX-License-Identifier: Apache-2.0
"""sysid check of a legged robot's recording: silent about a good one, and one line for each thing that is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from shared.legged_bag import write_bag

from sysid_nodes.cli.main import main
from sysid_nodes.cli.prime.check import _streams
from sysid_nodes.simulation.legged import JointReading, LeggedRobotSim, LeggedSimulationConfig, PoseReading, Reading


@pytest.fixture(scope="module")
def readings() -> tuple[Reading, ...]:
    """A second of a trot that begins."""
    sim = LeggedRobotSim(LeggedSimulationConfig(motion="trot"), np.random.default_rng(1), start=1000.0)
    return tuple(reading for reading in sim.run(1.4) if reading.stamp > 1000.4)


def test_a_good_recording(tmp_path: Path, readings: tuple[Reading, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(write_bag(tmp_path / "bag", readings)), "--robot", "go2"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "nothing to mend"
    rates = {line.split()[0]: float(line.split()[1]) for line in told[2:9]}
    assert rates["joint_torque"] == 500.0
    assert rates["mocap_pose"] == 100.0
    assert any(line.startswith("base: ") and " kg" in line for line in told)


def test_stamps_that_repeat_have_a_rate() -> None:
    session, estimate = SimpleNamespace(rejected={"gyroscope": {"late": 2}, "torque": {}}), SimpleNamespace(fit={})
    told = list(_streams({"gyroscope": [0.0, 0.0, 0.0, 0.01, 0.02], "torque": [1.0, 1.0]}, session, estimate))
    assert told[1].split() == ["gyroscope", "100", "10.0", "-", "2", "late"]
    assert told[2].split() == ["torque", "0", "nan", "-", "-"]


def test_what_is_wrong_is_a_line_each(
    tmp_path: Path, readings: tuple[Reading, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """A knee's velocity the wrong way round, a hip's encoder 0.2 rad off, and no motion capture."""

    def spoil(reading: Reading) -> Reading:
        if not isinstance(reading, JointReading):
            return reading
        knee, hip = reading.names.index("FL_calf_joint"), reading.names.index("RR_hip_joint")
        turned = np.where(np.arange(12) == knee, -1.0, 1.0)
        return replace(
            reading, velocity=turned * reading.velocity, position=reading.position + 0.2 * (np.arange(12) == hip)
        )

    bad = [spoil(reading) for reading in readings if not isinstance(reading, PoseReading)]
    assert main(["check", str(write_bag(tmp_path / "bag", bad)), "--robot", "go2"]) == 3
    told = capsys.readouterr().out
    assert "no readings on '/mocap/pose'" in told
    assert "the velocity of 'FL_calf_joint' is -" in told
    assert "rate of its position: sign or unit" in told
    assert "joint_position.offset[" in told
