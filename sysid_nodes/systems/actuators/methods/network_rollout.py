# SPDX-License-Identifier: Apache-2.0
"""Rollouts of a joint with a network, and their adjoint.

A step solves the law implicitly, as `kernel.joint_rollout` does; the network is evaluated at the step's start and held,
as a simulator that deploys it does. With the network's share g (see `ActuatorNetwork`) and the step's velocity w,

    residual:  (M + I_a) (w - v) / (theta h) = law(q + theta h w, w) + g L tanh(y) - load
    network:   w = g (v + theta h (L y - load) / (M + I_a)) + (1 - g) w_law,     w_law the law's alone,

so that outside of the range that the network was trained on there is the law and nothing else. A step's derivatives are
evaluated for all steps at once; the rest of the adjoint is the kernel's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.kernel.joint_law import COMMAND, INERTIA, LOAD
from sysid_nodes.kernel.joint_rollout import joint_adjoint, joint_rollout
from sysid_nodes.kernel.joint_rollout_reference import THETA
from sysid_nodes.models.actuator import INDEX, actuator_torque
from sysid_nodes.models.actuator_network import ActuatorNetwork, NetworkValue, inputs_of
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class NetworkStates(NamedTuple):
    """Of G segments of L steps.

    Attributes:
        position, velocity: (G, L + 1) [rad, rad/s].
        within: (G, L) velocity within each step by the law alone [rad/s].
        outside: (G, L) whether the network had less than its full share.
    """

    position: Array
    velocity: Array
    within: Array
    outside: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class NetworkRollout:
    """A joint's steps, to be rolled out with one network or another.

    Attributes:
        rows: (N, 11) signals of the law at the steps.
        law: (L,).
        config: of the law.
        step: [s].
        residual: whether the network adds to the law or stands for it.
    """

    rows: Array
    law: Array
    config: ActuatorConfig
    step: float
    residual: bool

    @classmethod
    def along(cls, motion: JointMotion, law: Array, config: ActuatorConfig, *, residual: bool) -> NetworkRollout:
        """Of a motion's commands and loads."""
        return cls(JointProblem(motion, config, law, ()).signals(law), law, config, motion.step, residual)

    def states(self, network: ActuatorNetwork, first: IntArray, length: int, start: Array) -> NetworkStates:
        """Rollouts of L = `length` steps from states (G, 2) at the steps `first` (G,)."""
        count, span = len(first), THETA * self.step
        position, velocity = np.empty((count, length + 1)), np.empty((count, length + 1))
        within, outside = np.empty((count, length)), np.zeros((count, length), dtype=np.bool_)
        q, v, ones, outputs = start[:, 0].copy(), start[:, 1].copy(), np.ones(count), network.outputs()
        for k in range(length):
            position[:, k], velocity[:, k] = q, v
            rows = self.rows[first + k]
            inputs = inputs_of(rows[:, COMMAND], q, v)
            covered, output = network.covers(inputs), outputs(inputs)
            share = ones if covered else network.share(inputs)[0]
            outside[:, k] = share < 1.0
            if self.residual:
                rows[:, LOAD] -= share * network.limit * np.tanh(output)
                w = within[:, k] = self._lawful(rows, q, v)
            else:
                free = v + span * (network.limit * output - rows[:, LOAD]) / self._inertia(rows)
                lawful = free if covered else self._lawful(rows, q, v)
                within[:, k] = lawful
                w = share * free + (1.0 - share) * lawful
            v = v + (w - v) / THETA
            q = q + self.step * w
        position[:, length], velocity[:, length] = q, v
        return NetworkStates(position, velocity, within, outside)

    def pull(
        self, network: ActuatorNetwork, first: IntArray, states: NetworkStates, by_position: Array, by_velocity: Array
    ) -> Array:
        """(K,) derivative by the weights of a loss with derivatives (G, L + 1) by the states."""
        by_q, by_v, by_output, value = self._slopes(network, first, states)
        to_w = joint_adjoint(by_q, by_v, by_position, by_velocity, step=self.step)
        return network.pull(value, (to_w * by_output).ravel())

    def _slopes(
        self, network: ActuatorNetwork, first: IntArray, states: NetworkStates
    ) -> tuple[Array, Array, Array, NetworkValue]:
        """Derivatives (G, L) of each step's velocity by its position, velocity and network output; the network."""
        shape, span = states.within.shape, THETA * self.step
        rows = self.rows[(first[:, None] + np.arange(shape[1])).ravel()]
        q, v, within = states.position[:, :-1].ravel(), states.velocity[:, :-1].ravel(), states.within.ravel()
        inputs = inputs_of(rows[:, COMMAND], q, v)
        value = network.value(inputs)
        share, share_slope = network.share(inputs)
        inertia = self._inertia(rows)
        hard = self.config.law.saturation == "hard"
        law = actuator_torque(
            q + span * within, within, rows, self.law, smoothing=self.config.law.rest_speed, hard=hard
        )
        stiff = inertia / span - law.by_position * span - law.by_velocity
        by_q, by_v = law.by_position / stiff, inertia / span / stiff
        if self.residual:
            tanh = np.tanh(value.output)
            by_output = share * network.limit * (1.0 - tanh**2) / stiff
            by_share = network.limit * tanh / stiff
        else:
            by_output = share * span * network.limit / inertia
            by_share = v + span * (network.limit * value.output - rows[:, LOAD]) / inertia - within
            by_q, by_v = (1.0 - share) * by_q, share + (1.0 - share) * by_v
        by_inputs = by_output[:, None] * value.by_inputs + by_share[:, None] * share_slope
        by_q = by_q + by_inputs[:, 1] - by_inputs[:, 0]
        by_v = by_v + by_inputs[:, 2]
        return by_q.reshape(shape), by_v.reshape(shape), by_output.reshape(shape), value

    def _inertia(self, rows: Array) -> Array:
        return np.asarray(rows[:, INERTIA] + self.law[INDEX["armature"]])

    def _lawful(self, rows: Array, q: Array, v: Array) -> Array:
        """(G,) velocity within a step by the law; the kernel rolls each joint's step out as a segment of its own."""
        count = len(q)
        found = joint_rollout(
            np.repeat(rows, 2, axis=0),  # a segment's last state is not told, so it is followed by another step
            self.law,
            2 * np.arange(count),
            np.stack([q, v], axis=1),
            np.zeros(0, dtype=np.int64),
            step=self.step,
            stride=1,
            smoothing=self.config.law.rest_speed,
            hard=self.config.law.saturation == "hard",
        )
        return np.asarray((found.position[1::2][:count] - q) / self.step)
