# SPDX-License-Identifier: Apache-2.0
"""Inequalities on a motion: joints within their range, motors within their torque (Constr(x) >= 0 of the paper).

An augmented Lagrangian in the form of residuals (Nocedal and Wright, Numerical optimization, 2006, sec. 17.3): with a
value y, its bounds, a multiplier m and a sigma, the row

    r = z - min(max(z, lower / sigma), upper / sigma),   z = y / sigma + m,

is zero within the bounds and pulls back from beyond them. A solve leaves r as the next one's multiplier: after a few
the bounds hold, whatever sigma is. Without multipliers, as in a moving window, a bound gives way by r times sigma.

Bounds are no readings, and covariances are those without them. A solution that they hold back is the nearest one that
obeys them, in the metric of the Hessian: the projection on a convex set, as far as residuals are linear. It is no
farther from any motion within them than what it was moved from, so that it errs no more than the readings alone say, if
the robot keeps within them. At a bound the truth may still be anywhere on the inner side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sysid_nodes.robots import Robot
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.config import LimitsConfig
from sysid_nodes.systems.prime.dynamics import DynamicsRows
from sysid_nodes.systems.prime.parameters import Parameters

Array = npt.NDArray[np.float64]
T = TypeVar("T")

LIMITS = ("joint_limits", "torque_limits")
"""Names of the groups of rows."""

_POSITION = 1e-4
"""Sigma of a joint's range [rad or m]: a tenth of an encoder's."""

_TORQUE = 1e-3
"""Sigma of a motor's torque as a share of its limit."""

_MET = 0.1
"""Change of a multiplier, in sigmas that a bound gives way, below which it holds."""


@dataclass(frozen=True)
class Limits:
    """Bounds of n joints at N stages and of their torques at the K = N - 2 inner ones.

    Attributes:
        lower, upper: (n,) positions over `_POSITION`.
        torque: (n,) magnitudes.
        position_multiplier: (N, n).
        torque_multiplier: (K, n).
    """

    lower: Array
    upper: Array
    torque: Array
    position_multiplier: Array
    torque_multiplier: Array

    @property
    def bound_torques(self) -> bool:
        """Whether any torque has a limit."""
        return bool(np.isfinite(self.torque).any())

    def position_residual(self, q: Array) -> Array:
        """(N, n) of configurations (N, nq)."""
        z = q[:, -len(self.lower) :] / _POSITION + self.position_multiplier
        return np.asarray(z - np.clip(z, self.lower, self.upper))

    def position_blocks(self, q: Array, nv: int) -> Blocks:
        """The same with derivatives."""
        residual = self.position_residual(q)
        slope = np.eye(nv)[-len(self.lower) :] / _POSITION
        return Blocks(np.arange(len(q)), residual, slope * (residual != 0.0)[:, :, None])

    def torque_residual(self, rows: DynamicsRows, dynamics: Array, first: slice = slice(None)) -> Array:
        """(B, n) of the dynamics' whitened residual (B, nv) at some of the inner stages, of rows `at` its point."""
        scale = rows.scale[first, 6:]
        told = scale > 0.0  # without any reading of a torque nothing is known of any
        needed = np.where(told, rows.torque[first] + dynamics[:, 6:] / np.where(told, scale, 1.0), 0.0)
        z = needed / (_TORQUE * self.torque) + self.torque_multiplier[first]
        return np.asarray(np.where(np.isfinite(self.torque), z - np.clip(z, -1.0 / _TORQUE, 1.0 / _TORQUE), 0.0))

    def torque_blocks(self, rows: DynamicsRows, dynamics: Blocks, parameters: Parameters) -> Blocks:
        """The same with derivatives, of the dynamics' blocks; what a motor gives is not what is read of it."""
        part = slice(int(dynamics.first[0]), int(dynamics.first[-1]) + 1)
        residual = self.torque_residual(rows, dynamics.residual, part)
        active = residual != 0.0
        per_row = np.divide(
            active, rows.scale[part, 6:] * _TORQUE * self.torque, out=np.zeros(active.shape), where=active
        )
        assert dynamics.parameter_jacobian is not None and dynamics.local_jacobian is not None
        by_parameter = dynamics.parameter_jacobian[:, 6:] * per_row[:, :, None]
        by_parameter[:, :, parameters.gains] = by_parameter[:, :, parameters.torque_delay] = 0.0
        return Blocks(
            dynamics.first,
            residual,
            dynamics.jacobian[:, 6:] * per_row[:, :, None],
            by_parameter,
            dynamics.local_jacobian[:, 6:] * per_row[:, :, None],
            dynamics.local,
        )

    def follow(self, position: Array, torque: Array) -> Limits:
        """With the residuals of a solution as multipliers."""
        return replace(self, position_multiplier=position, torque_multiplier=torque)

    def are_met(self, position: Array, torque: Array) -> bool:
        """Whether these residuals of a solution hardly differ from the multipliers that it had."""
        moved = (position - self.position_multiplier, torque - self.torque_multiplier)
        return all(bool(np.abs(part).max(initial=0.0) <= _MET) for part in moved)


def build_limits(robot: Robot, config: LimitsConfig, stages: int) -> Limits | None:
    """A robot's limits, as far as they are asked for; None for none."""
    if not (config.joints or config.torques):
        return None
    limits, none = robot.limits, np.full(robot.n, np.inf)
    lower, upper = (limits.position_lower, limits.position_upper) if config.joints else (-none, none)
    torque = limits.torque if config.torques else none
    zero = np.zeros((stages, robot.n))
    return Limits(lower / _POSITION, upper / _POSITION, torque, zero, zero[1:-1])


def without_limits(groups: Sequence[str], entries: Sequence[T]) -> tuple[T, ...]:
    """Entries of the groups of rows that are no limits."""
    return tuple(entry for name, entry in zip(groups, entries, strict=True) if name not in LIMITS)
