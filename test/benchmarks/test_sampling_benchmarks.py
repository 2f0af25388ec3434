# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the identification by rollouts at a tiny size, and their parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from shared.benchmark_report import only_report

from benchmarks import exploration_realised, sampling_faults, sampling_peers, sampling_scaling, sampling_truth
from benchmarks.exploration_realised_report import NAMES, in_units
from benchmarks.peers.tpe import tpe
from benchmarks.sampling_tasks import tasks, verdict
from benchmarks.sampling_truth import CASES
from benchmarks.sampling_walks import FALLEN
from benchmarks.sampling_worlds import model_world, true_world
from sysid_nodes.data.config import from_flat
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.unknowns import Unknowns


def test_parzen_estimator_finds_the_least_of_a_parabola_better_than_chance() -> None:
    rng, off = np.random.default_rng(0), []
    for _ in range(5):
        point, cost = tpe(lambda x: (x - 1.4) ** 2, 0.5, 2.0, 50, rng)
        assert cost == pytest.approx((point - 1.4) ** 2)
        off.append(abs(point - 1.4))
    assert np.median(off) < 0.5 * 1.5 / 50.0, "half the spacing that 50 points would have"


def test_a_robot_that_tasks_are_tuned_in_kneels_on_its_knees() -> None:
    """Feet drawn up, its knees are 0.2 m below the hips, and feet 0.05 m."""
    robot, config = load_robot("go2"), from_flat(SamplingConfig, {"threads": 1})
    world = model_world(robot, config, [Unknowns(robot, config).column("guess")])
    kneeling = np.tile([0.0, 0.3, -2.7], 4)[None]
    assert world.play(1, lambda _: kneeling, 0.6)[0, -1, 2] > 0.15


def test_a_ratio_that_the_truth_itself_does_not_reach_is_said_to_be_out_of_reach() -> None:
    assert verdict(0.58, 0.50, 0.4) == "yes"
    assert verdict(0.58, 0.50, 1.0).endswith("by chance")
    assert verdict(0.58, 0.89, 0.54) == "no"
    assert "not with the truth itself" in verdict(0.73, 0.95, 0.97)


@pytest.mark.slow
def test_a_humanoid_walks_the_circle_with_the_load_of_the_truth() -> None:
    task = tasks()["humanoid"]
    truth = true_world(load_robot("g1"), CASES["humanoid"].setting()[1])
    error = task.errors(truth, np.array([task.guess, 0.2 * task.guess]))
    # The mean of 0.2 m/s and half of 0.33 rad/s would be 0.36 off if it stood.
    assert 0.0 < error[0] < 0.15 < error[1] < FALLEN, "a fifth of what is asked is too slow"


def test_realised_errors_are_set_against_what_was_promised(tmp_path: Path) -> None:
    rng, records = np.random.default_rng(1), tmp_path / "records.jsonl"
    sizes = {"errors": 1.0, "chance": 2.0}
    with records.open("w", encoding="utf-8") as file:
        for seed in range(1, 41):
            for plan, size in sizes.items():
                key = {"seed": seed, "plan": plan, "duration": 8.0, "draws": 24, "iterations": 5}
                row = {name: (size * rng.standard_normal(len(NAMES))).tolist() for name in ("first", "errors")}
                same = {name: [1.0] * len(NAMES) for name in ("now", "promised", "claimed")}
                found = {**row, **same, "gaits": ["trot"]}
                if seed == 40 and plan == "chance":
                    found = {"failed": "chance: the robot falls"}
                file.write(json.dumps({"key": key, "found": found}) + "\n")
    arguments = ["--seeds", "40", "--plans", *sizes, "--records", str(records), "--dirty", "--out", str(tmp_path)]
    assert exploration_realised.main(arguments) == 0
    text = only_report(tmp_path)
    assert "39 of 40 robots. seed 40: chance: the robot falls." in text
    (mean,) = (line for line in text.splitlines() if line.startswith("| geometric mean"))
    assert float(mean.split("|")[2]) == pytest.approx(0.25, rel=0.3)
    (middle,) = (line for line in text.splitlines() if line.startswith("| the same, of the median robot"))
    assert float(middle.split("|")[2]) == pytest.approx(0.25, rel=0.6), "of 39 robots"
    assert "| the same, as promised | 1.00 |" in text
    assert "Of 507 that are stated afterwards 507 are within a factor of 1.5 of it" in text
    (whole,) = (line for line in text.splitlines() if line.startswith("| all |"))
    assert [float(cell) for cell in whole.split("|")[2:4]] == pytest.approx([1.0, 2.0], rel=0.1)
    (within,) = (line for line in text.splitlines() if line.startswith("| root mean square of all"))
    assert [float(cell) for cell in within.split("|")[2:5]] == pytest.approx([1.0, 1.0, 2.0], rel=0.1)
    held = [line.split("|")[2:5] for line in text.splitlines() if " of 39" in line]
    shares = np.array([[int(cell.split()[0]) / 39 for cell in row] for row in held])
    assert shares.mean(axis=0) == pytest.approx([0.95, 0.95, 0.673], abs=0.08), "390 errors each, of normal ones"
    (ratio,) = (line for line in text.splitlines() if line.startswith("| median"))
    assert [float(word) for word in ratio.split("|")[2:4]] == pytest.approx([1.0, 2.0], rel=0.15)


