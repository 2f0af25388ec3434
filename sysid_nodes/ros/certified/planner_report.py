# SPDX-License-Identifier: Apache-2.0
"""State of the certified planner, for /diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros.diagnostics import ERROR, OK, WARN, diagnostic_status
from sysid_nodes.sessions.certified.planning import Planning
from sysid_nodes.sessions.diagnostic_keys import LAST_OUTCOME, PHASE


def planner_values(planning: Planning, rate: float) -> dict[str, str]:
    """Diagnostic values of a planning; the phase by its name, for programs.

    Args:
        planning: the planning.
        rate: the robot's seconds in one of the machine's.
    """
    last, bounds = planning.last, planning.known.bounds
    return {
        PHASE: planning.agenda.phase.name,
        "trajectories": str(planning.made),
        "steps that certified nothing": str(planning.failed),
        LAST_OUTCOME: planning.message,
        "finished too late": str(planning.dropped),
        "planning is taken to need [s]": f"{planning.timing.needs:.3f}",
        "robot's seconds in one of the machine's": f"{rate:.3f}",
        "planning time [s]": f"{last.result.elapsed:.3f}" if last is not None else "",
        "certificates": str(last.result.certificates) if last is not None else "",
        "time of certificates [s]": f"{last.result.certifying:.3f}" if last is not None else "",
        "goals left": str(len(planning.agenda.goals)),
        "mass [kg]": f"{bounds.lower[0]:.3f} to {bounds.upper[0]:.3f}",
    }


def planner_status(
    name: str,
    planning: Planning,
    *,
    active: bool,
    deaf: str,
    refused: StopReason,
    broken: str,
    values: Mapping[str, str],
    robot: str,
) -> DiagnosticStatus:
    """The planner's status: the worst thing first.

    Args:
        name: of the status.
        planning: the planning.
        active: the node listens.
        deaf: who has not been heard of yet; empty where all have.
        refused: why nothing is sent to a position controller any more.
        broken: how the last step broke off; empty where it did not.
        values: details, see `planner_values`.
        robot: its name.
    """
    level, message = _judge(planning, deaf, refused, broken) if active else (OK, "inactive")
    return diagnostic_status(name, level, message, values, hardware=robot)


def _judge(planning: Planning, deaf: str, refused: StopReason, broken: str) -> tuple[bytes, str]:
    if deaf:
        return WARN, deaf
    if refused:
        return ERROR, f"no more plans: {refused.message}"
    if not planning.known.consistent or planning.known.scene is None:
        return ERROR, "bounds or obstacles are unusable: no more plans"
    if planning.failed:
        return (ERROR, broken) if broken else (WARN, planning.message)
    return OK, planning.agenda.phase.value
