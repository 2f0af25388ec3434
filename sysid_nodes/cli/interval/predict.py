# SPDX-License-Identifier: Apache-2.0
"""sysid predict of an arm: by a calibration, a result, or a URDF."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.cli.interval.configuration import load
from sysid_nodes.cli.interval.samples import read_samples
from sysid_nodes.cli.prediction import conclude
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.reports.interval.schema import validate_interval
from sysid_nodes.reports.prediction import MODEL
from sysid_nodes.robots import Robot
from sysid_nodes.systems.interval.calibration_file import Calibration, load_calibration
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.torque_models import compare_torque, description_parameters, stated_parameters
from sysid_nodes.systems.interval.unknowns import identify_payload

Array = npt.NDArray[np.float64]


def run(args: argparse.Namespace, document: dict[str, Any] | None) -> int:
    """Predicts by a calibration, a result of the interval identifier or, without a document, a URDF."""
    if document is None:
        if args.urdf is not None:
            raise ConfigError("the model is a URDF; leave --urdf out")
        args.urdf = str(args.model)
    arm = load(args, args.bag)
    robot, config = arm.robot, arm.config
    models = _models(robot, config, args.model, document)
    samples = read_samples(robot, config, args.bag, args.topic)
    centre, radius = known_box(robot, config.known_robot)
    body = robot.body_index(config.body)
    coupling = None
    if (calibrated := _calibration_of(args.model, document)) is not None:  # the laws that its numbers mean
        found = _calibration(calibrated, robot, config)
        power, coupling = tuple(float(x) for x in found.viscous_power), found.coupling
        config = replace(config, known_robot=replace(config.known_robot, viscous_power=power))
    rows = run_rows(
        robot, config, Run(samples, 0.0, str(args.bag)),
        identify_payload(robot.n, body, centre, radius, config.prior.bounds), least=1, coupling=coupling,
    )  # fmt: skip
    compared = compare_torque(rows, body, models)
    return conclude(args, compared, robot=robot.name, joints=robot.joint_names, window=config.window.duration)


def _models(
    robot: Robot, config: IntervalIdentifierConfig, path: Path, document: dict[str, Any] | None
) -> dict[str, Array]:
    """Parameters (16 n,) of the model and of those to compare it with."""
    links = description_parameters(robot, config.known_robot)
    if document is None:
        return {MODEL: stated_parameters(robot, config.known_robot), "urdf": links}
    if document.get("kind") == "calibration":
        found = _calibration(path, robot, config)
        plain = np.concatenate([found.least_squares, np.zeros(robot.n)])
        return {MODEL: found.prediction, "urdf": links, "least_squares": plain}
    return {
        MODEL: _identified_parameters(robot, config, validate_interval(document, source=str(path)), path),
        "urdf": links,
    }


def _calibration_of(path: Path, document: dict[str, Any] | None) -> Path | None:
    """The calibration that a model is or rests on."""
    if document is None:
        return None
    if document.get("kind") == "calibration":
        return path
    return Path(document["calibration"]) if document["calibration"] else None


def _calibration(path: Path, robot: Robot, config: IntervalIdentifierConfig) -> Calibration:
    found = load_calibration(path)
    found.check(robot, config.window.duration, config.noise.model)
    return found


def _identified_parameters(
    robot: Robot, config: IntervalIdentifierConfig, document: dict[str, Any], path: Path
) -> Array:
    """(16 n,) the robot with the body that a result found, and the friction and offsets that it estimated along."""
    n = robot.n
    nominal = [row["nominal"] for row in document["parameters"]]
    if None in nominal:
        raise InputError("nothing was identified; there is nothing to predict with", source=str(path))
    if tuple(document["joints"]) != robot.joint_names:
        raise InputError(f"is of joints {', '.join(document['joints'])}, not of this robot's", source=str(path))
    calibrated = document["calibration"]
    if calibrated:
        point = _calibration(Path(calibrated), robot, config).belief.point.copy()
    else:
        point = stated_parameters(robot, config.known_robot)
    body = slice(10 * robot.body_index(document["body"]), 10 * robot.body_index(document["body"]) + 10)
    point[body] = (point[body] if document["target"] == "payload" else 0.0) + np.array(nominal, dtype=np.float64)
    if along := document.get("estimate"):
        for start, name in ((10, "coulomb"), (11, "viscous"), (13, "offset"), (15, "load_friction")):
            point[start * n : (start + 1) * n] = along[name]
    return point
