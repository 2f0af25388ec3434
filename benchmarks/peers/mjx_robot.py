# SPDX-License-Identifier: Apache-2.0
"""Actuators by gradients through MJX, MuJoCo in JAX: the whole, coupled robot, the paper's simulator and method.

Rollouts of `HORIZON`, spread over the log, start at measured positions and filtered velocities; the squared error of
positions alone is minimised by Adam. One iteration of MJX's solver, for gradients come back through no more.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from benchmarks.peers.adam import Descent, descend
from benchmarks.peers.coupled_robot import CoupledRobot, Drives
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.solvers.shooting.problem import Array
from sysid_nodes.systems.actuators.preparation import JointMotion

try:
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    AVAILABLE = True
except ImportError:
    AVAILABLE = False

HORIZON = 0.25
"""Of a rollout [s]."""

_START = np.array([0.01, 0.1, 0.1, 0.0, 0.004])
_LOWER = np.array([1e-4, 0.0, 1e-3, -0.1, 0.0])
_UPPER = np.array([0.1, 2.0, 2.0, 0.1, 0.05])
"""Of armature, viscous and Coulomb friction, bias and delay, in SI units; PACE's ranges."""

_RATE = 0.02
_ROLLOUTS = 47


def fit_mjx(
    robot: CoupledRobot, log: ActuatorLog, motions: tuple[JointMotion, ...], steps: int
) -> tuple[Drives, Descent, int]:
    """Five parameters a joint after so many steps of Adam, and joint-steps of a gradient.

    Args:
        robot, log: of n joints.
        motions: of the log, for velocities.
        steps: of Adam.
    """
    spec = robot.spec(log)
    spec.option.iterations, spec.option.ls_iterations = 1, 4
    model = spec.compile()
    every, samples = robot.steps(log), round(HORIZON / (motions[0].step * motions[0].stride))
    first = np.linspace(0, len(log.t) - 1 - samples, _ROLLOUTS).round().astype(int)
    smooth = np.stack([m.velocity for m in motions], axis=1)
    t = log.t[first][:, None] + robot.step * (np.arange(samples * every) + 0.5)
    late = log.command_t + 0.5 * np.median(np.diff(log.command_t))  # held, as straight lines half a sample later
    measured = log.q[first[:, None] + 1 + np.arange(samples)]
    cost = _cost(model, log, (t, late, log.q[first], smooth[first], measured), every)
    start, lower, upper = (np.tile(x[:, None], (1, log.n)) for x in (_START, _LOWER, _UPPER))
    found = descend(cost, start, lower, upper, rate=_RATE, steps=steps)
    return Drives(*found.values), found, _ROLLOUTS * samples * every * log.n


def _cost(model: mujoco.MjModel, log: ActuatorLog, data: tuple[Array, ...], every: int) -> Any:
    nominal, blank = mjx.put_model(model), mjx.make_data(model)

    def cost(values: Any) -> Any:
        armature, viscous, coulomb, bias, delay = values
        own = nominal.replace(dof_armature=armature, dof_damping=viscous, dof_frictionloss=coulomb)

        def roll(t: Any, late: Any, q: Any, w: Any, measured: Any) -> Any:
            def told(column: Any, delay: Any) -> Any:
                return jnp.interp(t - delay, late, column)

            commands = jax.vmap(told, in_axes=(1, 0), out_axes=1)(log.command, delay) - bias

            def step(state: Any, command: Any) -> Any:
                state = mjx.step(own, state.replace(ctrl=command))
                return state, state.qpos

            _, rolled = jax.lax.scan(step, blank.replace(qpos=q, qvel=w), commands)
            return jnp.mean((rolled[every - 1 :: every] - measured) ** 2)

        return 1e6 * jnp.mean(jax.vmap(roll, in_axes=(0, None, 0, 0, 0))(*data))

    return cost
