# SPDX-License-Identifier: Apache-2.0
"""The arm that a configuration asks for, and the configuration made to fit it; commands and node load it here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.joint_vector import ByJoint, did_you_mean, for_joints
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.robots import Robot, load_robot, robot_names
from sysid_nodes.robots.arm_chain import hand_of, joints_to, lock_joints
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.effect import refuse_without_effect

_GRAVITY = 9.81
_LIFTS = 3.0
"""An arm holds this many times more close to itself than stretched out, as far as a prior is concerned."""

_SIZE = 0.5
"""How far a payload's centre of mass and its extent may be from the last joint, without a word about it [m]."""


@dataclass(frozen=True)
class Arm:
    """Attributes: robot, the arm alone; config, its lists for these joints; notes, what was assumed;
    stated, names of the options that somebody stated.
    """

    robot: Robot
    config: IntervalIdentifierConfig
    notes: tuple[str, ...]
    stated: frozenset[str]


def load_arm(
    config: IntervalIdentifierConfig,
    *,
    stated: Collection[str],
    logged: Mapping[str, float] | None = None,
    urdf_text: str = "",
) -> Arm:
    """Loads the arm.

    Args:
        stated: names of the options that somebody stated; a prior that is not is drafted from what the arm can lift.
        logged: joints of the log with their places at its start [rad or m]; None where there is no log yet.
        urdf_text: description instead of the configuration's file.

    Raises:
        RobotError, ConfigError: robot and configuration do not fit together.
    """
    refuse_without_effect(config, stated)
    whole = load_robot(config.robot, variant=config.variant, urdf=config.urdf, urdf_text=urdf_text)
    notes = [whole.warning] if whole.warning else []
    robot = whole
    if not whole.floating_base:
        robot, more = _chain(whole, config, logged)
        notes += more
    config = for_joints(config, robot.joint_names, whole.joint_names)
    if config.robot != "kinova_gen3" and not {"prior.lower", "prior.upper"} & set(stated):
        prior = draft_prior(robot, config.body, config.target)
        config = replace(config, prior=prior)
        notes.append(f"no prior is stated: taken from what the arm can lift, up to {prior.upper[0]:g} kg")
    return Arm(robot, config, tuple(notes), frozenset(stated))


def _chain(
    whole: Robot, config: IntervalIdentifierConfig, logged: Mapping[str, float] | None
) -> tuple[Robot, list[str]]:
    notes: list[str] = []
    if isinstance(config.locked, ByJoint):
        places = dict(zip(config.locked.names, config.locked, strict=True))
    elif config.locked:
        raise ConfigError("'locked' is by joint name: {torso_joint: 0.2}")
    else:
        places = {}
    if unknown := [name for name in (*config.joints, *places) if name not in whole.joint_names]:
        hint = did_you_mean(unknown[0], whole.joint_names)
        raise ConfigError(f"robot '{whole.name}' has no joint '{unknown[0]}'{hint}")
    if both := [name for name in config.joints if name in places]:
        raise ConfigError(f"joint '{both[0]}' is both in 'joints' and in 'locked'")
    body = config.body or (whole.body if config.robot in robot_names() else hand_of(whole, logged or ()))
    if config.joints:
        kept: tuple[str, ...] = tuple(config.joints)
    elif config.robot in robot_names() and not config.body:
        kept = tuple(name for name in whole.joint_names if name not in places)
    else:
        chain = tuple(name for name in joints_to(whole, body) if name not in places)
        kept = chain if logged is None else tuple(name for name in chain if name in logged)
        if not kept:
            kept = chain  # a log of another robot; it will be said
        for name in set(chain) - set(kept):
            notes.append(f"joint '{name}' is not in the log: held at 0; say otherwise by 'locked: {{{name}: ...}}'")
    seen = {name: place for name, place in (logged or {}).items() if name in whole.joint_names and name not in kept}
    robot = lock_joints(whole, kept, {**seen, **{name: at for name, at in places.items() if name not in kept}})
    return (robot if robot is whole and not config.body else replace(robot, body=body)), notes


def draft_prior(robot: Robot, body: str, target: str) -> PriorConfig:
    """A prior box from the torque limits: what the arm can lift, anywhere within half a metre of its last joint.

    Raises:
        ConfigError: the description has no torque limits.
    """
    heaviest = liftable_mass(robot, body)
    if not np.isfinite(heaviest):
        raise ConfigError(
            "no prior is stated, and the description has no torque limits to draft one from; state prior.lower, .upper"
        )
    own = float(robot.inertial_parameters()[robot.body_index(body), 0]) if target == "body" else 0.0
    mass = float(f"{heaviest + own:.2g}")
    moment, inertia = _SIZE * mass, _SIZE**2 * mass
    side = (moment,) * 3 + (inertia,) * 6
    return PriorConfig(lower=(0.0, *(-x for x in side)), upper=(mass, *side))


def liftable_mass(robot: Robot, body: str) -> float:
    """The heaviest payload that the joints' torque limits let the arm hold, roughly [kg]."""
    joint, reach, heaviest = robot.body_index(body) + 1, 0.1, np.inf
    while joint > 0:
        limit = float(robot.limits.torque[joint - 1])
        if str(robot.model.joints[joint].shortname()).startswith("JointModelR") and np.isfinite(limit):
            heaviest = min(heaviest, _LIFTS * limit / (_GRAVITY * max(reach, 0.2)))
        reach += float(np.linalg.norm(robot.model.jointPlacements[joint].translation))
        joint = int(robot.model.parents[joint])
    return heaviest
