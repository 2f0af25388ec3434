# SPDX-License-Identifier: Apache-2.0
"""Plans, for every estimate of ``spi_identifier``, commands to a walking robot that tell the most about what is left.

In: the latched estimate (option ``posterior``; online_sysid/SamplingPosterior). Out, latched: ``~/plan``
(online_sysid/ExplorationPlan), vetted on robots drawn from the estimate and good for that estimate alone, and
``~/markers`` (visualization_msgs/MarkerArray), its path and the reach of drawn robots for RViz, relative to where the
robot starts. If drawn robots
come to harm under every plan it tried, it says so in log and ``/diagnostics``, and publishes nothing. Services
``~/reset``, and ``~/save``, which writes the plan's files into a folder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from online_sysid.msg import ExplorationPlan as PlanMessage
from online_sysid.msg import SamplingPosterior
from visualization_msgs.msg import MarkerArray

from sysid_nodes.exceptions import ConfigError, InputError, SysidError
from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.geometry import header
from sysid_nodes.messages.sampling.plan import marker_fields, plan_fields
from sysid_nodes.messages.sampling.posterior import to_posterior
from sysid_nodes.results.exploration import ExplorationPlan
from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import as_fields, to_seconds
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, component, diagnostic_status
from sysid_nodes.ros.identifying_node import IdentifyingNode
from sysid_nodes.ros.managed_node import run
from sysid_nodes.sessions.diagnostic_keys import ACTIVITY, FAULT
from sysid_nodes.sessions.sampling.node_config import PlannerNodeConfig
from sysid_nodes.sessions.sampling.planning import ExplorationSessionConfig, PlanningSession
from sysid_nodes.sessions.worker import LiveWorker

NAME = "exploration_planner"

_PATIENCE = 300.0  # longest wait for a plan that is under way [s]
_WAITING = 4  # estimates that wait; only the newest counts


class LivePlanning:
    """Methods are for the executor's thread.

    Args:
        session: plans, on the worker's thread.
        most: plans; 0 for no end.
        publish: called on the worker's thread with every plan that is fit, and the stamp of its estimate [s].
        refuse: called on the worker's thread where none is, with the reason.
    """

    def __init__(
        self,
        session: PlanningSession,
        most: int,
        publish: Callable[[ExplorationPlan, float], None],
        refuse: Callable[[str], None],
    ) -> None:
        self.session, self._most, self._publish, self._refuse = session, most, publish, refuse
        self._worker = LiveWorker(self._process, refuse, capacity=_WAITING)
        self._start()

    def _start(self) -> None:
        self.plan: ExplorationPlan | None = None
        self.activity, self.fault, self.made, self.solve_time = "waiting for an estimate", "", 0, 0.0

    def put(self, message: Any) -> None:
        """An estimate; older ones that wait are forgotten."""
        self._worker.clear()
        self._worker.put(message)

    def clear(self) -> None:
        """Forgets the estimates that wait."""
        self._worker.clear()

    def reset(self) -> None:
        """Forgets plan and estimates.

        Raises:
            SysidError: a plan is under way for too long.
        """
        self._worker.start_over(self._start, _PATIENCE)

    def stop(self) -> None:
        """Ends the worker's thread."""
        self._worker.stop()

    def status(self, node: str, *, active: bool) -> DiagnosticStatus:
        """State of the planning."""
        fault = self._worker.fault or self.fault
        level = ERROR if fault else OK if self.plan is not None or not active else WARN
        values = {
            ACTIVITY: self.activity,
            FAULT: fault,
            "plans": str(self.made),
            "plan": "" if self.plan is None else self.plan.id,
            "planning time [s]": f"{self.solve_time:.3f}",
        }
        robot = self.session.robot.name
        return diagnostic_status(f"{node}: planning", level, fault or self.activity, values, hardware=robot)

    def _process(self, message: Any) -> None:
        """On the worker's thread."""
        if not message.names or (self._most and self.made >= self._most):
            return
        began = time.monotonic()
        try:
            posterior = to_posterior(as_fields(message))
            found = self.session.plan(posterior, message.config_id, self._tell)
        except (ConfigError, InputError) as error:
            self._fail(str(error))
            return
        self.solve_time = time.monotonic() - began
        if found.vetting.faults:
            self._fail(f"no plan is fit: {'; '.join(found.vetting.faults)}")
            return
        self.plan, self.fault, self.made = found, "", self.made + 1
        self.activity = f"plan {found.id} for estimate {found.estimate}"
        self._publish(found, to_seconds(message.header.stamp))

    def _fail(self, reason: str) -> None:
        self.activity = self.fault = reason
        self._refuse(reason)

    def _tell(self, text: str, done: int, total: int) -> None:
        self.activity = f"{text}: {done} of {total}"


class ExplorationPlannerNode(IdentifyingNode[LivePlanning]):
    """Converts, lets the session plan, converts back."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(NAME, (ExplorationSessionConfig, PlannerNodeConfig), **kwargs)

    def _open(self) -> tuple[LivePlanning, str]:
        session = PlanningSession(self._settings.build(ExplorationSessionConfig))
        self._plan = self.publisher(PlanMessage, "~/plan", qos.LATCHED)
        self._markers = self.publisher(MarkerArray, "~/markers", qos.LATCHED)
        most = self._settings.build(PlannerNodeConfig).plans
        return LivePlanning(session, most, self._publish, self._warn), f"robot '{session.robot.name}'"

    def _subscribe(self, live: LivePlanning) -> str:
        topic = self._settings.build(PlannerNodeConfig).posterior
        self._streams.append(self.create_subscription(SamplingPosterior, topic, live.put, qos.LATCHED))
        return f"listening to {self._streams[0].topic_name}"

    def _publish(self, plan: ExplorationPlan, stamp: float) -> None:
        """On the worker's thread."""
        if not self.context.ok():
            return
        self._plan.publish(to_message(PlanMessage, {"header": header(stamp), **plan_fields(plan)}))
        self._markers.publish(to_message(MarkerArray, marker_fields(plan)))
        self._say(f"plan {plan.id} for estimate {plan.estimate}: {', '.join(plan.gaits)}")

    def _status(self, *, active: bool) -> DiagnosticStatus:
        return self._configured.status(component(self), active=active)

    def _write(self, live: LivePlanning, path: str) -> tuple[str, str]:
        from sysid_nodes.reports.sampling.exploration import write_plan  # plots take their time

        if live.plan is None:
            raise SysidError(f"there is no plan: {live.activity}")
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        write_plan(folder, live.plan, live.session.config.exploration, live.plan.estimate)
        return str(folder), live.activity


def main(args: list[str] | None = None) -> int:
    """Runs the node; returns the exit status: 0, or 2 with one line on stderr when it cannot start."""
    return run(NAME, ExplorationPlannerNode, args)


if __name__ == "__main__":
    sys.exit(main())
