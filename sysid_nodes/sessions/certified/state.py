# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of planning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.results.trajectory_record import Phase, TrajectoryRecord
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode
from sysid_nodes.systems.certified.search.plan_result import PlanResult


class Seen(NamedTuple):
    """The controller's last report.

    Attributes:
        trajectory_id: what it executes; empty: nothing.
        refused_id: what it refused last.
        refused: why, in words.
        start_rate: bound on |dr/dt| that a start from rest has to count on; RobustController.start_rate.
    """

    mode: Mode
    trajectory_id: str = ""
    refused_id: str = ""
    refused: str = ""
    start_rate: float = 0.0

    @classmethod
    def of(cls, output: ControllerOutput, start_rate: float) -> Seen:
        """The state of a controller in the same process: no more than ControllerStatus says of its last answer."""
        return cls(output.mode, output.trajectory_id, output.refused_id, output.refused_text, start_rate)


@dataclass(frozen=True)
class Known:
    """The state at the beginning of a step.

    Attributes:
        bounds, window: in force, and their data window.
        consistent: the identifier finds parameters that explain the data.
        scene: obstacles; None where what arrived was unusable.
    """

    bounds: Bounds
    window: int
    consistent: bool
    scene: Scene | None


@dataclass(frozen=True, eq=False)
class Planned:
    """A trajectory that was made.

    Attributes:
        plan, certificate, box: behind it.
        phase: what it is for.
        replan: time into it at which the next one is to take over [s].
    """

    record: TrajectoryRecord
    plan: Bezier
    certificate: Certificate
    box: ModelBox
    phase: Phase
    result: PlanResult
    replan: float
