# SPDX-License-Identifier: Apache-2.0
"""The `certified` object of result.json: what became of plans, limits and goal in a run of the certified loop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene, scene_from_mapping, scene_to_mapping
from sysid_nodes.reports.certified.history import Array, CertifiedHistory, Plan, read_history
from sysid_nodes.reports.certified.margins import Distances, Margin, Tracking, distances, margins, tracking_errors
from sysid_nodes.reports.json_text import number, numbers
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.sessions.certified.settings import ESTIMATES, CertifiedModel, CertifiedSettings

IDENTIFY, CARRY = "identify", "carry"
ARRIVED, STOPPED, ENDED = "arrived", "stopped", "ended"

_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class CertifiedRun:
    """A run, read and compared with what was certified.

    Attributes:
        model: robot and settings.
        history: what happened.
        tracking, distances, margins: see margins.
        goal: (n,) posture to reach; None for none.
        near: largest distance of a joint from it that counts as there [rad].
        facts: fields of the result that the recording does not tell: prior_check, final_check, real_time_factor,
            processor, config.
    """

    model: CertifiedModel
    history: CertifiedHistory
    tracking: Tracking
    distances: Distances
    margins: tuple[Margin, ...]
    goal: Array | None
    near: float
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identified_at(self) -> float | None:
        """Time at which the first plan took over that does not identify [s]."""
        return next((plan.begun for plan in self.history.executed if not plan.identifies), None)

    @property
    def goal_error(self) -> float | None:
        """Largest distance of a joint from the goal at the end, whole turns apart [rad]."""
        if self.goal is None:
            return None
        off = self.history.q[-1] - self.goal
        return float(np.abs(np.where(self.model.robot.wraps, off - _TURN * np.rint(off / _TURN), off)).max())

    @property
    def outcome(self) -> str:
        """ARRIVED at the goal, STOPPED by controller or robot, or ENDED elsewhere."""
        error = self.goal_error
        if self.history.why_stopped:
            return STOPPED
        return ARRIVED if error is not None and error <= self.near else ENDED

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        return self._ending + (f" {ESTIMATES}" if self.model.estimates else "")

    @property
    def _ending(self) -> str:
        if self.outcome == STOPPED:
            return f"The robot was stopped: {self.history.why_stopped}."
        if self.outcome == ARRIVED:
            return "The load was carried to its goal in certified motion."
        events = self.history.events
        reasons = [event.text for event in reversed(events) if event.reason][:1]
        refused = [event.refused_text for event in reversed(events) if event.refused][:1]
        reasons += [f"a trajectory was refused: {text}" for text in refused]
        return f"The robot rests short of its goal{': ' if reasons else ''}{'; '.join(reasons)}."


def evaluate_run(
    model: CertifiedModel,
    history: CertifiedHistory,
    goal: Array | None,
    near: float,
    facts: Mapping[str, Any],
) -> CertifiedRun:
    """Compares a recording with its certificates; see CertifiedRun.

    Raises:
        InputError: the recording is of another robot.
    """
    found = distances(history, model.robot, model.shapes, history.scene)
    return CertifiedRun(
        model,
        history,
        tracking_errors(history, model.armature, model.encoder_error),
        found,
        tuple(margins(history, model.robot, found)),
        goal,
        near,
        facts,
    )


def load_certified_run(document: Mapping[str, Any], bag: Path) -> CertifiedRun:
    """Loads the run behind a result from its recording.

    Args:
        document: a result with a valid `certified` object.

    Raises:
        InputError: recording and result do not fit one another.
    """
    told = document["certified"]
    model = CertifiedModel(CertifiedSettings.of(told["config"]))
    history = read_history(bag, model.robot.joint_names, scene_from_mapping(told["scene"]))
    goal = None if told["goal"] is None else np.array(told["goal"])
    facts = {name: told[name] for name in ("prior_check", "final_check", "real_time_factor", "processor", "config")}
    return evaluate_run(model, history, goal, told["near"], facts)


def goal_check(model: CertifiedModel, goal: Array, bounds: Bounds, scene: Scene) -> dict[str, Any]:
    """Whether a motion that ends at a goal (n,) could be certified for bounds, as the result has it."""
    certificate = model.judge_rest(goal, bounds, scene)
    verdict = certificate.verdict
    reason = certificate.binding if certificate.certified else f"{verdict.message} ({certificate.binding})"
    errors = None if certificate.envelope is None else number(certificate.envelope.position_error.max())
    return {"certified": certificate.certified, "verdict": verdict.name, "reason": reason, "position_error": errors}


def certified_fields(loop: CertifiedRun) -> dict[str, Any]:
    """The object, every number finite or null."""
    history = loop.history
    return {
        "outcome": loop.outcome,
        "sentence": loop.sentence,
        "start": number(history.t[0]),
        "end": number(history.t[-1]),
        "identified_at": number(loop.identified_at),
        "goal": None if loop.goal is None else numbers(loop.goal),
        "goal_error": number(loop.goal_error),
        "near": loop.near,
        "prior_check": None,
        "final_check": None,
        "plans": [_plan(plan, loop) for plan in history.plans],
        "events": [
            {
                "t": number(event.t),
                "mode": event.mode.name,
                "reason": event.reason.name,
                "text": event.text,
                "refused": event.refused,
                "refused_text": event.refused_text,
            }
            for event in history.events
        ],
        "margins": [
            {
                "name": margin.name,
                "unit": margin.unit,
                "certified": number(margin.certified),
                "seen": number(margin.seen),
                "kept": margin.kept,
            }
            for margin in loop.margins
        ],
        "tracking_share": number(float(loop.tracking.usage.max(initial=0.0))),
        "nearest_obstacle": loop.distances.nearest,
        "real_time_factor": None,
        "processor": {},
        "scene": scene_to_mapping(history.scene),
        "config": {},
        **loop.facts,
    }


def _plan(plan: Plan, loop: CertifiedRun) -> dict[str, Any]:
    record, limit = plan.record, loop.model.robot.limits.torque
    return {
        "id": record.id,
        "phase": IDENTIFY if plan.identifies else CARRY,
        "told": number(plan.told),
        "start": number(record.start),
        "begun": number(plan.begun),
        "ended": number(plan.ended),
        "rest": number(record.start + record.duration),
        "verdict": Verdict(record.verdict).name if record.verdict in list(Verdict) else str(record.verdict),
        "binding": record.binding,
        "window": int(record.bounds_window),
        "torque": numbers(limit - record.torque_margin),
        "torque_margin": number(float(record.torque_margin.min())),
        "obstacle_margin": number(record.obstacle_margin),
        "self_margin": number(record.self_margin),
    }
