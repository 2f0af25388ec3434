# SPDX-License-Identifier: Apache-2.0
"""The four-bar leg as the Bayesian identification reads it: simulated by MuJoCo, or by the identification's equations.

Readings of the latter are along MuJoCo's motion, but of torques that the mechanism's own equations give, friction that
turns smoothly included, for constants drawn from its prior. They tell errors of statistics from errors of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline

from benchmarks.bayesian_world import Truth
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.inertia import parameters_to_com, parameters_to_log_cholesky
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.fourbar_leg import LINKS, LOOP
from sysid_nodes.simulation.fourbar.leg import JOINTS, MOTORS, LegRecord, LegTruth, simulate_leg
from sysid_nodes.systems.bayesian import BayesianConfig, Grid, MechanismLog, Series, mechanism_log
from sysid_nodes.systems.bayesian.config import DrivePriorConfig, FrictionPriorConfig, MechanismConfig
from sysid_nodes.systems.bayesian.initial_motion import loop_forces
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion
from sysid_nodes.systems.bayesian.parameters import JOINT

Array = npt.NDArray[np.float64]

NOISE = 2e-4, 0.05, 1.0
"""Of a leg's readings at 500 Hz: positions [rad], torques [N m], power [W]."""

CONFIG = BayesianConfig(
    mechanism=MechanismConfig(loops=(LOOP,), passive=("rod_joint", "knee")),
    friction=FrictionPriorConfig(coulomb_sigma=2.0, viscous_sigma=1.0),
    drive=DrivePriorConfig(armature_sigma=0.05),
)


@cache
def leg_run(seed: int, duration: float, spread: float = 0.15) -> tuple[LegTruth, LegRecord]:
    """A hidden leg and its readings."""
    rng = np.random.default_rng(seed)
    truth = LegTruth.draw(rng, spread)
    return truth, leg_record(truth, duration, rng)


def leg_record(truth: LegTruth, duration: float, rng: np.random.Generator) -> LegRecord:
    """Readings of a hidden leg."""
    position, torque, power = NOISE
    return simulate_leg(truth, duration, rng, position_noise=position, torque_noise=torque, power_noise=power)


def leg_of(mechanism: Mechanism, x: Array) -> LegTruth:
    """MuJoCo's leg with a mechanism's constants (P,)."""
    own, links = mechanism.parameters, [link.name for link in LINKS]
    bodies = [parameters_to_com(own.inertia(x)[own.links.index(name)]) for name in links]

    def each(name: str, joints: Sequence[str]) -> Array:
        return own.constants(x, name)[[own.joints.index(joint) for joint in joints]]

    return LegTruth(
        mass=np.array([mass for mass, _, _ in bodies]),
        centre=np.array([centre for _, centre, _ in bodies]),
        moments=np.array([np.diag(about) for _, _, about in bodies]),
        products=np.array([about[[0, 0, 1], [1, 2, 2]] for _, _, about in bodies]),
        coulomb=each("coulomb", JOINTS),
        viscous=each("viscous", JOINTS),
        armature=each("armature", JOINTS),
        loss=each("loss", MOTORS),
        idle=float(x[own.idle]),
    )


def true_constants(truth: LegTruth, mechanism: Mechanism) -> Array:
    """(P,) the hidden constants in a mechanism's order."""
    own, values = mechanism.parameters, truth.values()
    x = own.mean.copy()
    for i, link in enumerate(own.links):
        x[own.body(i)] = parameters_to_log_cholesky(np.array([values[f"{link}.{name}"] for name in PARAMETER_NAMES]))
    for name in ("coulomb", "viscous", "armature", "loss"):
        x[own.joint(name)] = [values.get(f"{joint}.{name}", 0.0) for joint in own.joints]
    x[own.idle] = values["idle power"]
    return x


def prior_constants(mechanism: Mechanism, rng: np.random.Generator) -> Array:
    """(P,) drawn from a mechanism's prior, what is positive from its positive half."""
    own = mechanism.parameters
    drawn = own.sigma * rng.standard_normal(len(own.mean))
    x = own.mean + drawn
    lower = np.where(np.isfinite(own.lower), own.lower, x)
    return np.asarray(np.where(x < lower, 2.0 * lower - x, x))


def constants_by_name(mechanism: Mechanism, x: Array) -> dict[str, float]:
    """Constants by the names that a posterior has for them."""
    own = mechanism.parameters
    found = {"idle power": float(x[own.idle])}
    for link, theta in zip(own.links, own.inertia(x), strict=True):
        found |= {f"{link}.{name}": float(value) for name, value in zip(PARAMETER_NAMES, theta, strict=True)}
    for name in JOINT:
        found |= {f"{joint}.{name}": float(v) for joint, v in zip(own.joints, own.constants(x, name), strict=True)}
    return found


def true_motion(x: Array, record: LegRecord, mechanism: Mechanism) -> Truth:
    """Constants (P,), MuJoCo's motion, and torques that the mechanism gives for both."""
    own = mechanism.parameters
    spline = CubicSpline(record.t, record.joints[:, [JOINTS.index(name) for name in own.joints]])
    q, v, a = (spline(record.t, order) for order in range(3))
    motion = Motion(q, v, a, np.zeros((len(q), mechanism.closures.count)))
    motion = replace(motion, force=loop_forces(mechanism, motion, x))
    return Truth(x, q, v, a, mechanism.torque(motion, x)[:, own.motors], float(record.gap.max()))


def same_equations(record: LegRecord, true: Truth, mechanism: Mechanism, rng: np.random.Generator) -> LegRecord:
    """The readings, had torques and power been the mechanism's."""
    own = mechanism.parameters
    order = [np.array(own.joints)[own.motors].tolist().index(name) for name in MOTORS]
    motion = Motion(true.q, true.v, true.a, np.zeros((len(true.q), mechanism.closures.count)))
    drawn = mechanism.power(motion, true.torque, true.x) + NOISE[2] * rng.standard_normal(len(true.q))
    torque = true.torque[:, order] + NOISE[1] * rng.standard_normal((len(true.q), len(order)))
    return replace(record, torque=torque, current=drawn / record.voltage)


def leg_log(record: LegRecord, step: float = 0.01, *, torque: bool = True, power: bool = True) -> MechanismLog:
    """Readings of the motors alone."""
    robot = leg()
    position = np.full((len(record.t), robot.n), np.nan)
    order = [MOTORS.index(name) for name in robot.joint_names if name in MOTORS]
    for k, name in enumerate(MOTORS):
        position[:, robot.joint_names.index(name)] = record.position[:, k]
    read = record.torque[:, order] if torque else np.full((len(record.t), 2), np.nan)
    drawn = Series(record.t, (record.voltage * record.current)[:, None]) if power else None
    return mechanism_log(Series(record.t, position), Series(record.t, read), drawn, Grid.over(record.t, step))


@cache
def leg() -> Robot:
    return load_robot("fourbar_leg")
