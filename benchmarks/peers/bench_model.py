# SPDX-License-Identifier: Apache-2.0
"""The paper's Bench-Sup: torque by (duty, speed), learned from steady states on a test stand, 128-64-1 with ReLU.

Its stand broke shafts when it braked hard, so that high loads at low speed are missing in the data, as in the paper's
appendix A. In a rollout the firmware's law gives the duty; inertia of the rotor does not show in steady states.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize

from benchmarks.servo_rig import Servo
from sysid_nodes.kernel.joint_law import INERTIA, LOAD
from sysid_nodes.models.actuator import law_vector
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

_SAMPLES, _NOISE = 1500, 0.02  # steady states, and the sensor's noise [N m]
_BREAKS = 2.5  # torque beyond which the stand is not used below _SLOW [N m]
_SLOW = 0.5  # [rad/s]
_SHAPES = ((2, 128), (128,), (128, 64), (64,), (64, 1), (1,))
_ITERATIONS = 200


class BenchModel(NamedTuple):
    """Weights (8705,), scales of duty and speed, of torque, and the servo's firmware."""

    weights: Array
    scale: Array
    unit: float
    servo: Servo


def fit_bench(servo: Servo, rng: np.random.Generator) -> BenchModel:
    """From steady states that the stand can measure."""
    duty, speed = rng.uniform(-1.0, 1.0, _SAMPLES), rng.uniform(-4.5, 4.5, _SAMPLES)
    torque = servo.stand_torque(duty, speed)
    held = (np.abs(torque) < _BREAKS) | (np.abs(speed) > _SLOW)
    inputs, torque = np.stack([duty, speed], axis=1)[held], torque[held] + _NOISE * rng.standard_normal(held.sum())
    scale, unit = inputs.std(axis=0), float(torque.std())
    start = np.concatenate([(rng.standard_normal(s) * np.sqrt(2.0 / s[0]) if len(s) > 1 else np.zeros(s)).ravel()
                            for s in _SHAPES])  # fmt: skip

    found = optimize.minimize(
        loss, start, (inputs / scale, torque / unit), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS}
    )
    return BenchModel(found.x, scale, unit, servo)


def loss(weights: Array, inputs: Array, wanted: Array) -> tuple[float, Array]:
    """Half the mean squared error of the network at scaled inputs (P, 2), and its derivative by the weights."""
    w1, b1, w2, b2, w3, b3 = _parts(weights)
    a = np.maximum(inputs @ w1 + b1, 0.0)
    b = np.maximum(a @ w2 + b2, 0.0)
    off = (b @ w3 + b3)[:, 0] - wanted
    out = off[:, None] / len(off)
    to_b = (out @ w3.T) * (b > 0.0)
    to_a = (to_b @ w2.T) * (a > 0.0)
    parts = (inputs.T @ to_a, to_a.sum(0), a.T @ to_b, to_b.sum(0), b.T @ out, out.sum(0))
    return 0.5 * float(off @ off) / len(off), np.concatenate([part.ravel() for part in parts])


def predict(model: BenchModel, inputs: Array) -> Array:
    """Torque [N m] at duties and speeds (.., 2)."""
    w1, b1, w2, b2, w3, b3 = _parts(model.weights)
    a = np.maximum(inputs / model.scale @ w1 + b1, 0.0)
    return np.asarray(model.unit * (np.maximum(a @ w2 + b2, 0.0) @ w3 + b3)[..., 0])


def replay_bench(model: BenchModel, motion: JointMotion) -> Array:
    """(S,) positions of one rollout from the first sample, by explicit Euler at the samples."""
    rows = JointProblem(motion, ActuatorConfig(), law_vector(), ()).signals(law_vector())[:: motion.stride]
    command = motion.command.at(motion.t)
    dt = motion.step * motion.stride
    q, v, found = float(motion.q[0]), float(motion.velocity[0]), np.empty(len(motion.t))
    for k in range(len(motion.t)):
        found[k] = q
        row = rows[min(k, len(rows) - 1)]
        duty = float(model.servo.duty(command[k] - q, np.array(v)))
        torque = float(predict(model, np.array([duty, v])))
        v += dt * (torque - row[LOAD]) / row[INERTIA]
        q += dt * v
    return found


def _parts(weights: Array) -> list[Array]:
    edges = np.cumsum([int(np.prod(shape)) for shape in _SHAPES])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(weights, edges), _SHAPES, strict=True)]
