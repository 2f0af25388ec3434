# SPDX-License-Identifier: Apache-2.0
"""Lifecycle node that executes certified trajectories on a torque-controlled robot, and nothing else.

Topics, in: ``joint_states`` (sensor_msgs/JointState), ``certified_trajectory`` (online_sysid/CertifiedTrajectory),
``interval_identifier/parameter_bounds`` (online_sysid/ParameterBounds, latched), ``obstacles`` (online_sysid/Obstacles,
latched or not) and ``robot_stop`` (online_sysid/StopRequest, likewise: the robot has stopped by itself). Out:
``torque_command`` (online_sysid/TorqueCommand), ``stop_request`` (online_sysid/StopRequest), ``~/status``
(online_sysid/ControllerStatus, latched), ``/diagnostics`` and, unless ``same_clock`` is set, ``no_command``
(std_msgs/Header): that of a joint state which no torque answers, as nothing is executed yet. Services
(std_srvs/Trigger): ``~/brake`` follows the certified end of the trajectory, ``~/stop`` calls for the robot's own stop,
``~/reset`` starts over after either. With ``authority.key_file`` only who holds that key is obeyed: ros/authority.py.

It does not become inactive while the robot is under its command, and a shutdown then calls for the robot's own stop.

One thread answers joint states; everything else is small enough to wait for in between.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from online_sysid.msg import (
    CertifiedTrajectory,
    ControllerStatus,
    Obstacles,
    ParameterBounds,
    StopRequest,
    TorqueCommand,
)
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import SysidError
from sysid_nodes.results import Status
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.controller_conversions import TorqueWriter, stop_request, to_controller_status
from sysid_nodes.ros.certified.controller_report import ControllerReport
from sysid_nodes.ros.certified.scene_messages import to_scene
from sysid_nodes.ros.certified.trajectory_messages import to_record
from sysid_nodes.ros.conversions import to_joint_state
from sysid_nodes.ros.diagnostics import component
from sysid_nodes.ros.frames import FrameLookup
from sysid_nodes.ros.managed_node import ManagedNode, run
from sysid_nodes.ros.spinning import spin, until_shutdown
from sysid_nodes.sessions.certified.config import RobustControllerConfig, check_ages, set_up
from sysid_nodes.sessions.certified.controller import build_controller
from sysid_nodes.sessions.certified.recertifier import Recertifier
from sysid_nodes.sessions.certified.settings import ESTIMATES
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode

NAME = "robust_controller"

_CHECK_PERIOD = 0.01  # between two looks at whether joint states still come [s]
_STATUS_PERIOD = 0.1  # [s]
_BOUNDS = "interval_identifier/parameter_bounds"
_ANSWERS = qos.stream("reliable", 100)


class RobustControllerNode(ManagedNode):
    """Converts, lets the controller answer, converts back.

    Raises:
        SysidError: a parameter is wrong.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (RobustControllerConfig,), period=f"{NAME}.diagnostics_period", **kwargs)

    def _who_commands(self) -> AuthorityConfig:
        return self._settings.build(RobustControllerConfig).authority

    def _make(self) -> str:
        config = self._settings.build(RobustControllerConfig)
        self._setup = setup = set_up(config)
        check_ages(config)
        if config.estimates:
            self.get_logger().warning(ESTIMATES)
        self._surroundings: Scene | None = setup.scene
        self._controller = build_controller(setup, config, config.controller)
        self._prover = Recertifier(config) if config.controller.recertify else None
        if self._prover is not None:
            self._taken.callback(self._prover.close)
        self._same_clock = config.robust_controller.same_clock
        self._depth = config.robust_controller.queue_depth
        names = setup.robot.joint_names
        self._writer, self._torque = TorqueWriter(names), np.zeros(0)
        self._output = ControllerOutput(Mode.IDLE, StopReason.NONE, np.nan)
        self._told: tuple[Any, ...] = ()
        self._robot_stop = StopReason.NONE
        self._frames = FrameLookup(self)
        self._taken.callback(self._frames.destroy)
        topic = self.resolve_topic_name("joint_states")
        self._reports = ControllerReport(component(self), topic, age_watched=self._same_clock)
        self._commands = self.publisher(TorqueCommand, "torque_command", _ANSWERS)
        # Time of an arm in lockstep would else run ahead of a controller that is about to start (torque_interface.py).
        self._idle = None if self._same_clock else self.publisher(Header, "no_command", _ANSWERS)
        stops = self.publisher(StopRequest, "stop_request", qos.stream("reliable", 100))
        self._stops = self._authority.publisher(stops)
        self._statuses = self.publisher(ControllerStatus, "~/status", qos.LATCHED)
        for name, serve in (("brake", self._brake), ("stop", self._stop), ("reset", self._reset)):
            self.serve(name, serve)
        self.every(_CHECK_PERIOD, self._check)
        self.every(_STATUS_PERIOD, self._publish_status)
        return f"{setup.robot.name}, configuration {setup.config_id}, scene {setup.scene.id}"

    def _begin(self) -> str:
        authority, states = self._authority, qos.stream("reliable", self._depth)
        self._streams += [
            self.create_subscription(JointState, "joint_states", self._step, states),
            authority.subscribe(CertifiedTrajectory, "certified_trajectory", self._offer, qos.stream("reliable", 10)),
            authority.subscribe(ParameterBounds, _BOUNDS, self._bounds, qos.LATCHED),
            *authority.subscribe_latest(Obstacles, "obstacles", self._scene),
            *authority.subscribe_latest(StopRequest, "robot_stop", self._take_robot_stop),
        ]
        self._publish_status()
        return f"answering {self._streams[0].topic_name}"

    def _hold_reason(self) -> str:
        commands = self._controller.mode.commands
        return super()._hold_reason() or ("the robot is under command; call ~/stop first" if commands else "")

    def release(self) -> None:
        """Gives back all that configure and activate took, after a stop where the robot is under command."""
        if self._made and self.context.ok() and self._controller.mode.commands:
            with until_shutdown():
                self._react(self._controller.stop(StopReason.REQUESTED))
        super().release()

    # -- joint states

    def _step(self, message: JointState) -> None:
        now = time.perf_counter()
        state = to_joint_state(message)
        age = 1e-9 * self.get_clock().now().nanoseconds - state.stamp if self._same_clock else None
        output = self._controller.step(state, now, age)
        if self._robot_stop and output.torque is not None:  # nothing else was found wrong
            output = self._controller.stop(self._robot_stop)
        if output.torque is not None:
            self._torque = output.torque
            self._commands.publish(self._writer.write(output.torque, message.header.stamp))
            done = time.perf_counter()
            self._reports.note_command(now, done, age)
            if age is not None:
                output = self._controller.note_sent(age + done - now) or output
        elif output.mode is Mode.IDLE and self._idle is not None:
            self._idle.publish(message.header)
        self._react(output)
        self._take_proofs()

    def _check(self) -> None:
        if not self._streams:
            return
        self._take_proofs()
        output = self._controller.check(time.perf_counter())
        if output is not None:
            self._react(output)

    def _react(self, output: ControllerOutput) -> None:
        """Sends the stop and tells what has changed."""
        self._output = output
        if output.stop is not None:
            self._stops.publish(stop_request(output.stop))
        self._reports.note_step(output)
        state = (output.mode, output.reason, output.trajectory_id, output.refused_id, output.refused_reason)
        if state != self._told:
            self._tell(state)
            self._told = state
            self._publish_status()

    def _tell(self, new: tuple[Any, ...]) -> None:
        """One line for each event."""
        output, old = self._output, self._told or (None, None, "", "", None)
        if new[:2] != old[:2]:
            line = f"{output.mode.name}: {output.text}" if output.reason else output.mode.name
            if output.mode is Mode.STOPPED or output.reason not in _USUAL:
                self.get_logger().error(line)
            else:
                self.get_logger().info(line)
        if new[3:] != old[3:] and output.refused_reason:
            self.get_logger().warning(f"trajectory {output.refused_id} refused: {output.refused_reason.message}")

    # -- everything else that arrives

    def _offer(self, message: CertifiedTrajectory) -> None:
        record, scene = to_record(message), self._surroundings
        if self._prover is None:
            self._controller.offer(record)
        elif not self._controller.consider(record) and (scene is None or not self._prover.submit(record, scene)):
            self._controller.refuse(record, StopReason.TRAJECTORY_NOT_CERTIFIED)

    def _take_proofs(self) -> None:
        """Accepts what was proven in the meantime."""
        while self._prover is not None and (answer := self._prover.poll()) is not None:
            self._controller.offer(answer.record, answer.proof)

    def _bounds(self, message: ParameterBounds) -> None:
        known = message.status in list(Status) and message.robot in ("", self._setup.robot.name)
        nothing = np.full(10, np.nan)
        self._controller.bounds(
            np.array(message.lower) if known else nothing,
            np.array(message.upper) if known else nothing,
            Status(message.status) if known else Status.PROVEN,
            body=message.body,
            target=message.target,
        )

    def _scene(self, message: Obstacles) -> None:
        try:
            scene = to_scene(message, self._setup.frame, self._frames)
        except SysidError as error:
            self.get_logger().error(f"obstacles not used: {error}")
            self._surroundings = None
            self._controller.scene(None)
        else:
            self._surroundings = scene
            self._controller.scene(scene.id)

    def _take_robot_stop(self, message: StopRequest) -> None:
        """The robot's own stop; joint states that follow, or do not, tell more of its cause before it counts."""
        known = {reason.value: reason for reason in StopReason}
        self._robot_stop = known.get(message.reason, StopReason.COMMAND_TIMEOUT)

    def _brake(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._controller.brake()
        response.success, response.message = True, StopReason.REQUESTED.message
        return response

    def _stop(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._react(self._controller.stop(StopReason.REQUESTED))
        response.success, response.message = True, StopReason.REQUESTED.message
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self._controller.mode.commands:
            response.success, response.message = False, "the robot is under command; stop it first"
        elif self._robot_stop:
            response.success, response.message = False, "the robot's own stop is in force; release that first"
        else:
            self._controller.reset()
            self._react(ControllerOutput(Mode.IDLE, StopReason.NONE, self._output.stamp))
            response.success, response.message = True, "idle"
        return response

    # -- reports

    def _publish_status(self) -> None:
        if not self._streams:  # nobody is to plan for a controller that does not listen
            return
        period, age = self._reports.take_period()
        message = to_controller_status(
            self._output, self._setup.robot.joint_names, self._torque, self._setup.robot.limits.torque,
            period=period, age=age, age_watched=self._same_clock, start_rate=self._controller.start_rate,
        )  # fmt: skip
        authority = self._authority
        message.commands_signed, message.unauthorised = authority.signed, authority.refused
        message.unauthorised_text = authority.text
        with until_shutdown():
            self._statuses.publish(message)

    def _status(self, *, active: bool) -> DiagnosticStatus:
        silent = not self.count_publishers(self.resolve_topic_name(_BOUNDS))
        return self._reports.status(self._output, active=active, bounds_silent=silent)


_USUAL = (StopReason.NONE, StopReason.PLAN_ENDED, StopReason.REQUESTED, StopReason.BOUNDS_SILENT)


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""

    def serve(node: RobustControllerNode, stopped: Callable[[], bool]) -> None:
        # A collection takes longer than a control period, and nothing here makes cycles.
        gc.freeze()
        gc.disable()
        spin(node, stopped)

    return run(NAME, RobustControllerNode, args, serve)


if __name__ == "__main__":
    sys.exit(main())
