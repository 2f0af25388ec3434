# SPDX-License-Identifier: Apache-2.0
"""Torques of real arms, predicted in runs that the identification has not seen, beside ordinary least squares.

UR10e: six runs of 30 s in which one joint after the other moves tell friction; the torques of a run through ten points
nine days before, and of holding still at each of them, are predicted. Gen3: each of three logs of the joints' torque
sensors predicts the other two. A prior that knows nothing of rotors is given a log of either side of the gears: the
rotors' inertia tells which it is. Panda: each fifth of a log of 14 s is predicted from the rest of it. Least squares
has links, friction, rotors and offsets of all joints, either unknown altogether or with the description's links; errors
are root mean squares [N m]. The logs are not part of the project; without them this says so and does nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.real_arm_logs import UR10E_DRIVES
from benchmarks.report import Report, parser
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.stribeck import viscous_curve
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.robots import MotorConstants, Robot, load_robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.systems.bayesian import BayesianConfig, Grid, MechanismLog, Series, mechanism_log
from sysid_nodes.systems.bayesian.arm_posterior import arm_prior, identify_arm
from sysid_nodes.systems.bayesian.config import HUBER, DrivePriorConfig
from sysid_nodes.systems.bayesian.initial_motion import differences, initial_positions
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, build_mechanism
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

Array = npt.NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
_STEP = 0.03  # [s]
_ROUNDS = 4  # of the noise's estimation
_RANK = 1e-8
_FIFTHS = 5
_SECONDS = 30.0  # of each joint-wise run
_NOMINAL, _LINKS, _SEEN, _OURS = "description", "least squares, links of the description", "least squares", "ours"


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
        return cls(arm, x, {name: arm.least_squares(runs, bodies=name == _SEEN) for name in (_LINKS, _SEEN)})

    def errors(self, run: JointSamples) -> dict[str, Array]:
        """(K, n) of a run's predicted torques [N m], by method."""
        mechanism, log, x = self.arm.mechanism(), self.arm.log(run), self.x
        own, motion = mechanism.parameters, _motion(mechanism, log)
        rigid, joint = _regressors(mechanism, motion)
        found = {_NOMINAL: rigid @ own.inertia(own.mean).ravel()}
        rows = np.concatenate([rigid, joint], axis=2)
        found |= {name: rows @ solution for name, solution in self.solutions.items()}
        prompt, t = own.constants(x, "gain") * mechanism.torque(motion, x) + own.constants(x, "offset"), log.t[1:-1]
        lags = own.constants(x, "delay")
        found[_OURS] = np.stack([np.interp(t - lag, t, tau) for lag, tau in zip(lags, prompt.T, strict=True)], axis=1)
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
    return Arm.of(_ur10e(folder), config, runs)


def ur10e_run(folder: Path, name: str) -> JointSamples:
    """A run: "joint 1" to "joint 6", in which one moves, "ptp" through ten points, or "unloaded"."""
    if name.startswith("joint"):
        path = folder / "jointwise_motion" / f"ur-20_01_22-{name.replace(' ', '_')}.csv"
        return _first(_table(_ur10e(folder), path), _SECONDS)
    path = folder / "validation" / "ur-20_01_17-ptp_10_points.csv" if name == "ptp" else folder / f"{name}.csv"
    return _table(_ur10e(folder), path)


def _ur10e(folder: Path) -> Robot:
    return load_robot("urdf", urdf=folder / "ur10e.urdf")


def ur10e(folder: Path, report: Report) -> None:
    """Friction from joint-wise runs."""
    robot = _ur10e(folder)
    runs = [ur10e_run(folder, f"joint {k}") for k in range(1, 7)]
    arm = ur10e_arm(folder, runs)
    result = arm.identify(runs)
    report.section("UR10e: friction from joint-wise runs")
    _tell(report, result)
    friction = [row for row in result.parameters if row.group == "friction"]
    report.table(
        ("", "mean", "sigma", "prior sigma", ""),
        [(row.name, f"{row.mean:.2f}", f"{row.sigma:.2f}", f"{row.prior_sigma:.2f}", row.verdict) for row in friction],
    )
    moving = ur10e_run(folder, "ptp")
    still = [_table(robot, folder / "validation" / f"ur-20_01_17-p{k}.csv") for k in range(1, 11)]
    report.text("Through ten points, whole run, and holding still at each of them.")
    fits = Fits.of(arm, result, runs)
    _compare(report, robot, {"moving": fits.errors(moving)})
    each = [fits.errors(run) for run in still]
    _compare(report, robot, {"still": {name: np.concatenate([one[name] for one in each]) for name in each[0]}})


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
    return _kinova(robot, folder / f"joint_sensor_{number}.npz", -1.0)


