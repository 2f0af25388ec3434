# SPDX-License-Identifier: Apache-2.0
"""Inertias and friction by MuJoCo's own toolbox (`mujoco.sysid`): Gauss-Newton on rollouts of short pieces of the log.

Each piece begins where smoothed readings are and is driven by the torques read; predicted positions are compared with
those of joints that are read. Loops are MuJoCo's. Parameters are our coordinates in prior sigmas, with the prior among
the residuals, three sigmas the bounds; derivatives are differences, a rollout of the log a constant.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.bayesian_robots import BenchRobot
from benchmarks.bayesian_world import RATE, close, robot_spec
from benchmarks.peers.mujoco_sysid import AVAILABLE
from sysid_nodes.data.inertia import log_cholesky_to_parameters
from sysid_nodes.rollouts.rigid_body import set_inertia
from sysid_nodes.systems.bayesian.mechanism import Mechanism

if AVAILABLE:
    from mujoco import sysid

Array = npt.NDArray[np.float64]

_PIECE = 0.2  # [s]
_BOUND = 3.0
_ITERATIONS = 6


def fit(
    own: BenchRobot, mechanism: Mechanism, motion: tuple[Array, Array], position: Array, torque: Array, noise: float
) -> Array:
    """(P,) constants.

    Args:
        own: the robot.
        mechanism: the same, with its constants.
        motion: (K, n) smoothed positions and velocities at the readings.
        position: (K, n) that are read, not numbers where there is no encoder.
        torque: (K, m) of the motors.
        noise: of positions [rad, m].
    """
    spec, layout = robot_spec(own, mechanism, mechanism.parameters.mean, 1.0 / RATE), mechanism.parameters
    close(spec, own, 1.0 / RATE)
    read = np.flatnonzero(np.isfinite(position).all(axis=0))
    joints = [own.robot.joint_names[j] for j in read]
    for name, has_motor in zip(own.robot.joint_names, layout.motors, strict=True):
        if has_motor:
            spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        if name in joints:
            spec.add_sensor(name=name, type=mujoco.mjtSensor.mjSENS_JOINTPOS, objtype=mujoco.mjtObj.mjOBJ_JOINT,
                            objname=name)  # fmt: skip
    parameters, model = _parameters(own, mechanism), spec.compile()
    length = round(_PIECE * RATE)
    firsts = range(0, len(position) - length, length)
    t = np.arange(length) / RATE
    pieces = sysid.ModelSequences(
        "robot",
        spec,
        [f"piece {k}" for k in firsts],
        [sysid.create_initial_state(model, motion[0][k], motion[1][k], np.zeros(0)) for k in firsts],
        [sysid.TimeSeries(t, torque[k : k + length]) for k in firsts],
        [sysid.TimeSeries.from_names(t, position[k : k + length, read], model) for k in firsts],
    )

    def residual(chosen: Any, predicted: Any, measured: Any, *_: Any, **__: Any) -> tuple[Any, Any, Any]:
        found = predicted.resample(measured.times)
        off = (found.data - measured.data).ravel() / noise
        return np.concatenate([off, chosen.as_vector() / np.sqrt(len(firsts))]), found, measured

    found, _ = sysid.optimize(
        parameters,
        sysid.build_residual_fn(models_sequences=[pieces], modify_residual=residual),
        verbose=False,
        max_iters=_ITERATIONS,
    )
    x = layout.mean.copy()
    x[layout.free] += layout.sigma[layout.free] * found.as_vector()
    return x


def _parameters(own: BenchRobot, mechanism: Mechanism) -> Any:
    """In prior sigmas, in the order of theta."""
    layout, found = mechanism.parameters, sysid.ParameterDict()
    for i, joint in enumerate(own.robot.joint_names):
        if layout.sigma[10 * i]:
            found.add(_parameter(joint, layout.mean[layout.body(i)], layout.sigma[layout.body(i)], -_BOUND, _set_body))
    for name, change in (("coulomb", _set_coulomb), ("viscous", _set_viscous)):
        means, sigmas = layout.mean[layout.joint(name)], layout.sigma[layout.joint(name)]
        for joint, mean, sigma in zip(own.robot.joint_names, means, sigmas, strict=True):
            if sigma:
                found.add(_parameter(joint, np.array([mean]), np.array([sigma]), 0.0, change, name))
    return found


def _parameter(joint: str, mean: Array, sigma: Array, lower: float, change: Any, kind: str = "inertia") -> Any:
    start, bound = np.full(len(mean), max(lower, 0.0)), np.full(len(mean), _BOUND)
    if kind != "inertia":
        start += 0.1 * _BOUND

    def modify(spec: mujoco.MjSpec, parameter: Any) -> None:
        change(spec, joint, mean + sigma * parameter.value)

    return sysid.Parameter(f"{kind} {joint}", start, np.full(len(mean), lower), bound, modifier=modify)


def _set_body(spec: mujoco.MjSpec, joint: str, eta: Array) -> None:
    set_inertia(spec.body(joint), pinocchio.Inertia.FromDynamicParameters(log_cholesky_to_parameters(eta)))


def _set_coulomb(spec: mujoco.MjSpec, joint: str, value: Array) -> None:
    spec.joint(joint).frictionloss = value[0]


def _set_viscous(spec: mujoco.MjSpec, joint: str, value: Array) -> None:
    spec.joint(joint).damping[0] = value[0]
