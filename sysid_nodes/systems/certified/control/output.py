# SPDX-License-Identifier: Apache-2.0
"""The robust controller's answer to a joint state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots.robot import Array


class Mode(IntEnum):
    """The controller's present activity; numbers of ControllerStatus.msg."""

    IDLE = 0
    TRACKING = 1
    BRAKING = 2
    HOLDING = 3
    STOPPED = 4

    @property
    def commands(self) -> bool:
        """Whether torques are commanded."""
        return self in (Mode.TRACKING, Mode.BRAKING, Mode.HOLDING)


@dataclass(frozen=True)
class Tracking:
    """Errors of following a trajectory at one joint state, (n,) each.

    Attributes:
        desired: position, on the turn of the trajectory [rad].
        position_error, position_bound: desired minus measured, and what is proven of its true value [rad].
        reference_error, reference_bound: r = de/dt + K_r e as measured, and what is proven of its true value [rad/s].
        usage: largest share of the proven bounds that the errors take for certain, sensors' errors taken off [1].
    """

    desired: Array
    position_error: Array
    position_bound: Array
    reference_error: Array
    reference_bound: Array
    usage: float


@dataclass(frozen=True)
class ControllerOutput:
    """Answer to one joint state, or to the lack of one.

    Attributes:
        mode: after it.
        reason: why it brakes, holds or stopped; in IDLE why it would not start; NONE otherwise.
        stamp: of the joint state that the torque answers to [s]; NaN before the first.
        torque: (n,) to command [N m]; None for no command.
        stop: reason of a StopRequest to send now; None otherwise. It is given once.
        trajectory_id, trajectory_time: what is executed and the time into it [s]; empty and 0 without.
        refused_id, refused_reason: the last trajectory that was refused; empty and NONE without.
        tracking: None without a trajectory.
    """

    mode: Mode
    reason: StopReason
    stamp: float
    torque: Array | None = None
    stop: StopReason | None = None
    trajectory_id: str = ""
    trajectory_time: float = 0.0
    refused_id: str = ""
    refused_reason: StopReason = StopReason.NONE
    tracking: Tracking | None = None

    @property
    def text(self) -> str:
        """The reason in one sentence, and what it means as long as the motion goes on."""
        if self.reason is StopReason.SCENE_CHANGED and self.mode.commands:
            return "the obstacles have changed; until a trajectory certified among them takes over, nothing is proven"
        return self.reason.message

    @property
    def refused_text(self) -> str:
        """Reason of the last refusal of a trajectory in one sentence; empty without."""
        return self.refused_reason.message if self.refused_reason else ""
