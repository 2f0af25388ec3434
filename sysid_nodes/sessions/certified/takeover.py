# SPDX-License-Identifier: Apache-2.0
"""Place and time at which the next trajectory takes over from the one in execution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.data.scene import Scene
from sysid_nodes.results.trajectory_record import takeover_ns
from sysid_nodes.sessions.certified.config import PlannerNodeConfig
from sysid_nodes.sessions.certified.state import Planned
from sysid_nodes.sessions.certified.timing import Timing

_SENDING = 0.02  # from the end of planning to the controller's acceptance, at least [s]


@dataclass(frozen=True, eq=False)
class Takeover:
    """A start of the next trajectory.

    Attributes:
        stamp: of it [ns].
        previous: what is in execution then; None at a rest that no trajectory of ours ends in.
        time: into the previous one [s].
        deadline: of planning, on the planner's clock [s].
        moving: the robot does not rest then.
        urgent: the previous one is not certified among the present obstacles, and goes on.
    """

    stamp: int
    previous: Planned | None = None
    time: float = 0.0
    deadline: float = np.inf
    moving: bool = False
    urgent: bool = False

    @property
    def rest(self) -> float:
        """Remaining time of the trajectory in execution, which goes on if it is free of new obstacles [s]."""
        return self.previous.plan.duration - self.time if self.urgent and self.previous is not None else 0.0

    def reschedule(self, finished: int, lead: float) -> Takeover | None:
        """The takeover by a plan that is finished at a stamp [ns]; None where that is too late.

        At rest any time will do: as long after the end of planning as the lead says [s].
        """
        if self.moving:
            return self if finished + round(_SENDING * SECOND) <= self.stamp else None
        stamp, previous = max(self.stamp, finished + round(lead * SECOND)), self.previous
        time = self.time if previous is None else max(self.time, 1e-9 * (stamp - previous.record.start_ns))
        return replace(self, stamp=stamp, time=time)


def takeover_from(
    previous: Planned, scene: Scene, timing: Timing, config: PlannerNodeConfig, *, clock: float, now: int
) -> Takeover | None:
    """Place at which a trajectory in execution is left; None where it is too early to plan that.

    Args:
        previous: in execution.
        scene: obstacles.
        clock: the planner's time [s].
        now: stamp of the present [ns].
    """
    elapsed = 1e-9 * (now - previous.record.start_ns)
    changed = previous.record.scene_id != scene.id
    time = elapsed + config.escape_time if changed else timing.takeover(elapsed, previous.replan)
    if time is None:
        return None
    moving = time < previous.plan.duration
    return Takeover(
        takeover_ns(previous.record, time),
        previous,
        time,
        clock + (time - elapsed - config.margin) / timing.rate if moving else np.inf,
        moving,
        changed and moving,
    )
