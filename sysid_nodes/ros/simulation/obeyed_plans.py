# SPDX-License-Identifier: Apache-2.0
"""Plans as a commanded robot takes them: those made for the latest estimate, one after the other."""

from __future__ import annotations

from typing import Any

from online_sysid.msg import ExplorationPlan, SamplingPosterior
from rclpy.node import Node

from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.sampling.plan import to_plan
from sysid_nodes.results.exploration import require_estimate, require_policy
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import as_fields
from sysid_nodes.sessions.diagnostic_keys import FOLLOWS
from sysid_nodes.simulation.legged import LeggedRobotSim
from sysid_nodes.simulation.legged.node_config import SimulatedLeggedRobotConfig
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves

_SOON = 0.3  # from a plan's acceptance to its first command [s]


class Obeyed:
    """Hears estimates and plans, and has the robot follow those it may.

    Args:
        node: owner of the subscriptions.
        sim: with a controller that obeys commands.
    """

    def __init__(self, node: Node, sim: LeggedRobotSim, config: SimulatedLeggedRobotConfig) -> None:
        self._node, self._sim = node, sim
        self._estimate, self._following, self._followed = "", "", 0
        node.create_subscription(SamplingPosterior, config.posterior, self._take_estimate, qos.LATCHED)
        node.create_subscription(ExplorationPlan, config.plan, self._take_plan, qos.LATCHED)

    @property
    def values(self) -> dict[str, str]:
        """For the diagnostics."""
        commanded, now = self._sim.commanded, self._sim.elapsed
        busy = commanded is not None and commanded.busy(now)
        doing = f"plan {self._following}" if self._following else "first motion"
        return {
            FOLLOWS: doing if busy else "",
            "plans followed": str(self._followed - (busy and bool(self._following))),
        }

    def _take_estimate(self, message: Any) -> None:
        self._estimate = message.id

    def _take_plan(self, message: Any) -> None:
        commanded, now = self._sim.commanded, self._sim.elapsed
        assert commanded is not None  # who made this saw to it
        try:
            plan = to_plan(as_fields(message))
            require_estimate(plan, self._estimate)
            require_policy(plan, commanded.policy)
            if plan.robot != self._sim.robot.name:
                raise InputError(f"plan {plan.id} is for robot '{plan.robot}'")
            if commanded.busy(now):
                raise InputError(f"plan {plan.id} came while another motion was under way")
        except InputError as error:
            self._node.get_logger().warning(f"plan not followed: {error}")
            return
        commanded.follow(CommandCurves.of(plan), now + _SOON)
        self._following, self._followed = plan.id, self._followed + 1
        self._node.get_logger().info(f"follows plan {plan.id} for {plan.duration:g} s")
