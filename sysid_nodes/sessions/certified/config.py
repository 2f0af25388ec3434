# SPDX-License-Identifier: Apache-2.0
"""Settings on which certified planner and robust controller have to agree, and the objects built from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sysid_nodes.data.config import option, section
from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.data.scene import Scene, scene_of
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.config_digest import ESTIMATED, config_digest
from sysid_nodes.models.known_robot import KnownRobotConfig, Numbers, known_box, per_joint
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.robots import Primitive, Robot, load_robot
from sysid_nodes.robots.covering import covering_shapes
from sysid_nodes.robots.links import base_frame
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.settings import CertifiedSettings
from sysid_nodes.sessions.certified.streaming_config import StreamingConfig
from sysid_nodes.sessions.node_config import autostart_option, frame_prefix_option
from sysid_nodes.systems.certified.certificate.config import TrackingConfig
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.search.config import PlannerConfig


@dataclass(frozen=True)
class CertifiedConfig(CertifiedSettings):
    """The robot, what is known of it and around it, and the law that moves it."""

    scene: str = option("", "scene file of the obstacles; empty: none until obstacles are published")
    frame_prefix: str = frame_prefix_option()
    autostart: bool = autostart_option()
    planner: PlannerConfig = section(PlannerConfig, "the plans")
    authority: AuthorityConfig = section(AuthorityConfig, "who may command")


@dataclass(frozen=True)
class ControllerNodeConfig:
    """Topics and services of the controller's node."""

    queue_depth: int = option(1000, "joint states the middleware keeps until the node takes them", minimum=1)
    same_clock: bool = option(
        False,
        "joint states are stamped by the node's clock, so that their age can be told; not so with a robot in lockstep, "
        "whose time runs slower than the machine's",
    )
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)


@dataclass(frozen=True)
class RobustControllerConfig(CertifiedConfig):
    """Everything the robust controller needs."""

    controller: ControllerConfig = section(ControllerConfig, "what is watched")
    robust_controller: ControllerNodeConfig = section(ControllerNodeConfig, "the node")


OUTPUTS = ("torque", "position")


@dataclass(frozen=True)
class PlannerNodeConfig:
    """The planner's tasks, and their times."""

    excite: bool = option(True, "identify the body first; otherwise only go to goals")
    excite_time: float = option(
        7.5, "longest time to identify; 0: until the bounds no longer shrink (planner.stop_rule)", unit="s", minimum=0.0
    )
    goals: Numbers = option(
        (), "postures to go to after that, one after the other, all joints of each; more may be published", unit="rad"
    )
    seed: int = option(0, "of the search's random draws", minimum=0)
    lead: float = option(
        0.3,
        "from the publication of a trajectory that starts at rest to its start",
        unit="s",
        minimum=0.01,
        maximum=5.0,
    )
    budget: float = option(
        1.0,
        "time that planning is taken to need until it was measured; it begins no earlier before a takeover than it "
        "needs, so that the newest bounds are used",
        unit="s",
        minimum=0.05,
        maximum=10.0,
    )
    margin: float = option(
        0.25,
        "from the end of planning to the takeover, on the robot's clock; the controller's own proof has to fit into it "
        "(controller.recertify)",
        unit="s",
        minimum=0.0,
        maximum=5.0,
    )
    escape_time: float = option(
        0.6,
        "from a change of obstacles to the takeover by a stop certified among them, less than controller.scene_grace; "
        "the margin is part of it",
        unit="s",
        minimum=0.05,
        maximum=10.0,
    )
    retry: float = option(0.3, "pause after a step that certified nothing", unit="s", minimum=0.0, maximum=60.0)
    diagnostics_period: float = option(1.0, "time between two diagnostics", unit="s", minimum=0.01, maximum=3600.0)
    output: str = option(
        OUTPUTS[0],
        "who executes the plans: the robust controller by torque, or a position controller, as far off as 'tracking' "
        "says",
        choices=OUTPUTS,
    )
    streaming: StreamingConfig = section(StreamingConfig, "the way to a position controller")


@dataclass(frozen=True)
class CertifiedPlannerConfig(CertifiedConfig):
    """Everything the certified planner needs."""

    tracking: TrackingConfig = section(TrackingConfig, "errors of a position controller, see certified_planner.output")
    certified_planner: PlannerNodeConfig = section(PlannerNodeConfig, "the node")


