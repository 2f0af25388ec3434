# SPDX-License-Identifier: Apache-2.0
"""sysid explore on an arm's bounds: motion certified for every body within these, or one line that says why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shared.small_motions import MIDDLE, SMALL_MOTIONS

from sysid_nodes.cli.main import main
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.config import read_parameters

# The prior is wider than what is known after a motion.
LOWER = [1.2, -0.1, -0.1, -0.4, -0.1, -0.1, -0.1, -0.1, -0.1, -0.1]
UPPER = [2.0, 0.1, 0.1, -0.05, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]

Explore = Callable[..., int]


@pytest.fixture
def explore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explore:
    # The schema has a test of its own; here the parts matter that a motion rests on.
    monkeypatch.setattr("sysid_nodes.cli.certified.explore.validate_interval", lambda document, **_: document)
    (tmp_path / "hand.yaml").write_text(SMALL_MOTIONS, encoding="utf-8")
    rows = [{"name": n, "lower": a, "upper": b} for n, a, b in zip(PARAMETER_NAMES, LOWER, UPPER, strict=True)]
    config = {"known_robot.inertia_relative": 0.02, "known_robot.friction_relative": 0.02, "window.duration": 0.1}

    def run(*arguments: str, **changed: Any) -> int:
        document = {"schema": 1, "pipeline": "interval", "status": "PROVEN", "robot": "kinova_gen3"} | {
            "body": "bracelet_link", "target": "body", "calibration": None, "parameters": rows, "config": config,
        } | changed  # fmt: skip
        (tmp_path / "result.json").write_text(json.dumps(document), encoding="utf-8")
        return main(["explore", str(tmp_path / "result.json"), *arguments, "--out", str(tmp_path / "motion")])

    return run


def test_every_part_of_the_motion_is_certified_for_the_bounds_of_the_result(
    explore: Explore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore("--certified", str(tmp_path / "hand.yaml"), MIDDLE, "--duration", "2.4") == 0
    assert (
        f"2 certificates, for the robust controller, obstacles of the file, bounds of {tmp_path}"
        in capsys.readouterr().out
    )
    documents = [json.loads(p.read_text()) for p in sorted((tmp_path / "motion" / "certificates").glob("*.json"))]
    for one in documents:
        assert one["record"]["verdict"] == 0
        np.testing.assert_array_equal(one["record"]["lower"], LOWER)
        np.testing.assert_array_equal(one["record"]["upper"], UPPER)
    motion = np.load(tmp_path / "motion" / "trajectory.npz")
    assert np.ptp(motion["command"], axis=0).max() > 0.1, "it moves"
    assert "prior.lower" not in read_parameters(tmp_path / "hand.yaml"), "the bounds are not the file's"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"status": "ESTIMATED"}, "has no proven bounds: ESTIMATED"),
        ({"robot": "panda"}, "has 'robot' panda, the file of --certified kinova_gen3"),
        ({"body": "forearm_link"}, "has 'body' forearm_link"),
        ({"target": "payload"}, "has 'target' payload"),
        ({"config": {"known_robot.inertia_relative": 0.0}}, "has 'inertia_relative' 0.0, the file of --certified 0.02"),
        ({"calibration": "gen3.json"}, "rest on a calibration"),
    ],
)
def test_bounds_of_something_else_are_refused(
    changed: dict[str, Any], message: str, explore: Explore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore("--certified", str(tmp_path / "hand.yaml"), MIDDLE, **changed) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "motion").exists()


def test_without_a_file_or_a_certified_motion_nothing_is_written(
    explore: Explore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explore(MIDDLE) == 2
    assert "needs the parameter file of its certified motion" in capsys.readouterr().err
    assert explore("--certified", str(tmp_path / "hand.yaml"), "--middle=0,0.5,0,5,0,1,0") == 3
    assert "no motion from this posture is certified" in capsys.readouterr().err
    assert not (tmp_path / "motion").exists()