def test_errors_are_counted_in_what_is_asked_and_a_strength_by_the_torque_that_it_takes() -> None:
    truth = dict.fromkeys(NAMES, 25.0)
    found = in_units(np.array([5.0, *[0.02] * 3, *[2.5] * 3, *[-2.5] * 3, 175.0, 25.0, -5.0]), truth)
    assert found == pytest.approx(
        [1.0, *[2.0] * 3, *[0.5] * 3, *[-1 / 3] * 3, -63 / 64 / 0.4, -0.75 / 0.4, 0.5625 / 0.4]
    )


def test_a_log_that_is_too_short_is_refused_in_words_and_others_are_counted(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    found = {"status": "partial", "held": [True, False], "off": [0.5, 2.5], "mass": -0.01, "says": ""}
    records.write_text(json.dumps({"key": {"case": "fall", "seed": 1}, "found": found}) + "\n", encoding="utf-8")
    arguments = ["--cases", "fall", "short", "--records", str(records), "--dirty", "--out", str(tmp_path)]
    assert sampling_faults.main(arguments) == 0
    text = only_report(tmp_path)
    assert "| fall | 1 | partial | 1 of 2 | 2.5 | -1.00 % | - |" in text
    (line,) = (line for line in text.splitlines() if line.startswith("| short"))
    assert "refused" in line and "0.5 s are needed" in line


@pytest.mark.slow
@pytest.mark.parametrize("case", ["motion capture lost", "weak"])
def test_what_is_wrong_is_said(case: str) -> None:
    found = sampling_faults.trial(case=case, seed=1)
    if case == "weak":
        assert found["status"] == "unfit" and "fall" in found["says"]
    else:
        assert "motion capture" in found["says"] and "repeat the one before" in found["says"]
        assert sum(found["held"]) >= len(found["held"]) - 1, "95 % of them hold the truth"


@pytest.mark.slow
def test_a_log_tells_by_what_law_gears_rub() -> None:
    """LuGre's bristles are none of the laws that are fitted; Dahl's are the next to them."""
    found = sampling_truth.trial(seed=1, case="sticking", method="gauss_newton", duration=10.0)
    values, truth = found["values"], found["truth"]
    assert values["bristle_friction"] > 0.06
    assert values["dry_friction"] + values["holding_friction"] < 0.03
    stated = [(*found["stated"][name], truth[name]) for name in sampling_truth.TARGETS]
    held = [lower <= true <= upper for lower, upper, true in stated if lower is not None]
    assert len(held) >= 9 and sum(held) >= len(held) - 1, "95 % of them hold the truth"


@pytest.mark.slow
def test_sampling_peers(tmp_path: Path) -> None:
    methods = ["release", "mujoco.sysid"]
    arguments = ["--seeds", "1", "--duration", "3", "--methods", *methods, "--dirty", "--out", str(tmp_path)]
    assert sampling_peers.main(arguments) == 0
    text = only_report(tmp_path)
    assert "| release |" in text and "nan" not in text


@pytest.mark.slow
def test_sampling_scaling(tmp_path: Path) -> None:
    assert sampling_scaling.main(["--calls", "1", "--dirty", "--out", str(tmp_path)]) == 0
    assert "| 2 processes |" in only_report(tmp_path)
