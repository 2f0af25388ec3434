# SPDX-License-Identifier: Apache-2.0
"""Real arms, their logs and priors, and how a posterior and ordinary least squares predict torques."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.real_arm_logs import UR10E_DRIVES
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.stribeck import viscous_curve
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.systems.bayesian import BayesianConfig, Grid, MechanismLog, Series, mechanism_log
from sysid_nodes.systems.bayesian.arm_posterior import arm_prior, identify_arm
from sysid_nodes.systems.bayesian.config import DrivePriorConfig
from sysid_nodes.systems.bayesian.initial_motion import differences, initial_positions
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, build_mechanism
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

Array = npt.NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
_STEP = 0.03  # [s]
_ROUNDS = 4  # of the noise's estimation
_RANK = 1e-8
_SECONDS = 30.0  # of each joint-wise run
NOMINAL, LINKS, SEEN, OURS = "description", "least squares, links of the description", "least squares", "ours"


@dataclass(frozen=True)
class Arm:
    """Attributes: robot, with the prior's means; gain (n,) from readings to torques; config, of the identification."""

    robot: Robot
    gain: Array
    config: BayesianConfig

    @classmethod
    def of(cls, robot: Robot, config: IntervalIdentifierConfig, runs: Sequence[JointSamples]) -> Arm:
        """With the prior that `known_robot` states."""
        prior, found = arm_prior(robot, config.known_robot, runs)
        noise, search = replace(found.noise, rounds=_ROUNDS), replace(found.search, starts=1)
        gain = np.broadcast_to(config.known_robot.gain, robot.n)
        return cls(prior, np.asarray(gain), replace(found, step=_STEP, noise=noise, search=search))

    def mechanism(self) -> Mechanism:
        """With the constants' layout."""
        return build_mechanism(self.robot, self.config, power=False)

    def log(self, run: JointSamples) -> MechanismLog:
        """On the identification's grid."""
        return mechanism_log(Series(run.t, run.q), Series(run.t, self.gain * run.tau), None, Grid.over(run.t, _STEP))

    def identify(self, runs: Sequence[JointSamples]) -> BayesianResult:
        """The posterior of all runs."""
        return identify_arm(self.robot, self.gain, runs, self.config)[0]

    def least_squares(self, runs: Sequence[JointSamples], *, bodies: bool) -> Array:
        """Joints' constants, after the links' where those are unknown."""
        mechanism, left, right = self.mechanism(), [], []
        nominal = mechanism.robot.inertial_parameters().ravel()
        for run in runs:
            log = self.log(run)
            inside = np.all(np.isfinite(log.torque[1:-1]), axis=1)
            rigid, joint = (part[inside] for part in _regressors(mechanism, _motion(mechanism, log)))
            torque = log.torque[1:-1][inside]
            left.append(np.concatenate([rigid, joint], axis=2) if bodies else joint)
            right.append(torque if bodies else torque - rigid @ nominal)
        rows = np.concatenate(left)
        solution = np.linalg.lstsq(rows.reshape(-1, rows.shape[2]), np.concatenate(right).ravel(), rcond=_RANK)[0]
        return np.asarray(solution if bodies else np.concatenate([nominal, solution]))


@dataclass(frozen=True)
class Fits:
    """Attributes: arm; x, the posterior's constants; solutions, of least squares on the same runs, by name."""

    arm: Arm
    x: Array
    solutions: dict[str, Array]

    @classmethod
    def of(cls, arm: Arm, result: BayesianResult, runs: Sequence[JointSamples]) -> Fits:
        own = arm.mechanism().parameters
        x = own.mean.copy()
        x[own.free] = result.theta
        return cls(arm, x, {name: arm.least_squares(runs, bodies=name == SEEN) for name in (LINKS, SEEN)})

    def errors(self, run: JointSamples) -> dict[str, Array]:
        """(K, n) of a run's predicted torques [N m], by method."""
        mechanism, log, x = self.arm.mechanism(), self.arm.log(run), self.x
        own, motion = mechanism.parameters, _motion(mechanism, log)
        rigid, joint = _regressors(mechanism, motion)
        found = {NOMINAL: rigid @ own.inertia(own.mean).ravel()}
        rows = np.concatenate([rigid, joint], axis=2)
        found |= {name: rows @ solution for name, solution in self.solutions.items()}
        prompt, t = own.constants(x, "gain") * mechanism.torque(motion, x) + own.constants(x, "offset"), log.t[1:-1]
        lags = own.constants(x, "delay")
        found[OURS] = np.stack([np.interp(t - lag, t, tau) for lag, tau in zip(lags, prompt.T, strict=True)], axis=1)
        inside = np.all(np.isfinite(log.torque[1:-1]), axis=1)
        return {name: (value - log.torque[1:-1])[inside] for name, value in found.items()}