class Setup(NamedTuple):
    """A configuration put together.

    Attributes:
        robot: nominal.
        shapes: of robot and load.
        scene: obstacles at the start.
        config_id: digest of all that certificates rest on but bounds and obstacles, after ESTIMATED where that holds.
        body: the resolved link.
        frame: the robot's base frame.
    """

    robot: Robot
    shapes: tuple[Primitive, ...]
    scene: Scene
    config_id: str
    body: str
    frame: str


_LONGEST_SILENCE = 2.0
"""That a robot moves on for without a joint state of it [s]."""


def check_ages(config: RobustControllerConfig) -> None:
    """Refuses a configuration under which every joint state would come too late, or next to none would count as lost.

    Raises:
        ConfigError: ages are watched, and clocks and transport leave nothing of the delay; or joint states of a robot
            on the same clock would be waited for longer than two seconds.
    """
    if config.robust_controller.same_clock and config.controller.silence > _LONGEST_SILENCE:
        raise ConfigError(
            f"'controller.silence' is {config.controller.silence:g} s; above {_LONGEST_SILENCE:g} s is for simulated "
            "robots that wait for commands, not for one on the same clock (robust_controller.same_clock)"
        )
    gone = config.controller.clock_error + config.controller.transport
    if config.robust_controller.same_clock and config.control.delay <= gone:
        raise ConfigError(
            f"'control.delay' is {config.control.delay:g} s, of which the clocks' error and the way of a command take "
            f"{gone:g} s: no joint state could be in time (robust_controller.same_clock)"
        )


def check_drives(robot: Robot, known: KnownRobotConfig, control: RobustControlConfig) -> None:
    """Refuses drives whose torques are stated to be off by more than certificates count with.

    A drive gives its gain times what it is told, the nominal one included: nobody scales commands. Where it brakes at
    its limit the gear passes on more than that: what friction takes comes on top, load friction included, so that
    passed = gain limit + friction + lost passed. What turns the rotor is passed on, as in proven rows.

    Raises:
        ConfigError: friction is of another law, or `control.torque_error` is less than gain and load friction of a
            drive make of its largest torque.
    """
    n = robot.n
    if (per_joint(known.viscous_power, n, "known_robot.viscous_power") != 1.0).any():
        raise ConfigError("certificates are of viscous friction that is proportional to the speed: viscous_power 1")
    gain, spread = (per_joint(getattr(known, name), n, f"known_robot.{name}") for name in ("gain", "gain_relative"))
    most, least = gain * (1.0 + spread), gain * (1.0 - spread)
    off = np.maximum(np.abs(most - 1.0), np.abs(1.0 - least))
    lost = per_joint(known.load_friction, n, "known_robot.load_friction")
    centre, radius = known_box(robot, known)
    coulomb, viscous, _, offset, _ = (np.abs(centre) + radius)[10 * n :].reshape(5, n)

    def share(of: Array, size: Array) -> Array:
        # No share of an unlimited torque is nothing, not 0 times infinity, which would hide the other joints.
        return np.asarray(np.multiply(of, size, out=np.zeros(n), where=of > 0.0))

    friction = coulomb + share(viscous, robot.limits.velocity) + offset
    passed = (most * robot.limits.torque + friction) / (1.0 - lost)
    needed = share(off, robot.limits.torque) + share(lost, passed)
    missing = needed - gains(robot, control).torque_error
    worst = int(np.argmax(missing))
    if missing[worst] > 0.0:
        # Half a percent more than needed: what is asked for is enough, however its three digits are rounded.
        raise ConfigError(
            f"'control.torque_error' must be at least {1.005 * needed[worst]:.3g} N m for {robot.joint_names[worst]}: "
            "known_robot.gain, gain_relative and load_friction let its torque differ by so much from what is commanded"
        )


def set_up(config: CertifiedConfig) -> Setup:
    """Loads the robot and the scene.

    Raises:
        InputError: they cannot be loaded, or do not fit the rest.
    """
    robot = load_robot(config.robot, variant=config.variant)
    shapes = covering_shapes(robot, config.payload_volume)
    body = config.body or robot.body
    robot.body_index(body)
    check_drives(robot, config.known_robot, config.control)
    digest = config_digest(robot, shapes, config.known_robot, config.control, config.certifier)
    label = ESTIMATED if config.estimates else ""
    frame = config.frame_prefix + base_frame(robot)
    return Setup(robot, shapes, scene_of(config.scene), label + digest, body, frame)
