# SPDX-License-Identifier: Apache-2.0
"""A whole exciting motion planned beforehand: certified trajectories, each taking over from the one before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.trajectory_record import Phase, TrajectoryRecord, record_trajectory
from sysid_nodes.robots.robot import Array
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, Setup
from sysid_nodes.sessions.certified.motion_planner import MotionPlanner
from sysid_nodes.systems.certified.search.excitation import executed_states
from sysid_nodes.systems.certified.search.objective import Excite
from sysid_nodes.systems.certified.search.plan_result import PlanResult, Start

_TRIES = 2
"""A step's draws differ from try to try."""


@dataclass(frozen=True, eq=False)
class CertifiedPart:
    """A trajectory of the motion.

    Attributes:
        record: what was proven of it.
        until: time into it at which the next one takes over, or it ends [s].
    """

    plan: Bezier
    record: TrajectoryRecord
    until: float


@dataclass(frozen=True, eq=False)
class CertifiedExcitation:
    """The motion: parts in order, and why there is no more of it, in words; empty where that is as long as wanted."""

    parts: tuple[CertifiedPart, ...]
    reason: str

    def states(self, rate: float) -> State:
        """(N, n) at `rate` [1/s]."""
        return executed_states([part.plan for part in self.parts], [part.until for part in self.parts[:-1]], rate)


def certified_excitation(
    planner: MotionPlanner,
    setup: Setup,
    config: CertifiedPlannerConfig,
    q: Array,
    duration: float,
    *,
    progress: Callable[[float], None] | None = None,
) -> CertifiedExcitation:
    """A motion of about a duration [s] from rest at a posture (n,), certified for all models within the prior.

    A trajectory that none can take over from goes to its end, at rest, and the next begins there; where none begins
    from rest either, the motion is over.

    Args:
        planner: of the configuration, see build_planner.
        setup: robot, obstacles.
        config: of planner and certificates.
        q: posture [rad].
        duration: of the motion; at least one trajectory is made.
        progress: called with the length of what is planned [s].

    Raises:
        ConfigError: there is nothing to learn, see Planner.excite.
    """
    bounds, (t_f, t_p) = config.prior.bounds, config.planner.exciting
    box, objective = planner.box(bounds), planner.excite(bounds)
    start = at_end = Start.at_rest(np.asarray(q), planner.certifier.at_rest(box))
    before, planned, enough = objective, 0.0, duration - t_f + 0.5 * t_p
    parts: list[CertifiedPart] = []
    while not parts or planned < enough:
        result = _plan(planner, start, box, setup, objective)
        if result.plan is None or result.certificate is None:
            last = parts[-1] if parts else None
            if last is None or last.until == last.plan.duration:
                return CertifiedExcitation(tuple(parts), f"{result.status.value}: {result.reason}")
            parts[-1] = replace(last, until=last.plan.duration)
            planned += t_f - t_p
            start, objective = at_end, before.with_plan(last.plan, t_f, box)
            continue
        former = parts[-1] if parts else None
        record = record_trajectory(
            result.plan, result.certificate, start_ns=0, joint_names=setup.robot.joint_names,
            bounds=bounds, bounds_window=-1, nominal=box.theta[setup.robot.body_index(setup.body)],
            start_rate=start.entry.speed, body=setup.body, target=config.target,
            config_id=setup.config_id, scene_id=setup.scene.id, frame_id=setup.frame,
            previous=None if former is None else former.record,
            previous_time=0.0 if former is None else former.until, phase=Phase.EXCITE,
            last=planned + t_p >= enough,
        )  # fmt: skip
        parts.append(CertifiedPart(result.plan, record, t_p))
        before, objective = objective, objective.with_plan(result.plan, t_p, box)
        start, at_end = (Start.following(result.plan, result.certificate, t) for t in (t_p, t_f))
        planned += t_p
        if progress is not None:
            progress(planned)
    parts[-1] = replace(parts[-1], until=t_f)
    return CertifiedExcitation(tuple(parts), "")


def _plan(planner: MotionPlanner, start: Start, box: ModelBox, setup: Setup, objective: Excite) -> PlanResult:
    for _ in range(_TRIES):
        result = planner.plan(start, box, setup.scene, objective, np.inf)
        if result.plan is not None:
            break
    return result
