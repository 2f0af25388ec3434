# SPDX-License-Identifier: Apache-2.0
"""Fields of online_sysid/msg/ExplorationPlan, as plain values: of the message and of plan.json alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.geometry import WORLD, Fields, vector
from sysid_nodes.messages.markers import BLUE, LINE, ORANGE, Colour, fresh_array, marker
from sysid_nodes.results.exploration import COMMANDS, ExplorationPlan, Spread, Vetting

Array = npt.NDArray[np.float64]

TYPE = "online_sysid/msg/ExplorationPlan"
TOPIC, MARKERS = "/exploration_planner/plan", "/exploration_planner/markers"

PATH_PERIOD = 0.1
"""Between two places of the path [s]."""


def plan_fields(plan: ExplorationPlan) -> dict[str, Any]:
    """The message without its header; see it for the meaning of every field."""
    return {
        "id": plan.id,
        "estimate_id": plan.estimate,
        "policy_id": plan.policy,
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
        policy=fields["policy_id"],
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


_WIDTH = 0.015  # of lines [m]


def marker_fields(plan: ExplorationPlan) -> Fields:
    """visualization_msgs/MarkerArray in the frame `world`, for a robot that starts at its origin.

    The path that is predicted, and the circle that no drawn robot left.
    """
    turn = np.linspace(0.0, 2.0 * np.pi, 73)
    circle = np.column_stack([plan.vetting.reach * np.cos(turn), plan.vetting.reach * np.sin(turn), 0.0 * turn])
    path = np.column_stack([plan.path[:, 1:], np.full(len(plan.path), plan.height)])
    lines = [_line("exploration_path", path, BLUE), _line("reach_of_drawn_robots", circle, ORANGE)]
    return fresh_array(WORLD, lines)


def _line(namespace: str, points: Array, colour: Colour) -> Fields:
    scale = {"x": _WIDTH}
    return marker({"frame_id": WORLD}, namespace, 0, LINE, colour, 1.0, scale=scale, points=[*map(vector, points)])
