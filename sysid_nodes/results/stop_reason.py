# SPDX-License-Identifier: Apache-2.0
"""Reasons of a controller to brake, to stop or to refuse a trajectory: one name each, as robot vendors have them."""

from __future__ import annotations

from enum import IntEnum


class StopReason(IntEnum):
    """Numbers are those of ControllerStatus.msg and StopRequest.msg and do not change their meaning; 3 is retired."""

    NONE = 0
    # The motion's own end
    PLAN_ENDED = 1
    PLANNER_SILENT = 2
    REQUESTED = 4
    # Joint states
    JOINT_STATES_LOST = 10
    JOINT_STATES_FROZEN = 11
    JOINT_STATES_INVALID = 12
    JOINT_STATES_IMPLAUSIBLE = 13
    JOINT_STATES_SLOW = 14
    JOINT_STATES_DELAYED = 15
    JOINT_STATES_INTERMITTENT = 16
    JOINT_NAMES_WRONG = 17
    # Model and tracking
    TRACKING_ERROR = 20
    TORQUE_SATURATED = 21
    COMMAND_LATE = 22
    # Bounds
    BOUNDS_INCONSISTENT = 30
    BOUNDS_WIDENED = 31
    BOUNDS_INVALID = 32
    BOUNDS_SILENT = 33
    # Surroundings
    SCENE_CHANGED = 40
    SCENE_INVALID = 41
    # A trajectory that is not executed
    TRAJECTORY_ALTERED = 50
    TRAJECTORY_NOT_CERTIFIED = 51
    TRAJECTORY_OTHER_CONFIG = 52
    TRAJECTORY_OTHER_BOUNDS = 53
    TRAJECTORY_OTHER_SCENE = 54
    TRAJECTORY_NOT_CONTINUOUS = 55
    TRAJECTORY_LATE = 56
    TRAJECTORY_INVALID = 57
    # The robot itself
    COMMAND_TIMEOUT = 60

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]


_MESSAGES = {
    StopReason.NONE: "nothing is wrong",
    StopReason.PLAN_ENDED: "the last trajectory has come to its end",
    StopReason.PLANNER_SILENT: "no further trajectory arrived in time",
    StopReason.REQUESTED: "a stop was asked for",
    StopReason.JOINT_STATES_LOST: "no joint states arrive",
    StopReason.JOINT_STATES_FROZEN: "joint states arrive but do not change",
    StopReason.JOINT_STATES_INVALID: "joint states hold values that are not finite",
    StopReason.JOINT_STATES_IMPLAUSIBLE: "joint states change in a way that no motion of the robot explains",
    StopReason.JOINT_STATES_SLOW: "joint states arrive too rarely for the certificate",
    StopReason.JOINT_STATES_DELAYED: "joint states are older than the certificate allows",
    StopReason.JOINT_STATES_INTERMITTENT: "joint states have gaps longer than the certificate allows",
    StopReason.JOINT_NAMES_WRONG: "joint states do not name the robot's joints",
    StopReason.TRACKING_ERROR: "the tracking error has left its proven bound, so an assumption is false",
    StopReason.TORQUE_SATURATED: "a torque limit was reached, which the certificate excludes",
    StopReason.COMMAND_LATE: "a command took longer to compute than the certificate allows",
    StopReason.BOUNDS_INCONSISTENT: "the identifier finds no parameters that explain the data",
    StopReason.BOUNDS_WIDENED: "the bounds in force are wider than those of the certificate",
    StopReason.BOUNDS_INVALID: "the bounds that arrived are unusable",
    StopReason.BOUNDS_SILENT: "no bounds arrive; the last ones stay in force and motion goes on",
    StopReason.SCENE_CHANGED: "the obstacles have changed and no trajectory was certified among them in time",
    StopReason.SCENE_INVALID: "the obstacles that arrived are unusable",
    StopReason.TRAJECTORY_ALTERED: "the trajectory does not match its digest",
    StopReason.TRAJECTORY_NOT_CERTIFIED: "the trajectory carries no valid certificate",
    StopReason.TRAJECTORY_OTHER_CONFIG: "the trajectory was certified for another robot, controller or uncertainty",
    StopReason.TRAJECTORY_OTHER_BOUNDS: "the trajectory was certified against bounds that do not hold those in force",
    StopReason.TRAJECTORY_OTHER_SCENE: "the trajectory was certified among other obstacles",
    StopReason.TRAJECTORY_NOT_CONTINUOUS: "the trajectory does not continue the one in execution",
    StopReason.TRAJECTORY_LATE: "the trajectory starts in the past",
    StopReason.TRAJECTORY_INVALID: "the trajectory's numbers are unusable",
    StopReason.COMMAND_TIMEOUT: "the robot received no command in time",
}
