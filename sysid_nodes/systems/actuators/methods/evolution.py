# SPDX-License-Identifier: Apache-2.0
"""The paper's parameters without gradients, for comparison: stiffness, damping and armature by CMA-ES (its Param-ES).

The drive is a plain PD law: no delay, friction or bias. Segments start at measured states, as in its eq. 2. The library
is `cma` (Hansen's), an optional dependency.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.actuator import law_vector
from sysid_nodes.solvers.shooting.problem import segments
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.methods.method import Replay, StructuredModel
from sysid_nodes.systems.actuators.methods.smoothed_joint import SmoothedJoint
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

_SPREAD = 0.5  # of the first population, in natural logarithms of the three
_FIRST_DAMPING = 0.05  # of the search, relative to the stiffness [s]
_FIRST_ARMATURE = 0.01  # [kg m2]


class DrivenModel(StructuredModel):
    """A plain PD law of its own gains: stiffness in the law's gain, damping in its viscous friction."""

    def replay(self, motion: JointMotion) -> Replay:
        """See `JointModel`; the drive has the gains that were found and not those stated."""
        return super().replay(_without_damping(motion))


def cma_es(smoothed: SmoothedJoint, _law: Array, config: ActuatorConfig) -> DrivenModel:
    """The three by CMA-ES.

    Raises:
        ConfigError: the drive has no stiffness to scale.
    """
    import cma  # takes a while, and nothing else needs it

    motion, options = _without_damping(smoothed.motion), config.evolution
    if not motion.stiffness > 0.0:
        raise ConfigError(f"method cma_es scales the drive's stiffness, and that of '{motion.name}' is zero")
    problem = JointProblem(motion, config, law_vector(), ())
    length = max(round(options.horizon / (motion.step * motion.stride)), 2)
    first = segments(len(motion.t), length, motion.breaks)
    start = np.stack([motion.q[first], motion.velocity[first]], axis=1)

    def law_of(logarithms: Array) -> Array:
        gain, damping, armature = np.exp(logarithms)
        return law_vector({"gain": float(gain), "viscous": float(damping), "armature": float(armature)})

    def cost(logarithms: Array) -> float:
        own = replace(problem, law=law_of(logarithms))
        off = own.rollout(np.zeros(0), first, start).residual
        return float(np.mean(off**2)) if np.isfinite(off).all() else 1e6

    guess = np.log([1.0, _FIRST_DAMPING * motion.stiffness, _FIRST_ARMATURE])
    search = cma.CMAEvolutionStrategy(
        guess, _SPREAD, {"seed": options.seed, "maxfevals": options.evaluations, "verbose": -9}
    )
    while not search.stop():
        candidates = search.ask()
        search.tell(candidates, [cost(np.asarray(each)) for each in candidates])
    return DrivenModel(law_of(np.asarray(search.result.xbest)), config)


def _without_damping(motion: JointMotion) -> JointMotion:
    """The drive's stated damping would act beside the one that is sought."""
    return replace(motion, damping=0.0)
