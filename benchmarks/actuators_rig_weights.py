# SPDX-License-Identifier: Apache-2.0
"""The structured fit with velocities in its cost, as the paper's objective has them; the product's has none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.solvers.shooting import Rollout, ShootingConfig, shoot
from sysid_nodes.solvers.shooting.problem import Array, IntArray
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import horizons_of, known_law, parameters_of
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion


@dataclass(frozen=True)
class WeightedProblem(JointProblem):
    """A joint's problem with two residuals a sample: position, and change of position since the sample before.

    Attributes:
        weight: of the squared velocity beside the squared position [s2].
    """

    weight: float = 0.0

    def rollout(self, parameters: Array, first: IntArray, start: Array, *, added: Array | None = None) -> Rollout:
        """Residuals (S, 2) [rad]; velocities are differences, of prediction and of encoder alike."""
        plain = super().rollout(parameters, first, start, added=added)
        scale = np.sqrt(self.weight) / (self.motion.step * self.motion.stride)
        known = np.append(False, self.motion.measured[1:] & self.motion.measured[:-1])
        known[first] = False  # the sample before is another segment's

        def with_changes(values: Array) -> Array:
            change = np.zeros_like(values)
            change[1:] = scale * np.diff(values, axis=0)
            change[~known] = 0.0
            return np.concatenate([values, change], axis=1)

        return Rollout(*(with_changes(part) for part in plain))


def fit_weighted(motion: JointMotion, config: ActuatorConfig, weight: float) -> Array:
    """(15,) law fitted with a weight of the velocity [s2]; at zero the product's fit of positions."""
    names = config.fitted.names
    problem = WeightedProblem(motion, config, known_law(config, 0), names, weight)
    fitted, dt = parameters_of(names), motion.step * motion.stride
    lengths = tuple(max(round(horizon / dt), 2) for horizon in horizons_of(motion, config))
    options = ShootingConfig(lengths, config.shooting.iterations, robust=config.shooting.robust)
    found = shoot(
        problem,
        np.array([p.start for p in fitted]),
        np.array([p.lower for p in fitted]),
        np.array([p.upper for p in fitted]),
        options,
    )
    return problem.with_parameters(found.parameters)
