# SPDX-License-Identifier: Apache-2.0
"""A trajectory made ready for the loop: its motion, the law for its nominal model, and the errors proven for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.robust_control import Command, RobustControlConfig, RobustLaw, gains
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.systems.certified.certificate.error_proof import closed_loop
from sysid_nodes.systems.certified.control.output import Tracking

_POWERS = np.arange(6)
_RATE = np.arange(1.0, 6.0)
_ROUNDING = 1.0 + 1e-9
_TINY = 1e-300


@dataclass(frozen=True)
class Context:
    """Data that all trajectories of a controller share."""

    robot: Robot
    known: KnownRobotConfig
    control: RobustControlConfig
    body: int
    target: str


class Execution:
    """One trajectory.

    Args:
        record: inspected.

    Raises:
        SysidError: no model fits the record's bounds, or its nominal one is none of them.
    """

    def __init__(self, record: TrajectoryRecord, context: Context) -> None:
        self.record = record
        self.plan = Bezier(record.q0, record.qd0, record.qdd0, record.k, record.duration)
        bounds = Bounds(record.lower, record.upper)
        box = model_box(context.robot, context.known, bounds, context.body, context.target, record.nominal)
        self._law = RobustLaw(context.robot, box.theta, box.motor, context.control)
        found = gains(context.robot, context.control)
        self._gain = found.position_gain
        self._position_noise = found.position_error
        self._reference_noise = found.position_gain * found.position_error + found.velocity_error
        loop = closed_loop(box, found, context.control, delayed=record.proof == "delayed")
        self._metric = loop.metric
        shape = (-1, context.robot.n)
        self._errors = record.error_position.reshape(shape), record.error_reference.reshape(shape)
        q = self.plan.coefficients()
        self._series = (q, q[1:] * _RATE[:, None], (q[1:] * _RATE[:, None])[1:] * _RATE[:-1, None])
        self._rest = State(self.plan.goal, np.zeros(self.plan.n), np.zeros(self.plan.n))
        self._last = len(record.edges) - 1

    def desired_state(self, t: float) -> State:
        """State (n,) each at a time into the trajectory, t >= 0; `Bezier.split` without its checks."""
        if t >= self.record.duration:
            return self._rest
        powers = t**_POWERS
        return State(*(powers[: len(series)] @ series for series in self._series))

    def command(self, q: Array, qd: Array, desired: State) -> Command:
        """Torque (n,) and errors for a measured state, q on the turn of the trajectory."""
        return self._law.command(q, qd, desired, self.record.robust_limit)

    def tracking_errors(self, t: float, desired: State, command: Command) -> Tracking:
        """The errors a command answers to against what is proven.

        True errors lie within the sensors' errors of the measured ones. What is left of those is there for certain, and
        must not exceed what is proven of their norms and of each joint's.
        """
        record = self.record
        i = min(max(int(np.searchsorted(record.edges, t, side="right")) - 1, 0), self._last)
        norm, size = float(record.error_norm[i]), float(np.sqrt(2.0 * record.error_energy[i]))
        e = np.maximum(np.abs(command.position_error) - self._position_noise, 0.0)
        r = np.maximum(np.abs(command.reference_error) - self._reference_noise, 0.0)
        position, reference = self._errors[0][i], self._errors[1][i]
        taken = [float(np.sqrt(self._metric @ (x * x))) for x in (e, r)]
        usage = max(x / max(_ROUNDING * most, _TINY) for x, most in zip(taken, (norm, size), strict=True))
        for x, most in ((e, position), (r, reference)):
            usage = max(usage, float((x / np.maximum(_ROUNDING * most, _TINY)).max()))
        return Tracking(desired.q, command.position_error, position, command.reference_error, reference, usage)
