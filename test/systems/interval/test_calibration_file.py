# SPDX-License-Identifier: Apache-2.0
"""calibration.json: whole or not at all, and nothing that is not one is taken for one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_nodes.exceptions import CalibrationError, ConfigError
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.systems.interval.calibration_file import (
    BAYESIAN,
    CALIBRATION_METHODS,
    Calibration,
    joint_placements,
    load_calibration,
    save_calibration,
)
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("ur10")


@pytest.fixture
def calibration(robot: Robot) -> Calibration:
    """Made-up numbers with every bit in use."""
    rng = np.random.default_rng(0)
    n, m = robot.n, 4
    middle, half = rng.normal(size=15 * n), rng.uniform(0.0, 1.0, 15 * n)
    half[:5] = 0.0
    return Calibration(
        robot=robot.name,
        joints=robot.joint_names,
        placements=joint_placements(robot),
        estimate=middle,
        prediction=rng.normal(size=16 * n),
        transmitted=None,
        least_squares=rng.normal(size=15 * n),
        viscous_power=np.ones(n),
        lower=middle - half,
        upper=middle + half,
        rows=rng.normal(size=(m, 15 * n)),
        rows_radius=rng.uniform(size=m),
        belief=Belief(
            *(rng.normal(size=shape) for shape in ((16 * n,), (16 * n, 16 * n), (16 * n,), (16 * n, 16 * n)))
        ),
        torque_absolute=rng.uniform(size=n),
        margin=1.5,
        residual_rms=rng.uniform(size=n),
        window=0.25,
        noise_model="window",
        source=("bags/first", "bags/second"),
        sum_shares={4: rng.uniform(size=n), 16: rng.uniform(size=n)},
    )


def test_every_bit_comes_back(calibration: Calibration, tmp_path: Path) -> None:
    save_calibration(calibration, tmp_path / "new" / "calibration.json")
    back = load_calibration(tmp_path / "new" / "calibration.json")
    for field in fields(Calibration):
        if field.name not in ("belief", "sum_shares"):
            np.testing.assert_array_equal(getattr(back, field.name), getattr(calibration, field.name))
    assert list(back.sum_shares) == [4, 16]
    for count, share in calibration.sum_shares.items():
        np.testing.assert_array_equal(back.sum_shares[count], share)
    for field in fields(Belief):
        np.testing.assert_array_equal(getattr(back.belief, field.name), getattr(calibration.belief, field.name))
    assert [item.name for item in (tmp_path / "new").iterdir()] == ["calibration.json"]


def test_load_friction_comes_back_with_what_it_is_a_share_of(calibration: Calibration, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    wider = {name: np.concatenate([getattr(calibration, name), np.full(6, x)]) for name, x in
             (("estimate", 0.05), ("lower", 0.0), ("upper", 0.1))}  # fmt: skip
    drives = TransmittedTorque(*rng.normal(size=(4, 6)), np.ones(6))
    rows = np.hstack([calibration.rows, rng.normal(size=(4, 6))])
    save_calibration(replace(calibration, **wider, rows=rows, transmitted=drives), tmp_path / "c.json")
    back = load_calibration(tmp_path / "c.json")
    assert back.transmitted is not None
    for field in fields(TransmittedTorque):
        np.testing.assert_array_equal(getattr(back.transmitted, field.name), getattr(drives, field.name))
    save_calibration(replace(calibration, transmitted=drives), tmp_path / "c.json")
    with pytest.raises(CalibrationError, match="load friction and transmitted torque belong together"):
        load_calibration(tmp_path / "c.json")


@pytest.mark.parametrize("method", CALIBRATION_METHODS)
def test_what_older_versions_would_call_proven_has_a_schema_that_they_refuse(
    calibration: Calibration, tmp_path: Path, method: str
) -> None:
    save_calibration(replace(calibration, method=method), tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text())["schema"] == (4 if method == BAYESIAN else 3)
    assert load_calibration(tmp_path / "c.json").method == method


def test_a_law_of_friction_that_older_versions_do_not_know_has_a_schema_that_they_refuse(
    calibration: Calibration, tmp_path: Path
) -> None:
    power = np.array([0.6, 0.7, 1.0, 1.0, 1.0, 1.0])
    save_calibration(replace(calibration, viscous_power=power), tmp_path / "c.json")
    tree = json.loads((tmp_path / "c.json").read_text())
    assert tree["schema"] == 5
    np.testing.assert_array_equal(load_calibration(tmp_path / "c.json").viscous_power, power)
    (tmp_path / "c.json").write_text(json.dumps(tree | {"viscous_power": [0.0] * 6}))
    with pytest.raises(CalibrationError, match="viscous_power is not positive"):
        load_calibration(tmp_path / "c.json")


def test_a_calibration_is_never_written_over_a_device(calibration: Calibration, tmp_path: Path) -> None:
    """As root a rename would replace it."""
    os.mkfifo(tmp_path / "device")
    with pytest.raises(CalibrationError, match="device: exists and is not a file"):
        save_calibration(calibration, tmp_path / "device")
    assert list(tmp_path.iterdir()) == [tmp_path / "device"]


def test_what_cannot_be_written_leaves_nothing(
    calibration: Calibration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(path: Path, text: str, **_: object) -> None:
        path.write_bytes(text[:100].encode())
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fill)
    with pytest.raises(CalibrationError, match=r"c.json: cannot write: No space left on device"):
        save_calibration(calibration, tmp_path / "c.json")
    assert not list(tmp_path.iterdir())


def test_no_rows_is_a_calibration(calibration: Calibration, tmp_path: Path) -> None:
    bare = replace(calibration, rows=calibration.rows[:0], rows_radius=calibration.rows_radius[:0])
    save_calibration(bare, tmp_path / "c.json")
    assert load_calibration(tmp_path / "c.json").rows.shape == (0, 90)


def test_the_box_contains_both_ends(calibration: Calibration) -> None:
    assert (calibration.centre - calibration.radius <= calibration.lower).all()
    assert (calibration.centre + calibration.radius >= calibration.upper).all()
    np.testing.assert_array_equal(calibration.radius[:5], 0.0)


def test_a_number_that_is_not_finite_is_never_written(calibration: Calibration, tmp_path: Path) -> None:
    save_calibration(calibration, tmp_path / "c.json")
    before = (tmp_path / "c.json").read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        save_calibration(replace(calibration, rows_radius=np.full(4, np.nan)), tmp_path / "c.json")
    assert (tmp_path / "c.json").read_bytes() == before


def without(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda tree: {name: value for name, value in tree.items() if name != key}


def with_(key: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda tree: tree | {key: value}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: [], "not a calibration file"),
        (lambda _: {"schema": 1, "pipeline": "interval_identifier"}, "not a calibration file"),
        (with_("schema", 1), "has schema 1, this version reads 3 to 6; calibrate again"),
        (without("schema"), "has schema None, this version reads 3 to 6; calibrate again"),
        (lambda tree: without("method")(tree | {"schema": 4}), "damaged: no 'method'"),
        (without("belief"), "damaged: no 'belief'"),
        (without("margin"), "damaged: no 'margin'"),
        (with_("margin", None), "damaged: .*NoneType.*"),
        (with_("estimate", [0.0] * 80), "damaged: estimate has 80 numbers, not 90 or 96"),
            (with_("lower", [0.0] * 89), r"damaged: lower has shape \(89,\), not \(90,\)"),
        (with_("rows", []), r"damaged: rows has shape \(0,\), not \(4, 90\)"),
        (with_("rows_radius", "wide"), r"damaged: .*"),
        (with_("rows_radius", 3), r"damaged: .*"),
        (with_("rows_radius", [1.0, 1.0, 1.0, -1.0]), "damaged: rows_radius holds a negative number"),
        (with_("torque_absolute", [0.1] * 5 + [float("nan")]), "damaged: torque_absolute holds a number .* not finite"),
        (with_("torque_absolute", [0.1] * 5 + [float("inf")]), "damaged: torque_absolute holds a number .* not finite"),
        (with_("upper", [-99.0] * 90), "damaged: a lower end is above its upper end"),
        (with_("joints", []), r"damaged: estimate has 90 numbers, not 0 or 0"),
        (with_("joints", None), "damaged: .*"),
    ],
)  # fmt: skip
def test_what_is_no_calibration_is_named(
    calibration: Calibration, tmp_path: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    path = tmp_path / "c.json"
    save_calibration(calibration, path)
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(CalibrationError, match=f"^{path}: {message}$"):
        load_calibration(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not valid JSON: .*"),
        (b'{"schema": 2, "ki', "not valid JSON: .*"),
        (b"\xff\xfe\x00", "not valid JSON: .*"),
    ],
)
def test_half_a_file_is_no_calibration(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "c.json").write_bytes(text)
    with pytest.raises(CalibrationError, match=message):
        load_calibration(tmp_path / "c.json")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="No such file"):
        load_calibration(tmp_path / "c.json")
    with pytest.raises(CalibrationError, match="Is a directory"):
        load_calibration(tmp_path)


def test_a_calibration_of_another_robot(calibration: Calibration, robot: Robot) -> None:
    calibration.check(robot, 0.25, "window")
    with pytest.raises(
        CalibrationError, match=r"^calibration is for joints shoulder_pan_joint, .*; the robot has joint_1"
    ):
        calibration.check(load_robot("kinova_gen3"), 0.25, "window")
    # The arms of one maker share the names of their joints.
    smaller = calibration.placements.copy()
    smaller[2, :3] *= 0.7
    with pytest.raises(CalibrationError, match="whose elbow_joint sit elsewhere on their links than those of robot"):
        replace(calibration, placements=smaller).check(robot, 0.25, "window")


@pytest.mark.parametrize(("window", "model"), [(0.1, "window"), (0.5, "window"), (0.25, "itemised")])
def test_a_bound_on_other_errors(calibration: Calibration, robot: Robot, window: float, model: str) -> None:
    line = f"for windows of 0.25 s and noise model window, not for {window:g} s and {model}; calibrate with the same"
    with pytest.raises(CalibrationError, match=line):
        calibration.check(robot, window, model)


def test_a_calibrated_robot_identifies_payloads_only(calibration: Calibration, robot: Robot, tmp_path: Path) -> None:
    save_calibration(calibration, tmp_path / "c.json")
    plain = IntervalIdentifierConfig()
    config = replace(
        plain,
        robot="ur10",
        calibration=str(tmp_path / "c.json"),
        window=replace(plain.window, duration=0.25),
        noise=replace(plain.noise, model="window"),
    )
    with pytest.raises(ConfigError, match="set target to payload"):
        IntervalPipeline(robot, config)
