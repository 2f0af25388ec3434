# SPDX-License-Identifier: Apache-2.0
"""Pairs of logs of real arms: one without payload, and another that is weighed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.signal import savgol_filter

from sysid_nodes.cli.interval.samples import read_samples
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.momentum_rows import MomentumRows

Array = npt.NDArray[np.float64]

_CONFIGS = Path(__file__).resolve().parents[1] / "config"
UR10E_DRIVES = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])
"""Literature gains of the UR10e's drives [N m/A]."""

_SMOOTHING = 0.1
"""Window of the local parabolas that differentiate velocities [s]."""


@dataclass(frozen=True)
class RealArm:
    """Attributes: name of the pair; robot; config; unloaded, the log that calibrates; other, the log that is weighed;
    mass of what it carries [kg].
    """

    name: str
    robot: Robot
    config: IntervalIdentifierConfig
    unloaded: JointSamples
    other: JointSamples
    mass: float

    def with_body(self, theta: Array) -> JointSamples:
        """The other log with the torque of a body theta (10,) at the last link added, by exact dynamics."""
        log, robot = self.other, self.robot
        step = float(np.median(np.diff(log.t)))
        grid = np.arange(log.t[0], log.t[-1], step)
        speed = np.column_stack([np.interp(grid, log.t, column) for column in log.qd.T])
        rate = savgol_filter(speed, max(5, 2 * int(0.5 * _SMOOTHING / step) + 1), 3, deriv=1, delta=step, axis=0)
        qdd = np.column_stack([np.interp(log.t, grid, column) for column in rate.T])
        body = robot.body_index(self.config.body)
        regressor = standard_regressor(Chain.from_robot(robot), log.q, log.qd, qdd)[:, :, 10 * body : 10 * body + 10]
        gain = np.broadcast_to(self.config.known_robot.gain, robot.n)
        return JointSamples(log.names, log.t, log.q, log.qd, log.tau + regressor @ theta / gain)


def real_arms(data: Path) -> list[RealArm]:
    """All pairs; each is weighed in a run that the calibration has not seen."""
    return [*_ur10e(data / "ur10e_payload"), *_gen3(data / "kinova_gen3_real"), _panda(data / "panda_excitation")]


def _ur10e(folder: Path) -> list[RealArm]:
    config = load_yaml(IntervalIdentifierConfig, _CONFIGS / "ur10e.yaml")
    robot = load_robot("urdf", urdf=folder / "ur10e.urdf")
    unloaded, loaded = (
        read_samples(robot, config, folder / name, "/joint_states") for name in ("unloaded_mcap", "loaded_2805g_mcap")
    )
    table = np.genfromtxt(folder / "validation" / "ur-20_01_17-ptp_10_points.csv", delimiter=",")
    table = table[np.concatenate([[True], np.diff(np.maximum.accumulate(table[:, 0])) > 0.0])]
    points = JointSamples(
        robot.joint_names, table[:, 0], table[:, 1:7], table[:, 7:13], table[:, 13:19] * UR10E_DRIVES
    )  # fmt: skip
    return [
        RealArm("UR10e, loaded", robot, config, unloaded, loaded, 2.805),
        RealArm("UR10e, loaded, calibrated on points", robot, config, points, loaded, 2.805),
        RealArm("UR10e, points nine days before", robot, config, unloaded, points, 0.0),
    ]


def _gen3(folder: Path) -> list[RealArm]:
    config = load_yaml(IntervalIdentifierConfig, _CONFIGS / "kinova_gen3.yaml")
    robot = load_robot("kinova_gen3", variant="bare")
    logs = []
    for k in (1, 2, 3):
        with np.load(folder / f"joint_sensor_{k}.npz") as log:
            logs.append(JointSamples(robot.joint_names, log["t"], log["q"], log["qd"], -log["tau"]))
    names = ("Gen3, log 1 by 3", "Gen3, log 2 by 1", "Gen3, log 3 by 2")
    return [RealArm(name, robot, config, logs[k - 1], logs[k], 0.0) for k, name in enumerate(names)]


def _panda(folder: Path) -> RealArm:
    config = load_yaml(IntervalIdentifierConfig, _CONFIGS / "panda.yaml")
    robot = load_robot("panda")
    log = read_samples(robot, config, folder / "panda_first70_mcap", "/joint_states")
    half = int(np.searchsorted(log.t, log.t[0] + 0.5 * (log.t[-1] - log.t[0])))
    return RealArm("Panda, second half", robot, config, log.slice(0, half), log.slice(half, len(log)), 0.0)


def plain_least_squares(arm: RealArm, rows: tuple[MomentumRows, MomentumRows]) -> float:
    """Mass [kg] by ordinary least squares of both logs' windows: links, friction, armature, offsets and the payload."""
    robot = arm.robot
    n, body = robot.n, robot.body_index(arm.config.body)
    gain = np.broadcast_to(arm.config.known_robot.gain, n)
    equations, readings = [], []
    for run, loaded in zip(rows, (0.0, 1.0), strict=True):
        mean = run.coefficients / (run.t[:, 1] - run.t[:, 0])[:, None, None]
        own = loaded * mean[:, :, 10 * body : 10 * body + 10]
        equations.append(np.concatenate([mean[:, :, : 14 * n], own], axis=2).reshape(-1, 14 * n + 10))
        readings.append((-mean[:, np.arange(n), 14 * n + np.arange(n)] * gain).ravel())
    a, b = np.concatenate(equations), np.concatenate(readings)
    scale = np.maximum(np.linalg.norm(a, axis=0), 1e-300)
    return float((np.linalg.lstsq(a / scale, b, rcond=1e-6)[0] / scale)[-10])