def _motion(mechanism: Mechanism, log: MechanismLog) -> Motion:
    q, v, a = differences(initial_positions(mechanism, log), log.step)
    return Motion(q, v, a, np.zeros((len(q), 0)))


def _regressors(mechanism: Mechanism, motion: Motion) -> tuple[Array, Array]:
    """(K, n, 10 n) of rigid bodies, (K, n, 4 n) of each joint's dry and viscous friction, rotor and offset."""
    n, own = mechanism.chain.n, mechanism.parameters
    turned = np.tanh(motion.v / np.exp(own.mean[own.joint("turning_speed")]))
    joint = np.zeros((len(motion.q), n, 4 * n))
    dragged = viscous_curve(motion.v, own.viscous_power)
    for k, column in enumerate((turned, dragged, motion.a, np.ones_like(motion.v))):
        joint[:, np.arange(n), k * n + np.arange(n)] = column
    return standard_regressor(mechanism.chain, motion.q, motion.v, motion.a), joint


def ur10e_arm(folder: Path, runs: Sequence[JointSamples]) -> Arm:
    """The UR10e with the prior of its configuration."""
    config = load_yaml(IntervalIdentifierConfig, ROOT / "config" / "ur10e.yaml")
    return Arm.of(ur10e_robot(folder), config, runs)


def ur10e_run(folder: Path, name: str) -> JointSamples:
    """A run: "joint 1" to "joint 6", in which one moves, "ptp" through ten points, or "unloaded"."""
    if name.startswith("joint"):
        path = folder / "jointwise_motion" / f"ur-20_01_22-{name.replace(' ', '_')}.csv"
        return first_seconds(ur10e_table(ur10e_robot(folder), path), _SECONDS)
    path = folder / "validation" / "ur-20_01_17-ptp_10_points.csv" if name == "ptp" else folder / f"{name}.csv"
    return ur10e_table(ur10e_robot(folder), path)


def ur10e_robot(folder: Path) -> Robot:
    """As its description has it."""
    return load_robot("urdf", urdf=folder / "ur10e.urdf")


def gen3_arm() -> Arm:
    """The Gen3 with a prior that knows its torque sensors to be behind the gears."""
    bare = load_robot("kinova_gen3", variant="bare")
    none = np.zeros(bare.n)
    robot = replace(bare, motor=MotorConstants(none, none, none, none))
    usual = BayesianConfig()
    config = replace(
        usual,
        step=_STEP,
        held_out=0.0,
        friction=replace(usual.friction, coulomb_sigma=2.0, viscous_sigma=2.0, turning_speed=0.05),
        drive=DrivePriorConfig(armature_sigma=0.3, offset_sigma=3.0, delay_sigma=0.02),
        noise=replace(usual.noise, rounds=_ROUNDS),
        search=replace(usual.search, starts=1),
    )
    return Arm(robot, np.ones(robot.n), config)


def gen3_run(robot: Robot, folder: Path, number: int) -> JointSamples:
    """A log of its torque sensors, 1 to 3."""
    return kinova_run(robot, folder / f"joint_sensor_{number}.npz", -1.0)


def panda_arm() -> Arm:
    """The Panda with the prior of its configuration."""
    found = load_yaml(BayesianSessionConfig, ROOT / "config" / "panda_bayesian.yaml").bayesian
    noise, search = replace(found.noise, rounds=_ROUNDS), replace(found.search, starts=1)
    robot = load_robot("panda")
    none = np.zeros(robot.n)
    robot = replace(robot, motor=MotorConstants(none, none, none, none))
    return Arm(robot, np.ones(robot.n), replace(found, step=_STEP, held_out=0.0, noise=noise, search=search))


def ur10e_table(robot: Robot, path: Path) -> JointSamples:
    """A run, its readings of currents taken for torques."""
    table = np.genfromtxt(path, delimiter=",", usecols=range(19))
    table = table[np.concatenate([[True], np.diff(np.maximum.accumulate(table[:, 0])) > 0.0])]
    return JointSamples(
        robot.joint_names, table[:, 0], table[:, 1:7], table[:, 7:13], table[:, 13:19] * UR10E_DRIVES
    )  # fmt: skip


def first_seconds(run: JointSamples, seconds: float) -> JointSamples:
    """Of a run."""
    return run.slice(0, int(np.searchsorted(run.t, run.t[0] + seconds)))


def kinova_run(robot: Robot, path: Path, sign: float) -> JointSamples:
    """A log, its torques times a sign."""
    with np.load(path) as log:
        return JointSamples(robot.joint_names, log["t"], np.unwrap(log["q"], axis=0), log["qd"], sign * log["tau"])
