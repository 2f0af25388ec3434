# SPDX-License-Identifier: Apache-2.0
"""Walks of many robots under a policy that obeys commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sysid_nodes.rollouts.drive import Array
from sysid_nodes.rollouts.policy import BoolArray, Command, CommandedPolicy, Memory
from sysid_nodes.rollouts.simulations import DrivenSimulations
from sysid_nodes.rollouts.variants import IntArray, Variants

Commands = Callable[[float], Command]
"""Commands of all robots at a time since the start [s]."""


@dataclass(frozen=True)
class Walks:
    """B robots, recorded R times.

    Attributes:
        states: (B, R + 1, nq + nv), the start included.
        targets: (B, R, n) set-points that hold from each recorded state on [rad].
        torque: (B, n) largest magnitude of all steps [N m].
        rate: (B, n) largest speed of the joints [rad/s].
        fallen: (B,) whether the robot has fallen, or its simulation failed.
        memory: of the policy at the end.
    """

    states: Array
    targets: Array
    torque: Array
    rate: Array
    fallen: BoolArray
    memory: Memory


def walk(
    simulations: DrivenSimulations,
    policy: CommandedPolicy,
    variants: Variants,
    which: IntArray,
    start: Array,
    commands: Commands,
    duration: float,
    *,
    every: int = 1,
    memory: Memory | None = None,
) -> Walks:
    """Simulates robots, all of them at a time.

    Args:
        simulations: room for B robots.
        policy: of all robots.
        variants, which: parameters, and (B,) those of each robot.
        start: (B, nq + nv).
        commands: of all robots.
        duration: [s].
        every: steps between two recorded states.
        memory: of the policy, of the motion before; None for none.
    """
    hold = round(policy.period / simulations.timestep)
    steps = round(duration / simulations.timestep)
    recorded = steps // every
    states = np.empty((len(start), recorded + 1, start.shape[1]))
    targets = np.empty((len(start), recorded, simulations.joints))
    torque, rate = np.zeros((2, len(start), simulations.joints))
    states[:, 0], target = start, np.zeros((len(start), simulations.joints))
    policy.memory = memory

    def law(step: int) -> Array:
        if step % hold == 0:
            present = np.concatenate([simulations.positions, simulations.velocities], axis=1)
            target[:] = policy.set_points(present, commands(step * simulations.timestep))
        if step % every == 0 and step // every < recorded:
            targets[:, step // every] = target
        return target

    for step, made in enumerate(simulations.follow(variants, which, start, steps, law), start=1):
        np.maximum(torque, np.abs(made), out=torque)
        np.maximum(rate, np.abs(simulations.velocities[:, 6:]), out=rate)
        if step % every == 0:
            states[:, step // every] = np.concatenate([simulations.positions, simulations.velocities], axis=1)
    assert policy.memory is not None  # a step has been made
    fallen = policy.memory.fallen | ~np.isfinite(states).all(axis=(1, 2))
    return Walks(states, targets, torque, rate, fallen, policy.memory)
