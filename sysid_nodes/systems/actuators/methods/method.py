# SPDX-License-Identifier: Apache-2.0
"""Methods behind one interface: each makes, of a joint's motion and its fitted law, a model that can be replayed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.methods.smoothed_joint import SmoothedJoint
from sysid_nodes.systems.actuators.preparation import JointMotion
from sysid_nodes.systems.actuators.replay import replay_joint

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Replay:
    """One rollout from the first sample, anew only after a hole in the log.

    Attributes:
        position: (S,) [rad].
        outside: share of the time that it spent where the model was not trained; zero for a law.
    """

    position: Array
    outside: float = 0.0


class JointModel(Protocol):
    """A joint as a method models it."""

    @property
    def findings(self) -> tuple[str, ...]:
        """Doubts about it, in sentences."""

    @property
    def weights(self) -> dict[str, Array]:
        """Of a network, by name; empty where there is none."""

    def replay(self, motion: JointMotion) -> Replay:
        """Along a motion, by its commands alone.

        Raises:
            ConfigError: the model is of one log only, and this is another.
        """

    def torque(self, smoothed: SmoothedJoint) -> Array:
        """(S,) torque that it says the body was given along the smoothed motion [N m]."""


class Method(Protocol):
    """From a joint's motion to its model."""

    def __call__(self, smoothed: SmoothedJoint, law: Array, config: ActuatorConfig, /) -> JointModel:
        """Makes the model.

        Args:
            smoothed: the joint's motion and the torque oracle along it.
            law: the structured fit's.
            config: of the identification; random numbers come from its seeds.
        """


@dataclass(frozen=True)
class StructuredModel:
    """The law itself."""

    law: Array
    config: ActuatorConfig
    findings: tuple[str, ...] = ()

    @property
    def weights(self) -> dict[str, Array]:
        """None."""
        return {}

    def replay(self, motion: JointMotion) -> Replay:
        """See `JointModel`."""
        return Replay(replay_joint(motion, self.law, self.config))

    def torque(self, smoothed: SmoothedJoint) -> Array:
        """See `JointModel`."""
        return smoothed.law_torque(self.law)


def keep_law(_smoothed: SmoothedJoint, law: Array, config: ActuatorConfig) -> StructuredModel:
    """The fitted law as it is."""
    return StructuredModel(law, config)
