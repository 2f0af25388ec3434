# SPDX-License-Identifier: Apache-2.0
"""The episodes benchmark runs from end to end at a tiny size, goes on where it ended, and counts a broken promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import episodes
from benchmarks.episode_opponent import InexactArm, worst_truth
from benchmarks.episode_trial import run_trial
from benchmarks.episode_world import PAPER_START, World, draw_body, physical
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.arm.hardware_config import HardwareConfig

SEED = 1


@pytest.mark.slow
def test_episodes(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    arguments = ["--episodes", "1", "--jobs", "1", "--seed", str(SEED), "--records", str(records)]
    arguments += ["--out", str(tmp_path)]
    assert episodes.main(arguments) == 0
    (found,) = tmp_path.glob("*.md")
    text = found.read_text(encoding="utf-8")
    assert "**1 episodes" in text and "nan" not in text
    before = records.read_text(encoding="utf-8")
    record = json.loads(before)["found"]
    # An episode is a function of its arguments, in whichever process it runs.
    again = json.loads(json.dumps(run_trial(SEED, 0)))
    assert again | {"cpu": None} == record | {"cpu": None}
    assert record["mode"] == "HOLDING" and len(record["followed"]) == record["plans"]
    # A broken promise, as an episode would record it, and no episode run again.
    record["failures"] = ["contact"]
    records.write_text(json.dumps(json.loads(before) | {"found": record}) + "\n", encoding="utf-8")
    assert episodes.main(arguments) == 1
    assert "- episode 0: contact" in found.read_text(encoding="utf-8")


def test_the_worst_truth_is_physical_and_in_the_bounds() -> None:
    rng, table, robot = np.random.default_rng(4), PriorConfig().bounds, load_robot("kinova_gen3", variant="gripper")
    found = worst_truth(robot, RobustControlConfig(torque_error=(0.2,)), table, PAPER_START, rng)
    theta = np.array([body.toDynamicParameters() for body in found.bodies])
    assert table.contains(theta[robot.body_index()]) and all(physical(one) for one in theta)
    off = np.abs(theta / robot.inertial_parameters() - 1.0)[:-1, 0]
    assert (off > 0.049).sum() >= 4 and off.max() <= 0.05 + 1e-9  # most masses at the ends of their boxes


@pytest.mark.parametrize("drives", ["round", "drag"])
def test_drives_are_off_by_what_they_may_be(drives: str) -> None:
    robot = load_robot("kinova_gen3")
    arm = InexactArm(
        robot, None, HardwareConfig(delay=0.0), np.random.default_rng(0), PAPER_START, drives=drives, torque_error=0.3
    )
    arm.command(np.linspace(-5.0, 5.0, 7), arm.now)
    arm.step()
    told = np.linspace(-5.0, 5.0, 7) + 1.0
    moving = np.sign(arm.qd)
    arm.command(told, arm.now)
    off = told - arm.torque
    assert (np.abs(off) <= 0.3 + 1e-12).all() and np.abs(off).max() > 0.2
    if drives == "drag":
        np.testing.assert_allclose(off, 0.3 * moving)


def test_bodies_lie_at_the_edge_of_bounds_and_physics() -> None:
    """No parameter can move on towards the end it was sent to: it is there, or physics holds it."""
    rng = np.random.default_rng(4)
    table = PriorConfig().bounds
    for bounds in ("Table I", "0.1"):
        world = World(bounds, "edge", "corner", "random", 1, 0, 0.0, 0.3, goal=False, change=False)
        for _ in range(5):
            found, theta = draw_body(world, rng)
            assert Bounds(table.lower - 1e-12, table.upper + 1e-12).contains(theta)
            assert found.contains(theta) and physical(theta)
            step = 1e-3 * (found.upper - found.lower)
            stuck = 0
            for k in range(10):
                moved = [theta + sign * step * np.eye(10)[k] for sign in (-1.0, 1.0)]
                stuck += any(not (found.contains(other) and physical(other)) for other in moved)
            assert stuck >= 8
