# SPDX-License-Identifier: Apache-2.0
"""Simulated leg and identifier as users run them: a process each, real DDS, real time, signals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from online_sysid.msg import ActuatorModels
from shared.refusal import check_refusal

from sysid_nodes.ros import qos

pytestmark = pytest.mark.ros


def test_a_simulated_legs_drives_are_identified_live(
    bench: Any, executables: Any, tmp_path: Path, project_root: Path
) -> None:
    heard = bench.listen(ActuatorModels, "/actuator_identifier/actuator_models", qos.LATCHED)
    truth = tmp_path / "truth.json"
    config = str(project_root / "config" / "go2_actuators.yaml")
    chosen = ("-p", "joints:=FL_", "-p", "online.window:=2.0")
    node = executables.start("actuator_identifier", "--params-file", config, *chosen)
    motion = ("-p", "chirp.duration:=3.0", "-p", "chirp.last:=4.0", "-p", "listeners:=1", "-p", "seed:=3")
    leg = executables.start("simulated_drives", *motion, "-p", f"truth_file:={truth}")
    bench.until(lambda: heard and heard[-1].window == 0)
    assert heard[-1].status in ("PARTIAL", "IDENTIFIED")
    hidden = json.loads(truth.read_text(encoding="utf-8"))
    assert [model.joint for model in heard[-1].models] == hidden["joints"]
    rows = [{p.name: p for p in model.parameters} for model in heard[-1].models]
    told = [(row["coulomb"], hidden["drives"][0]["coulomb"][j]) for j, row in enumerate(rows)]
    assert any(coulomb.identifiable for coulomb, _ in told)
    assert all(coulomb.estimate == pytest.approx(true, rel=0.15) for coulomb, true in told if coulomb.identifiable)
    for process in (leg, node):
        executables.end(process)


@pytest.mark.parametrize(
    ("node", "words", "line"),
    [
        ("actuator_identifier", ("-p", "online.memory:=0"), "'online.memory' must be at least 1"),
        ("actuator_identifier", ("-p", "robot:=go2"), "'law.stiffness' is needed"),
        ("simulated_drives", ("-p", "posture:=[0.0]"), "'posture' must have 3 values, got 1"),
    ],
)
def test_a_wrong_parameter_is_one_line_and_status_two(
    node: str, words: tuple[str, ...], line: str, capfd: pytest.CaptureFixture[str]
) -> None:
    check_refusal(line, node, *words, capfd=capfd)
