# SPDX-License-Identifier: Apache-2.0
"""Actuators from messages to published models; live node and replay both run it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sysid_nodes import __version__
from sysid_nodes.data.digest import digest
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.results.actuator_methods import JointMethod
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.actuators.windows import WindowCutter
from sysid_nodes.systems.actuators.method_config import METHODS
from sysid_nodes.systems.actuators.online import MotionWindow, Refinement, RefinementState
from sysid_nodes.systems.actuators.online.refinement import ReplayedMotion


@dataclass(frozen=True)
class ActuatorUpdate:
    """The present state of knowledge, to be published.

    Attributes:
        t: stamp of the newest encoder sample looked at [s]; 0 before there is one.
        config_id: digest of robot, configuration and software version.
        state: what is known.
        alarmed: whether the newest window raised an alarm.
    """

    t: float
    robot: str
    config_id: str
    state: RefinementState
    alarmed: bool = False


class ActuatorSession:
    """Cuts messages into windows and has the models follow them.

    Every method is for one thread. The messages of each topic in their order give the same models to the last bit,
    whatever the order between the topics and however fast the machine is.

    Args:
        robot: of `actuator_robot`.
        gains_told: whether commands state the drives' gains, so that the configuration need not.

    Attributes:
        received: messages taken so far, by topic.
        update: the newest.

    Raises:
        ConfigError: the drives' gains are not known, or method or drive are for whole recordings only.
    """

    def __init__(self, robot: Robot, config: ActuatorSessionConfig, *, gains_told: bool = False) -> None:
        if (method := config.actuators.method) != METHODS[0]:
            raise ConfigError(f"'actuators.method' must be {METHODS[0]} window by window, got {method!r}")
        if config.drive != "commands":
            raise ConfigError(f"'drive' must be commands window by window, got {config.drive!r}")
        self.robot, self.config = robot, config
        self._config_id = digest(__version__, robot.urdf, robot.joint_names, config.actuators, config.online)
        self._refinement = Refinement(robot, config.actuators, config.online, gains_told=gains_told)
        self.reset()

    def reset(self) -> ActuatorUpdate:
        """Forgets all data; returns what is known then, which is nothing."""
        self._windows = WindowCutter(self.robot, self.config.online, self.config.actuators.motion.gap)
        self._refinement.reset()
        self.received: Counter[str] = Counter()
        self.update = ActuatorUpdate(0.0, self.robot.name, self._config_id, self._refinement.state)
        return self.update

    @property
    def rejected(self) -> dict[str, int]:
        """Messages and stretches of motion not used so far, by reason."""
        windows = self._windows
        return {
            **{f"state: {reason}": n for reason, n in windows.stream.rejected.items()},
            **{f"command: {reason}": n for reason, n in windows.commands.rejected.items()},
            **{f"motion: {reason}": n for reason, n in windows.dropped.items()},
        }

    def take_state(self, raw: RawJointState) -> ActuatorUpdate | None:
        """Takes a joint state; an update if it completes a window."""
        self.received["states"] += 1
        return self._refine(self._windows.take_state(raw))

    def take_command(self, raw: RawSetPoints) -> ActuatorUpdate | None:
        """Takes a command; an update if it completes a window."""
        self.received["commands"] += 1
        return self._refine(self._windows.take_command(raw))

    def interrupt(self) -> None:
        """Messages may have been lost: no window reaches from before to after."""
        self._windows.interrupt("messages lost")

    def replayed_motion(self) -> ReplayedMotion | None:
        """Motion that the models rest on and its replay by the commands alone; None before there are models."""
        return self._refinement.replayed_motion()

    def joint_methods(self) -> tuple[JointMethod, ...]:
        """The torque oracle of each joint along that motion (`oracle.beside`); none unless it is asked for."""
        return self._refinement.joint_methods()

    def _refine(self, windows: Sequence[MotionWindow]) -> ActuatorUpdate | None:
        for window in windows:
            known = self.update.state.alarms
            state = self._refinement.take(window)
            alarmed = state.alarms != known
            self.update = ActuatorUpdate(window.end, self.robot.name, self._config_id, state, alarmed)
        return self.update if windows else None
