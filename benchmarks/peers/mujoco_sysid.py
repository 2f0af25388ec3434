# SPDX-License-Identifier: Apache-2.0
"""Actuators by MuJoCo's own toolbox (`mujoco.sysid`): Gauss-Newton on rollouts of the whole, coupled robot.

Its modifiers give armature, viscous and Coulomb friction, its signal modifiers bias and delay of each encoder, which in
a robot at rest is the same as a delay of the commands; derivatives by differences, a rollout of the log a parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from benchmarks.peers.coupled_robot import CoupledRobot, Drives
from sysid_nodes.data.actuator_log import ActuatorLog

try:
    from mujoco import sysid

    AVAILABLE = hasattr(sysid, "optimize")  # it hides what it lacks to be imported
except ImportError:
    AVAILABLE = False

# Start and range of each kind, and what it changes in MuJoCo's description; PACE's ranges.
_KINDS: dict[str, tuple[float, float, float, Callable[[Any, float], None] | None]] = {
    "armature": (0.01, 1e-4, 0.1, lambda joint, value: setattr(joint, "armature", value)),
    "viscous": (0.1, 0.0, 2.0, lambda joint, value: joint.damping.__setitem__(0, value)),
    "coulomb": (0.1, 1e-3, 2.0, lambda joint, value: setattr(joint, "frictionloss", value)),
    "bias": (0.0, -0.1, 0.1, None),
    "delay": (0.004, 0.0, 0.05, None),
}


@dataclass(frozen=True)
class ToolboxFit:
    """The drives found, and rollouts of the whole log."""

    drives: Drives
    rollouts: int


def fit_toolbox(robot: CoupledRobot, log: ActuatorLog, iterations: int) -> ToolboxFit:
    """Five parameters a joint, at most so many iterations."""
    spec, joints = robot.spec(log), log.names
    parameters = sysid.ParameterDict()
    for kind, (start, lower, upper, change) in _KINDS.items():
        for joint in joints:
            parameters.add(sysid.Parameter(f"{kind} {joint}", start, lower, upper, modifier=_modifier(joint, change)))
    model = spec.compile()
    t = log.t - log.t[0]
    measured = sysid.TimeSeries.from_names(t, np.asarray(log.q), model)
    control = sysid.TimeSeries(t, np.asarray(log.command))
    start = sysid.create_initial_state(model, log.q[0], np.zeros(log.n), np.zeros(0))
    sequences = sysid.ModelSequences("robot", spec, "chirp", start, control, measured)
    spent = 0

    def residual(chosen: Any, predicted: Any, measured: Any, model: Any, *_: Any, **__: Any) -> tuple[Any, Any, Any]:
        nonlocal spent
        spent += 1
        for joint in joints:
            predicted = sysid.apply_bias(predicted, joint, _negative(chosen[f"bias {joint}"]))
            predicted = sysid.apply_delay(predicted, joint, chosen[f"delay {joint}"])
        found = predicted.resample(measured.times)
        off = sysid.weighted_diff(predicted_data=found.data, measured_data=measured.data, model=model)
        return off, found, measured

    found, _ = sysid.optimize(
        parameters,
        sysid.build_residual_fn(models_sequences=[sequences], modify_residual=residual),
        verbose=False,
        max_iters=iterations,
        x_scale="jac",
    )
    values = {kind: np.array([float(found[f"{kind} {joint}"].value[0]) for joint in joints]) for kind in _KINDS}
    return ToolboxFit(Drives(**values), spent)


def _modifier(joint: str, change: Callable[[Any, float], None] | None) -> Callable[[mujoco.MjSpec, Any], None] | None:
    if change is None:
        return None
    return lambda spec, parameter: change(spec.joint(joint), float(parameter.value[0]))


def _negative(bias: Any) -> Any:
    """Of a position that the encoder reports: what the drive sees, less the bias."""
    return sysid.Parameter(bias.name, -float(bias.value[0]), -1.0, 1.0)