def gen3(folder: Path, report: Report) -> None:
    """One log predicts another, and the side of the gears is told apart."""
    arm = gen3_arm()
    robot, config = arm.robot, arm.config
    logs = [gen3_run(robot, folder, k) for k in (1, 2, 3)]
    report.section("Gen3: one log predicts another")
    for k, log in enumerate(logs):
        result = arm.identify([log])
        report.text(f"Fitted on log {k + 1}.")
        _tell(report, result)
        others = [j for j in range(3) if j != k]
        fits = Fits.of(arm, result, [log])
        _compare(report, robot, {f"log {j + 1}": fits.errors(logs[j]) for j in others})
    report.section("Gen3: which side of the gears")
    report.text(
        "Rotors' inertia [kg m2] and its 95 % interval, the prior's sigma being 5 for all, by joint. Torques may be "
        "late by some tenths of a second, and a robust loss weighs positions, whose stamps are not even."
    )
    wide = replace(
        config,
        friction=replace(config.friction, coulomb_sigma=5.0, viscous_sigma=10.0),
        drive=replace(config.drive, armature_sigma=5.0, delay_sigma=0.1),
        noise=replace(config.noise, loss=HUBER),
    )
    rows = []
    for name, sign in (("joint_sensor_1", -1.0), ("motor_side_2", 1.0)):
        result = Arm(robot, np.ones(robot.n), wide).identify([_kinova(robot, folder / f"{name}.npz", sign)])
        found = [row for row in result.parameters if row.name.endswith(".armature")]
        told = [f"{row.mean:.2f} ({row.lower:.2f} to {row.upper:.2f})" for row in found]
        rows.append((f"{name}, {result.status.name}", *told))
    report.table(("log", *robot.joint_names), rows)


def panda_arm() -> Arm:
    """The Panda with the prior of its configuration."""
    found = load_yaml(BayesianSessionConfig, ROOT / "config" / "panda_bayesian.yaml").bayesian
    noise, search = replace(found.noise, rounds=_ROUNDS), replace(found.search, starts=1)
    robot = load_robot("panda")
    none = np.zeros(robot.n)
    robot = replace(robot, motor=MotorConstants(none, none, none, none))
    return Arm(robot, np.ones(robot.n), replace(found, step=_STEP, held_out=0.0, noise=noise, search=search))


def panda(folder: Path, report: Report) -> None:
    """Each fifth of a log from the others: one of them alone has few errors that are independent."""
    arm = panda_arm()
    run = _kinova(arm.robot, folder / "panda_first70.npz", 1.0)
    ends = np.linspace(0, len(run.t), _FIFTHS + 1).astype(int)
    report.section("Panda: a fifth from the others")
    squares, statuses = dict[str, list[Array]](), list[str]()
    for first, last in pairwise(ends.tolist()):
        parts = [run.slice(a, b) for a, b in ((0, first), (last, len(run.t))) if b > a]
        parts.sort(key=lambda part: -len(part.t))  # what begins short takes noise for motion
        result = arm.identify(parts)
        statuses.append(result.status.name)
        errors = Fits.of(arm, result, parts).errors(run.slice(first, last))
        for name, error in errors.items():
            squares.setdefault(name, []).append(np.mean(error**2, axis=0))
    report.text(f"{', '.join(statuses)}. All fifths together, and in how many of them ours is nearer.")
    rows = [(name, *(f"{v:.3f}" for v in np.sqrt(np.mean(each, axis=0)))) for name, each in squares.items()]
    for other in (_LINKS, _SEEN):
        won = np.sum(np.array(squares[_OURS]) < np.array(squares[other]), axis=0)
        rows.append((f"ours nearer than {other}", *(f"{k} of {_FIFTHS}" for k in won)))
    report.table(("", *arm.robot.joint_names), rows)


def _tell(report: Report, result: BayesianResult) -> None:
    report.text(f"{result.status.name}, {result.stages} stages. " + " ".join(f"{text}." for text in result.findings))


def _compare(report: Report, robot: Robot, found: dict[str, dict[str, Array]]) -> None:
    rows = []
    for run, errors in found.items():
        for name, error in errors.items():
            rows.append((f"{run}, {name}", *(f"{value:.2f}" for value in np.sqrt(np.mean(error**2, axis=0)))))
    report.table(("", *robot.joint_names), rows)


def _table(robot: Robot, path: Path) -> JointSamples:
    table = np.genfromtxt(path, delimiter=",", usecols=range(19))
    table = table[np.concatenate([[True], np.diff(np.maximum.accumulate(table[:, 0])) > 0.0])]
    return JointSamples(
        robot.joint_names, table[:, 0], table[:, 1:7], table[:, 7:13], table[:, 13:19] * UR10E_DRIVES
    )  # fmt: skip


def _first(run: JointSamples, seconds: float) -> JointSamples:
    return run.slice(0, int(np.searchsorted(run.t, run.t[0] + seconds)))


def _kinova(robot: Robot, path: Path, sign: float) -> JointSamples:
    with np.load(path) as log:
        return JointSamples(robot.joint_names, log["t"], np.unwrap(log["q"], axis=0), log["qd"], sign * log["tau"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_real", __doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the logs")
    args = options.parse_args(arguments)
    if not args.data.is_dir():
        sys.stdout.write(f"no logs under {args.data}; nothing was measured\n")
        return 0
    report = Report("bayesian-real", "Torques of real arms, predicted", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    ur10e(args.data / "ur10e_payload", report)
    gen3(args.data / "kinova_gen3_real", report)
    panda(args.data / "panda_excitation", report)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
