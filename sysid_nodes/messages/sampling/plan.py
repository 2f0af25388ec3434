# SPDX-License-Identifier: Apache-2.0
"""Fields of online_sysid/msg/ExplorationPlan, as plain values: of the message and of plan.json alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sysid_nodes.exceptions import InputError
from sysid_nodes.results.exploration import COMMANDS, ExplorationPlan, Spread, Vetting

TYPE = "online_sysid/msg/ExplorationPlan"
TOPIC = "/exploration_planner/plan"

PATH_PERIOD = 0.1
"""Between two places of the path [s]."""


def plan_fields(plan: ExplorationPlan) -> dict[str, Any]:
    """The message without its header; see it for the meaning of every field."""
    return {
        "id": plan.id,
        "estimate_id": plan.estimate,
        "robot": plan.robot,
        "segment": plan.segment,
        "gaits": list(plan.gaits),
        "degree": plan.points.shape[2] - 1,
        "points": plan.points.ravel().tolist(),
        "height": plan.height,
        "criterion": plan.criterion,
        "cost": float(plan.costs[0]),
        "random_costs": plan.costs[1:].tolist(),
        "names": [spread.name for spread in plan.spreads],
        "units": [spread.unit for spread in plan.spreads],
        "sigma_before": [spread.before for spread in plan.spreads],
        "sigma_after": [spread.after for spread in plan.spreads],
        "path": [{"x": float(x), "y": float(y), "z": plan.height} for _, x, y in plan.path],
        "draws": plan.vetting.draws,
        "reach": plan.vetting.reach,
        "scale": plan.scale,
    }


def to_plan(fields: Mapping[str, Any]) -> ExplorationPlan:
    """A vetted plan back from such values; of random plans only the costs are known.

    Raises:
        InputError: lengths do not fit, a number is not finite, or it is not what its id says.
    """
    gaits, degree = tuple(fields["gaits"]), int(fields["degree"])
    points, path = np.array(fields["points"], dtype=np.float64), fields["path"]
    if len(points) != len(gaits) * len(COMMANDS) * (degree + 1) or not np.isfinite(points).all():
        raise InputError("the control points of a plan do not fit its gaits, or are not finite")
    time = PATH_PERIOD * np.arange(len(path))
    rows = zip(fields["names"], fields["units"], fields["sigma_before"], fields["sigma_after"], strict=True)
    plan = ExplorationPlan(
        robot=fields["robot"],
        estimate=fields["estimate_id"],
        segment=float(fields["segment"]),
        gaits=gaits,
        points=points.reshape(len(gaits), len(COMMANDS), degree + 1),
        height=float(fields["height"]),
        criterion=fields["criterion"],
        costs=np.array([fields["cost"], *fields["random_costs"]]),
        spreads=tuple(Spread(*row, np.zeros(0)) for row in rows),
        path=np.column_stack([time, [p["x"] for p in path], [p["y"] for p in path]]),
        vetting=Vetting(int(fields["draws"]), 0, np.zeros(3), float(fields["reach"]), ()),
        scale=float(fields["scale"]),
    )
    if plan.id != fields["id"]:
        raise InputError("a plan is not what its id says")
    return plan


_LINE, _ADD = 4, 0  # values of visualization_msgs/Marker


def marker_fields(plan: ExplorationPlan) -> list[dict[str, Any]]:
    """visualization_msgs/Markers in the frame `world`: the path of the base, for a robot that starts at its origin."""
    points = [{"x": float(x), "y": float(y), "z": plan.height} for _, x, y in plan.path]
    return [
        {
            "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": "world"},
            "ns": "exploration_path",
            "id": 0,
            "type": _LINE,
            "action": _ADD,
            "pose": {"orientation": {"w": 1.0}},
            "scale": {"x": 0.015},
            "color": {"r": 0.0, "g": 0.45, "b": 0.7, "a": 1.0},
            "points": points,
        }
    ]
