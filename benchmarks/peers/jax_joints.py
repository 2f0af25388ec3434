# SPDX-License-Identifier: Apache-2.0
"""Actuators by gradients alone, in plain JAX: our split into joints, the paper's method (arXiv 2604.10351).

Every joint is two states under the rigid body's measured load, stepped implicitly in its damping and dry friction (a
proximal step: friction takes off what speed there is, at most). Rollouts of `HORIZON` start at measured states; the
squared error of positions alone is minimised by Adam, gradients come back through the rollouts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers import adam
from benchmarks.peers.adam import Descent, descend
from sysid_nodes.solvers.shooting.problem import Array
from sysid_nodes.systems.actuators.fit import parameters_of
from sysid_nodes.systems.actuators.preparation import JointMotion

AVAILABLE = adam.AVAILABLE
if AVAILABLE:
    import jax
    import jax.numpy as jnp

FIVE = ("armature", "delay", "encoder_bias", "viscous", "coulomb")
HORIZON = 1.0
"""Of a rollout [s]."""

_UPPER = np.array([0.1, 0.05, 0.1, 2.0, 2.0])
_LOWER = np.array([0.0, 0.0, -0.1, 0.0, 0.0])
_RATE = 0.01


class _Joints(NamedTuple):
    """n joints, R rollouts of T steps: commands and their times over the log, loads by step, starts, readings."""

    t: Array  # (R, T) middles of the steps [s]
    late: Array  # (M,) times of the commands [s]; half a sample late, as straight lines are what is held then
    command: Array  # (n, M) [rad]
    stiffness: Array  # (n,)
    damping: Array  # (n,)
    inertia: Array  # (n, R, T)
    load: Array  # (n, R, T)
    q: Array  # (n, R) at the starts
    w: Array  # (n, R)
    measured: Array  # (n, R, T / stride)


def fit_joints(motions: tuple[JointMotion, ...], steps: int) -> tuple[Descent, int]:
    """Five parameters a joint, (n, 5), after so many steps of Adam, and joint-steps of a gradient."""
    joints, motion = _cut(motions), motions[0]
    start = np.tile([p.start for p in parameters_of(FIVE)], (len(motions), 1))
    lower, upper = np.broadcast_to(_LOWER, start.shape), np.broadcast_to(_UPPER, start.shape)

    def cost(values: Any) -> Any:
        rolled = jax.vmap(_positions, in_axes=(0, 0, None, None, None))(
            values, _each(joints), joints.t, joints.late, (motion.step, motion.stride)
        )
        return jnp.sum(jnp.mean((rolled - joints.measured) ** 2, axis=(1, 2))) * 1e6

    return descend(cost, start, lower, upper, rate=_RATE, steps=steps), joints.load.size


def _cut(motions: tuple[JointMotion, ...]) -> _Joints:
    one = motions[0]
    samples = round(HORIZON / (one.step * one.stride))
    rollouts = (len(one.t) - 1) // samples
    first, length = samples * np.arange(rollouts), samples * one.stride
    steps = (first[:, None] * one.stride + np.arange(length)).astype(int)
    ends = first[:, None] + 1 + np.arange(samples)
    return _Joints(
        t=one.edges[steps] + 0.5 * one.step,
        late=one.command.t + 0.5 * np.median(np.diff(one.command.t)),
        command=np.stack([m.command.values for m in motions]),
        stiffness=np.array([m.stiffness for m in motions]),
        damping=np.array([m.damping for m in motions]),
        inertia=np.stack([m.inertia[steps] for m in motions]),
        load=np.stack([m.load[steps] for m in motions]),
        q=np.stack([m.q[first] for m in motions]),
        w=np.stack([m.velocity[first] for m in motions]),
        measured=np.stack([m.q[ends] for m in motions]),
    )


def _each(joints: _Joints) -> tuple[Array, ...]:
    """The parts that differ from joint to joint."""
    return joints.command, joints.stiffness, joints.damping, joints.inertia, joints.load, joints.q, joints.w


def _positions(values: Any, joint: tuple[Any, ...], t: Any, late: Any, grid: tuple[float, int]) -> Any:
    """(R, T / stride) positions of a joint."""
    armature, delay, bias, viscous, coulomb = values
    command, stiffness, damping, inertia, load, q, w = joint
    dt, stride = grid
    told = jnp.interp(t - delay, late, command) - bias

    def step(state: Any, given: Any) -> Any:
        q, w = state
        told, inertia, load = given
        mass = inertia + armature + dt * (damping + viscous + dt * stiffness)
        push = (inertia + armature) * w + dt * (stiffness * (told - q) - load)
        left = jnp.maximum(jnp.abs(push) - dt * coulomb, 0.0)
        w = jnp.sign(push) * left / mass
        return (q + dt * w, w), q + dt * w

    _, rolled = jax.lax.scan(step, (q, w), (told.T, inertia.T, load.T))
    return rolled[stride - 1 :: stride].T
