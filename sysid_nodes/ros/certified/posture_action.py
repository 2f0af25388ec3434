# SPDX-License-Identifier: Apache-2.0
"""The certified planner's goals as an action: ``~/go_to`` (online_sysid/GoTo), whose client hears how it ended.

A goal is accepted when it names every joint, is told of how far its turn is, and ends when the robot rests there, when
no way there can be certified, or when it is cancelled: a trajectory that leads there is then left for rest or the next
goal, unless it was to be followed to its end.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from online_sysid.action import GoTo
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.robots.robot import Array
from sysid_nodes.ros.authority import Authority
from sysid_nodes.sessions.certified.agenda import Agenda

NAME = "~/go_to"

_FEEDBACK_PERIOD = 0.2  # [s]


class _Asked(NamedTuple):
    goal: Array
    handle: Any


class PostureAction:
    """Methods are for the executor's thread. The action lasts as the node does; between plannings goals are refused."""

    def __init__(self, node: Node, authority: Authority) -> None:
        self._authority, self._log, self._name = authority, node.get_logger(), node.resolve_service_name(NAME)
        self._agenda: Agenda | None = None
        self._asked: list[_Asked] = []
        self._ended: deque[tuple[Array, str]] = deque()
        self._told = 0.0
        # Its `execute` comes at the end: a callback that waits would keep the executor busy. To destroy the server
        # while an answer is on its way crashes rclpy.
        self._server = ActionServer(
            node,
            GoTo,
            NAME,
            execute_callback=lambda _: GoTo.Result(),
            goal_callback=self._judge,
            handle_accepted_callback=self._enqueue,
            cancel_callback=lambda _: CancelResponse.REJECT if authority.signed else CancelResponse.ACCEPT,
        )

    def begin(self, agenda: Agenda, order: JointOrder, progress: Callable[[], tuple[str, str]]) -> None:
        """Takes goals for a planning from now on.

        Args:
            agenda: takes the goals.
            order: of the robot's joints.
            progress: what plans are for now, and the trajectory in execution.
        """
        self._agenda, self._order, self._progress = agenda, order, progress
        agenda.ended = lambda goal, why: self._ended.append((goal, why))  # on the planner's thread

    def end(self) -> None:
        """Takes no goals any more, and aborts those under way."""
        self._agenda = None
        for asked in list(self._asked):
            self._end(asked, "the node has stopped planning", "abort")

    def report(self) -> None:
        """Ends goals that have come to their end, and tells of the others; to be called often."""
        if self._agenda is None:
            return
        while self._ended:
            goal, why = self._ended.popleft()
            for asked in [asked for asked in self._asked if asked.goal is goal]:
                self._end(asked, why or "the robot is there", "abort" if why else "succeed")
        for asked in [asked for asked in self._asked if asked.handle.is_cancel_requested]:
            self._agenda.give_up(asked.goal)
            self._end(asked, "cancelled", "canceled")
        now = time.monotonic()
        if self._asked and now - self._told > _FEEDBACK_PERIOD:
            self._told = now
            self._tell(list(self._agenda.goals))

    def _judge(self, goal: Any) -> GoalResponse:
        if not self._authority.allows(goal, self._name):
            return GoalResponse.REJECT
        if self._agenda is None:
            self._log.warning("goal refused: the node is not configured")
            return GoalResponse.REJECT
        if self._order.columns(goal.joint_names) is None or len(goal.position) != len(goal.joint_names):
            self._log.warning("goal refused: it must name every joint and give its position")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _enqueue(self, handle: Any) -> None:
        assert self._agenda is not None
        asked = _Asked(np.array(handle.request.position)[self._order.columns(handle.request.joint_names)], handle)
        self._asked.append(asked)
        self._agenda.goals.append(asked.goal)

    def _end(self, asked: _Asked, words: str, outcome: str) -> None:
        self._asked.remove(asked)

        def execute(handle: Any) -> Any:
            getattr(handle, outcome)()
            return GoTo.Result(message=words)

        asked.handle.execute(execute)

    def _tell(self, waiting: list[Array]) -> None:
        activity, trajectory = self._progress()
        for asked in self._asked:
            before = next((k for k, goal in enumerate(waiting) if goal is asked.goal), 0)
            asked.handle.publish_feedback(GoTo.Feedback(before=before, activity=activity, trajectory_id=trajectory))
