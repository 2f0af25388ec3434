# SPDX-License-Identifier: Apache-2.0
"""A bare arm from what `known_robot` states of it: the same premises that other methods of calibration begin with.

What is stated are intervals. A Gaussian with half of one as its sigma takes their place, the widest of all joints'
where a prior has one number for all. With the spread of a number anywhere within, constants that are all at an end of
what is stated, as rotors of a data sheet where torques are read behind the gears, would be 1.7 sigmas off each and be
called a contradiction together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import give_extent, parameters_to_log_cholesky
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box, per_joint
from sysid_nodes.results.arm_constants import ArmConstants
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.robots import MotorConstants, Robot
from sysid_nodes.systems.bayesian.config import BayesianConfig, DrivePriorConfig, FrictionPriorConfig
from sysid_nodes.systems.bayesian.descent import Progress
from sysid_nodes.systems.bayesian.identify import identify, identify_further
from sysid_nodes.systems.bayesian.log import Grid, MechanismLog, Series, mechanism_log
from sysid_nodes.systems.bayesian.mechanism import build_mechanism

Array = npt.NDArray[np.float64]

_READINGS = 2.0  # a stage is the mean of as many, so that jitter of their stamps leaves few empty
_FASTEST = 0.01  # [s] step of quick readings
_VAGUE = 0.5  # sigma of sizes, relative, that says next to nothing
_LEAST = 1e-6  # sigma of what is stated as known where a prior must have one


def arm_prior(robot: Robot, known: KnownRobotConfig, runs: Sequence[JointSamples]) -> tuple[Robot, BayesianConfig]:
    """The robot with the stated constants, and the identification with a prior as wide as what is stated.

    Raises:
        ConfigError: a list does not fit the joints.
    """
    n = robot.n
    centre, radius = known_box(robot, known)
    sigma = radius[10 * n :].reshape(5, n).max(axis=1)
    share = float(per_joint(known.load_friction, n, "known_robot.load_friction").max())
    usual = BayesianConfig()
    relative = max(known.inertia_relative, 1e-4)
    inertia = replace(
        usual.inertia,
        bodies="all" if known.inertia_relative > 0.0 else "none",
        mass_sigma=relative,
        centre_sigma=relative,
        shape_sigma=relative if known.inertia_scale == "value" else min(relative * _slenderness(robot), _VAGUE),
    )
    gain = per_joint(known.gain, n, "known_robot.gain")
    config = replace(
        usual,
        held_out=0.0,  # offsets drift: what is left out of a run is missed
        step=max(_FASTEST, _READINGS * float(np.median(np.concatenate([np.diff(run.t) for run in runs])))),
        inertia=inertia,
        friction=FrictionPriorConfig(
            coulomb_sigma=max(float(sigma[0]), _LEAST),
            viscous_sigma=max(float(sigma[1]), _LEAST),
            viscous_power=tuple(per_joint(known.viscous_power, n, "known_robot.viscous_power").tolist()),
            load_sigma=share,
        ),
        drive=DrivePriorConfig(
            armature_sigma=float(sigma[2]), offset_sigma=float(sigma[3]), gain_sigma=float((sigma[4] / gain).max())
        ),
    )
    return replace(robot, motor=MotorConstants(*centre[10 * n : 14 * n].reshape(4, n))), config


def identify_arm(
    robot: Robot, gain: Array, runs: Sequence[JointSamples], config: BayesianConfig, progress: Progress | None = None
) -> tuple[BayesianResult, ArmConstants]:
    """The posterior of an arm from runs without a payload, with the findings of all of them, and its constants.

    Args:
        robot: with the prior's means.
        gain: (n,) nominal factor from torque readings to torques.
        runs: one after the other.
        config: of the identification.
        progress: told of a single run.

    Raises:
        ConfigError, RobotError, LogError, ExcitationError: as for `identify`.
    """
    logs = [_log(run, gain, config.step) for run in runs]
    if len(logs) == 1:
        result = identify(logs[0], robot, config, progress)
    else:
        known, findings = None, tuple[str, ...]()
        for log in logs:
            result, known = identify_further(known, log, robot, config)
            findings = tuple(dict.fromkeys((*result.findings, *findings)))
            if known is None:
                break
        result = replace(result, findings=findings)
    return result, arm_constants(result, robot, gain, config)


def arm_constants(result: BayesianResult, robot: Robot, gain: Array, config: BayesianConfig) -> ArmConstants:
    """A posterior's constants, linearised at its mode in coordinates in which torques are linear.

    Args:
        result: of a robot all of whose joints have motors.
        robot, config: that it was identified with.
        gain: (n,) by which torque readings had been multiplied.
    """
    mechanism, n = build_mechanism(robot, config, power=False), robot.n
    own = mechanism.parameters
    x = own.mean.copy()
    x[own.free] = result.theta
    scale = own.constants(x, "gain")
    offset = own.constants(x, "offset") / scale
    mean = np.concatenate([
        own.inertia(x).ravel(), own.constants(x, "coulomb"), own.constants(x, "viscous"),
        own.constants(x, "armature"), offset, gain / scale, own.constants(x, "load_friction"),
    ])  # fmt: skip
    _, slope = own.linear(x)
    by_x = np.zeros((16 * n, len(x)))
    by_x[: 10 * n, : 10 * n] = np.eye(10 * n)
    joint = np.arange(n)
    for start, name in ((10, "coulomb"), (11, "viscous"), (12, "armature"), (15, "load_friction")):
        by_x[start * n + joint, own.joint(name).start + joint] = 1.0
    by_x[13 * n + joint, own.joint("offset").start + joint] = 1.0 / scale
    by_x[13 * n + joint, own.joint("gain").start + joint] = -offset / scale
    by_x[14 * n + joint, own.joint("gain").start + joint] = -gain / scale**2
    by_theta = by_x[:, own.free] @ slope
    coupling = mechanism.coupling if mechanism.coupled else None
    return ArmConstants(mean, by_theta @ result.covariance @ by_theta.T, coupling)


def _slenderness(robot: Robot) -> float:
    """Largest ratio of a link's reach from its joint to its size along an axis: what is stated refers to the former."""
    ratios = []
    for theta in robot.inertial_parameters():
        sizes = np.exp(parameters_to_log_cholesky(give_extent(theta)[0])[1:4])
        ratios.append(np.sqrt(0.5 * (theta[4] + theta[6] + theta[9]) / theta[0]) / sizes.min())
    return float(max(ratios))


def _log(run: JointSamples, gain: Array, step: float) -> MechanismLog:
    return mechanism_log(Series(run.t, run.q), Series(run.t, gain * run.tau), None, Grid.over(run.t, step))
