# SPDX-License-Identifier: Apache-2.0
"""All runs of a calibration as one linear system, and its physically consistent least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import PSEUDO_INERTIA_BASIS
from sysid_nodes.solvers.semidefinite import constrained_quadratic
from sysid_nodes.systems.interval.momentum_rows import MomentumRows

Array = npt.NDArray[np.float64]

_PRIOR = 3.0
"""Weight of xi^2: the inverse variance of a number anywhere in [-1, 1]."""


@dataclass(frozen=True)
class CalibrationSystem:
    """Rows of all runs on one vector xi of unknowns in [-1, 1]: rows @ xi + offset in [-radius, radius].

    xi holds the uncertain parameters of the robot, then ten of the payload of each run (zero width where there is
    none). A residual is in torque readings: the imbalance of a window as a mean torque, divided by the gain.

    Attributes:
        joints: n.
        centre: (15 n,) middle of the robot's box.
        robot_columns: (k,) physical parameters that are uncertain, the first k unknowns.
        scale: (d,) half-widths.
        rows, offset, radius: (m, d), (m,), (m,) [N m s].
        duration: (m,) of the row's window [s].
        joint: (m,) the row's joint.
        unloaded: (m,) the row is of a run without payload.
        physical: (m, 15 n) rows on the physical parameters.
        loads: (runs, 10) centres of the payload boxes.
    """

    joints: int
    centre: Array
    robot_columns: npt.NDArray[np.intp]
    scale: Array
    rows: Array
    offset: Array
    radius: Array
    duration: Array
    joint: npt.NDArray[np.intp]
    unloaded: npt.NDArray[np.bool_]
    physical: Array
    loads: Array

    @classmethod
    def assemble(
        cls, n: int, body: int, centre: Array, radius: Array, loads: Sequence[Bounds], runs: Sequence[MomentumRows]
    ) -> CalibrationSystem:
        """Puts runs together.

        Args:
            n: number of joints.
            body: joint that carries the payloads.
            centre, radius: (15 n,) box of the bare robot.
            loads: box of each run's payload.
            runs: rows of each run.
        """
        columns = np.flatnonzero(radius > 0.0)
        k = columns.size
        physical = np.concatenate([run.coefficients.reshape(-1, len(centre)) for run in runs])
        rows = np.zeros((len(physical), k + 10 * len(loads)))
        rows[:, :k] = physical[:, columns] * radius[columns]
        offset = physical @ centre
        start = 0
        for index, (run, load) in enumerate(zip(runs, loads, strict=True)):
            part = slice(start, start := start + run.coefficients.shape[0] * n)
            own = physical[part, 10 * body : 10 * body + 10]
            rows[part, k + 10 * index : k + 10 * index + 10] = own * load.half_width
            offset[part] += own @ load.centre
        windows = [run.coefficients.shape[0] for run in runs]
        return cls(
            joints=n,
            centre=centre,
            robot_columns=columns,
            scale=np.concatenate([radius[columns], *(load.half_width for load in loads)]),
            rows=rows,
            offset=offset,
            radius=np.concatenate([run.total_radius(load).ravel() for run, load in zip(runs, loads, strict=True)]),
            duration=np.repeat(np.concatenate([run.t[:, 1] - run.t[:, 0] for run in runs]), n),
            joint=np.tile(np.arange(n), sum(windows)),
            unloaded=np.repeat([load.upper[0] == 0.0 for load in loads], np.array(windows) * n),
            physical=physical,
            loads=np.array([load.centre for load in loads]),
        )

    def of_unloaded(self) -> CalibrationSystem:
        """The rows of the runs without payload alone, on the robot's unknowns alone."""
        own, k = self.unloaded, self.robot_size
        return replace(
            self,
            scale=self.scale[:k],
            rows=self.rows[own, :k],
            offset=self.offset[own],
            radius=self.radius[own],
            duration=self.duration[own],
            joint=self.joint[own],
            unloaded=self.unloaded[own],
            physical=self.physical[own],
            loads=self.loads[:0],
        )

    def sum_up(self, blocks: npt.NDArray[np.intp]) -> CalibrationSystem:
        """Rows over blocks (B, length) of windows: sums of theirs. A window's residual is now its block's mean."""

        def total(values: Array) -> Array:
            by_window = values.reshape(-1, self.joints, *values.shape[1:])
            return np.asarray(by_window[blocks].sum(axis=1).reshape(-1, *values.shape[1:]))

        return replace(
            self,
            rows=total(self.rows),
            offset=total(self.offset),
            radius=total(self.radius),
            duration=total(self.duration),
            joint=np.tile(np.arange(self.joints), len(blocks)),
            unloaded=self.unloaded.reshape(-1, self.joints)[blocks[:, 0]].ravel(),
            physical=total(self.physical),
        )

    def join(self, more: CalibrationSystem) -> CalibrationSystem:
        """These rows and others on the same unknowns."""
        return replace(
            self,
            rows=np.concatenate([self.rows, more.rows]),
            offset=np.concatenate([self.offset, more.offset]),
            radius=np.concatenate([self.radius, more.radius]),
            duration=np.concatenate([self.duration, more.duration]),
            joint=np.concatenate([self.joint, more.joint]),
            unloaded=np.concatenate([self.unloaded, more.unloaded]),
            physical=np.concatenate([self.physical, more.physical]),
        )

    @property
    def size(self) -> int:
        return int(self.scale.size)

    @property
    def windows(self) -> int:
        return len(self.rows) // self.joints

    @property
    def gains(self) -> npt.NDArray[np.bool_]:
        """(d,) which unknowns are torque gains."""
        own = np.zeros(self.size, dtype=bool)
        n, columns = self.joints, self.robot_columns
        own[: self.robot_size] = (columns >= 14 * n) & (columns < 15 * n)
        return own

    @property
    def robot_size(self) -> int:
        return int(self.robot_columns.size)

    def parameters(self, xi: Array) -> Array:
        """(15 n,) the bare robot's physical parameters at xi."""
        p = self.centre.copy()
        p[self.robot_columns] += self.scale[: self.robot_size] * xi[: self.robot_size]
        return p

    def gain(self, xi: Array) -> Array:
        """(m,) torque gain of each row's joint."""
        return np.asarray(self.parameters(xi)[14 * self.joints + self.joint])

    def residual(self, xi: Array) -> Array:
        """(windows, n) mean torque reading that xi leaves unexplained [N m]."""
        return np.asarray(((self.rows @ xi + self.offset) / (self.duration * self.gain(xi))).reshape(-1, self.joints))

    def allowed_residual(self, xi: Array) -> Array:
        """(windows, n) residual that the row's own error radius explains [N m]."""
        return np.asarray((self.radius / (self.duration * self.gain(xi))).reshape(-1, self.joints))

    def fit(self, weight: Array, start: Array, held: npt.NDArray[np.bool_] | None = None) -> Array:
        """Least squares of the residuals with the box as a prior, every link and payload physically consistent.

        One Gauss-Newton step about `start` (d,). In the residual of the reading the gain divides what the model
        predicts; left in units of torque the residual would shrink with the gain and pull it down.

        Args:
            weight: (windows, n) inverse standard deviation of each residual [1 / (N m)].
            start: (d,).
            held: (d,) unknowns that stay as they are.
        """
        rows, offset = self._per_reading(start)
        scale = weight.ravel() / self.duration
        a, b = rows * scale[:, None], offset * scale
        stay = np.zeros(self.size, dtype=bool) if held is None else held
        x = constrained_quadratic(
            np.pad(a.T @ a + _PRIOR * np.eye(self.size), (0, 1)),
            np.append(a.T @ b, 0.0),
            np.append(np.where(stay, start, -1.0), 1.0),
            np.append(np.where(stay, start, 1.0), 1.0),
            self._cones(),
        )
        return start if x is None else np.clip(x[:-1], -1.0, 1.0)

    def add_torque_error(self, error: Array) -> CalibrationSystem:
        """The same rows with (n,) error of the mean torque reading added to their radii, at the largest gain."""
        largest = self.parameters(self.gains.astype(np.float64))[14 * self.joints : 15 * self.joints]
        return replace(self, radius=self.radius + self.duration * (largest * error)[self.joint])

    def _per_reading(self, xi: Array) -> tuple[Array, Array]:
        """Rows and offsets of the residual impulse divided by the gain, linear about xi."""
        n = self.joints
        gain = self.gain(xi)
        value = (self.rows @ xi + self.offset) / gain
        impulse = -self.physical[np.arange(len(self.rows)), 14 * n + self.joint]
        predicted = value + impulse
        rows = self.rows / gain[:, None]
        for column, parameter in enumerate(self.robot_columns):
            if 14 * n <= parameter < 15 * n:
                own = self.joint == parameter - 14 * n
                rows[:, column] = np.where(own, -predicted / gain * self.scale[column], 0.0)
        return rows, value - rows @ xi

    def _cones(self) -> list[tuple[Array, float]]:
        """Pseudo-inertia of every link and payload that has an uncertain parameter; last coordinate is fixed at 1."""
        position = {int(column): k for k, column in enumerate(self.robot_columns)}
        cones = []
        for link in range(self.joints):
            theta = range(10 * link, 10 * link + 10)
            if not any(k in position for k in theta):
                continue
            matrices = np.zeros((self.size + 1, 4, 4))
            matrices[-1] = np.tensordot(self.centre[list(theta)], PSEUDO_INERTIA_BASIS, axes=1)
            for j, k in enumerate(theta):
                if k in position:
                    matrices[position[k]] = self.scale[position[k]] * PSEUDO_INERTIA_BASIS[j]
            cones.append((matrices, 0.0))
        for index, load in enumerate(self.loads):
            start = self.robot_size + 10 * index
            if load[0] > 0.0:
                matrices = np.zeros((self.size + 1, 4, 4))
                matrices[-1] = np.tensordot(load, PSEUDO_INERTIA_BASIS, axes=1)
                matrices[start : start + 10] = self.scale[start : start + 10, None, None] * PSEUDO_INERTIA_BASIS
                cones.append((matrices, 0.0))
        return cones
