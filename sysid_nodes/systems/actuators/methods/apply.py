# SPDX-License-Identifier: Apache-2.0
"""The configured method on every joint of an identified log."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.results.actuator_methods import JointMethod, OracleTorque
from sysid_nodes.robots import Robot
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.methods.evolution import cma_es
from sysid_nodes.systems.actuators.methods.method import JointModel, Method, StructuredModel, keep_law
from sysid_nodes.systems.actuators.methods.network import network, residual
from sysid_nodes.systems.actuators.methods.oracle import free_oracle, oracle
from sysid_nodes.systems.actuators.methods.smoothed_joint import SmoothedJoint, smooth_joint
from sysid_nodes.systems.actuators.methods.smoothed_robot import smooth_robot
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_error

Array = npt.NDArray[np.float64]

_OUTSIDE = 0.01
"""Share of a replay outside of the range of training that is worth a finding."""

METHODS: dict[str, Method] = {
    "structured": keep_law,
    "network": network,
    "residual": residual,
    "oracle": oracle,
    "free_oracle": free_oracle,
    "cma_es": cma_es,
}
"""By the names that `ActuatorConfig.method` knows."""


def apply_method(
    log: ActuatorLog,
    robot: Robot,
    laws: Sequence[Array],
    config: ActuatorConfig,
    *,
    progress: Callable[[str], None] | None = None,
) -> tuple[tuple[JointMotion, JointMethod], ...]:
    """Each joint's motion, and what the method makes of it.

    Args:
        log, robot, config: as they were identified.
        laws: (L,) of the joints, of the structured fit.
        progress: called with each joint's name when it is done.

    Raises:
        LogError, ExcitationError, ConfigError: see `prepare`.
    """
    motions = prepare(log, robot, config)
    found = []
    for motion, own in zip(motions, joint_methods(motions, robot, laws, config), strict=True):
        found.append((motion, own))
        if progress is not None:
            progress(motion.name)
    return tuple(found)


def joint_methods(
    motions: Sequence[JointMotion], robot: Robot, laws: Sequence[Array], config: ActuatorConfig
) -> Iterator[JointMethod]:
    """The method on each of a robot's joints; arguments of `smooth_robot`."""
    every: Sequence[SmoothedJoint | None] = [None] * len(motions)
    if config.oracle.beside or config.method != "structured":
        every = smooth_robot(motions, robot, laws, config)
    for motion, law, smoothed in zip(motions, laws, every, strict=True):
        yield joint_method(motion, law, config, smoothed)


def joint_method(
    motion: JointMotion, law: Array, config: ActuatorConfig, smoothed: SmoothedJoint | None = None
) -> JointMethod:
    """The method on one joint; `smoothed` by itself, where the method needs it, unless it is given."""
    model: JointModel = StructuredModel(law, config)
    if config.oracle.beside or config.method != "structured":
        smoothed = smoothed or smooth_joint(motion, law, config)
        model = METHODS[config.method](smoothed, law, config)
    replay, findings = model.replay(motion), model.findings
    if replay.outside > _OUTSIDE:
        text = f"'{motion.name}': {100.0 * replay.outside:.0f} % of the replay lies outside of the network's training"
        findings = (*findings, f"{text} range, where the law takes over")
    return JointMethod(
        motion.name,
        config.method,
        replay.position,
        replay_error(motion, replay.position),
        replay.outside,
        _oracle(smoothed, model) if smoothed is not None and config.oracle.beside else None,
        model.weights,
        findings,
    )


def _oracle(smoothed: SmoothedJoint, model: JointModel) -> OracleTorque:
    measured = smoothed.motion.measured
    torque, sigma, said = (
        np.where(measured, values, np.nan) for values in (smoothed.torque, smoothed.sigma, model.torque(smoothed))
    )
    return OracleTorque(torque, sigma, smoothed.noise, said)
