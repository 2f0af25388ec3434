"""Calibration of a bare robot: its parameters with their uncertainty, from runs without payload or with a known one.

Three steps, all on the momentum rows of the identifier:
1. physically consistent least squares of every parameter of the robot, inside the box of `known_robot`;
2. what the fit leaves over in a window, times a margin, becomes the bound on the torque error that later rows carry;
3. with that bound, linear programs give each parameter the interval of all values the data allow. The rows themselves
   are kept as well: single parameters of a robot are mostly blind, only their combinations are known.

A run with a payload of known mass makes the torque gain known: unloaded, gain and inertia scale together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.identifiers.calibration_file import Calibration
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.identifiers.error_radius import geometry
from sysid_nodes.identifiers.momentum_rows import MomentumRows, Noise, RowBuilder, body_norms
from sysid_nodes.identifiers.unknowns import Unknowns, identify_payload, known_box, prismatic_travel
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.inertia import PSEUDO_INERTIA_BASIS
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.windows import cut
from sysid_nodes.solvers.polytope import Polytope
from sysid_nodes.solvers.semidefinite import constrained_quadratic

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

MARGIN = 1.5
"""Factor on the largest residual mean torque: a later run meets residuals this one did not show."""

_LEAST_WINDOWS = 20
_FITS = 8


@dataclass(frozen=True)
class Run:
    """One log. Attributes: samples; mass of the known payload [kg] (0: none); name for reports."""

    samples: JointSamples
    mass: float
    name: str


def calibrate(
    robot: Robot,
    config: IntervalIdentifierConfig,
    runs: Sequence[Run],
    *,
    max_rows: int = 300,
    margin: float = MARGIN,
    progress: Progress | None = None,
) -> Calibration:
    """Identifies a robot.

    Args:
        robot: nominal robot.
        config: `known_robot` is the box all parameters are sure to lie in, `noise` (but for torque_absolute, which is
            found) and `window` as in identification, `prior` bounds the known payload's moments.
        runs: at least one run without payload.
        max_rows: rows kept in the result.
        margin: factor on the largest residual.
        progress: called with (stage, done, total).

    Raises:
        ExcitationError: no unloaded run, or too few windows.
    """
    if not any(run.mass == 0.0 for run in runs):
        raise ExcitationError("calibration needs a run without payload")
    show: Progress = progress or _silent
    n, body = robot.n, robot.body_index(config.body)
    centre, radius = known_box(robot, config.known_robot)
    loads = [_load(config, run) for run in runs]
    # One set of unknowns: the robot's, then ten for the payload of each run (zero width where there is none).
    rows = [
        _rows(robot, config, run, identify_payload(n, body, centre, radius, load))
        for run, load in zip(runs, loads, strict=True)
    ]
    system = _System.assemble(n, body, centre, radius, loads, rows)

    xi = np.zeros(system.size)
    residual = np.zeros((0, n))
    for step in range(_FITS):  # weights and linearisation follow the last fit
        show("fit", step, _FITS)
        scale = np.maximum(np.sqrt((residual**2).mean(axis=0)), 1e-3) if residual.size else np.ones(n)
        xi = system.fit(scale, xi)
        residual = system.residual(xi)
    excess = np.maximum(np.abs(residual) - system.mean_radius, 0.0).max(axis=0)
    torque_absolute = margin * excess
    system = system.with_torque_error(torque_absolute)

    poly = Polytope(-np.ones(system.size), np.ones(system.size), system.robot_size)
    poly.add(system.rows, -system.radius - system.offset, system.radius - system.offset)
    for done in range(0, 2 * poly.k, 4):
        show("bounds", done, 2 * poly.k)
        poly.tighten(4)
    show("bounds", 2 * poly.k, 2 * poly.k)
    return _result(robot, runs, system, poly, xi, torque_absolute, residual, max_rows)


def _silent(stage: str, done: int, total: int) -> None:
    """Progress nobody asked for."""


def _load(config: IntervalIdentifierConfig, run: Run) -> Bounds:
    """Box of a run's payload: none, or of known mass with moments anywhere in the prior's reach."""
    if run.mass == 0.0:
        return Bounds(np.zeros(10), np.zeros(10))
    prior = config.prior.bounds
    size = np.maximum(np.abs(prior.lower), np.abs(prior.upper))
    size[0] = 0.0
    centre = np.zeros(10)
    centre[0] = run.mass
    return Bounds(centre - size, centre + size)


def _rows(robot: Robot, config: IntervalIdentifierConfig, run: Run, unknowns: Unknowns) -> MomentumRows:
    chain = Chain.from_robot(robot)
    stated = replace(config.noise, torque_absolute=(0.0,))  # this is what the residuals are to tell
    noise = Noise.from_config(stated, robot.n, robot.encoder_step)
    builder = RowBuilder(chain, geometry(chain, prismatic_travel(robot)), noise, unknowns)
    edges, _ = cut(run.samples, config.window.duration, config.window.max_gap)
    if edges.size:
        violations = builder.violations(run.samples, edges).values()
        edges = edges[~np.logical_or.reduce([np.zeros(len(edges), dtype=bool), *violations])]
    if len(edges) < _LEAST_WINDOWS:
        raise ExcitationError(
            f"only {len(edges)} usable windows of {config.window.duration:g} s; calibration needs {_LEAST_WINDOWS}",
            source=run.name,
        )
    return builder.build(run.samples, edges)


@dataclass(frozen=True)
class _System:
    """All runs' rows on one vector xi of unknowns: rows @ xi + offset in [-radius, radius].

    Attributes: joints n; centre (15 n,); robot_columns: physical parameters that are uncertain; scale (d,) half-widths;
    rows (m, d); offset, radius, duration (m,); joint (m,) row's joint; unloaded (m,) row is of a run without payload;
    physical (m, 15 n) rows on the physical parameters; loads: centres of the payload boxes.
    """

    joints: int
    body: int
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

    @property
    def size(self) -> int:
        return int(self.scale.size)

    @property
    def robot_size(self) -> int:
        return int(self.robot_columns.size)

    @property
    def mean_radius(self) -> Array:
        """(m / n, n) error radius as a mean torque over the window [N m]."""
        return np.asarray((self.radius / self.duration).reshape(-1, self.joints))

    @classmethod
    def assemble(
        cls, n: int, body: int, centre: Array, radius: Array, loads: Sequence[Bounds], runs: Sequence[MomentumRows]
    ) -> _System:
        columns = np.flatnonzero(radius > 0.0)
        width = columns.size + 10 * len(loads)
        parts: dict[str, list[Array]] = {name: [] for name in ("a", "offset", "radius", "duration", "free", "physical")}
        for index, (rows, load) in enumerate(zip(runs, loads, strict=True)):
            physical = rows.coefficients.reshape(-1, 15 * n)
            own = physical[:, 10 * body : 10 * body + 10]
            a = np.zeros((len(physical), width))
            a[:, : columns.size] = physical[:, columns] * radius[columns]
            start = columns.size + 10 * index
            a[:, start : start + 10] = own * load.half_width
            parts["a"].append(a)
            parts["offset"].append(physical @ centre + own @ load.centre)
            parts["radius"].append(rows.total_radius(body_norms(load.lower, load.upper)).ravel())
            parts["duration"].append(np.repeat(rows.t[:, 1] - rows.t[:, 0], n))
            parts["free"].append(np.full(len(physical), float(load.upper[0] == 0.0)))
            parts["physical"].append(physical)
        stacked = {name: np.concatenate(value) for name, value in parts.items()}
        scale = np.concatenate([radius[columns], *(load.half_width for load in loads)])
        joint = np.tile(np.arange(n), len(stacked["a"]) // n)
        return cls(
            n,
            body,
            centre,
            columns,
            scale,
            stacked["a"],
            stacked["offset"],
            stacked["radius"],
            stacked["duration"],
            joint,
            stacked["free"] > 0.0,
            stacked["physical"],
            np.array([load.centre for load in loads]),
        )

    def residual(self, xi: Array) -> Array:
        """(windows, n) mean torque that xi leaves unexplained [N m]."""
        return np.asarray(((self.rows @ xi + self.offset) / self.duration).reshape(-1, self.joints))

    def fit(self, sigma: Array, start: Array) -> Array:
        """Least squares with residual scale sigma (n,) and the box as a prior, every link physically consistent.

        The residual is that of the reading, (M p - gain e) / gain: left in units of torque it would shrink with the
        gain and pull it down. One Gauss-Newton step about `start` (d,), in which the gain multiplies the predicted
        instead of the measured torque.
        """
        rows, offset = self._per_reading(start)
        weight = 1.0 / (self.duration * sigma[self.joint])
        a, b = rows * weight[:, None], offset * weight
        hessian = a.T @ a + 3.0 * np.eye(self.size)
        gradient = a.T @ b
        one = np.ones(1)
        x = constrained_quadratic(
            np.pad(hessian, (0, 1)),
            np.append(gradient, 0.0),
            np.concatenate([-np.ones(self.size), one]),
            np.concatenate([np.ones(self.size), one]),
            self._cones(),
        )
        return start if x is None else np.clip(x[:-1], -1.0, 1.0)

    def _per_reading(self, xi: Array) -> tuple[Array, Array]:
        """Rows and offsets of the residual divided by the gain, linear about xi."""
        n = self.joints
        value = self.rows @ xi + self.offset
        rows = self.rows.copy()
        gains = self.centre[14 * n :].copy()
        column = {int(k) - 14 * n: j for j, k in enumerate(self.robot_columns) if k >= 14 * n}
        for k, j in column.items():
            gains[k] += self.scale[j] * xi[j]
        gain = gains[self.joint]
        impulse = -self.physical[np.arange(len(rows)), 14 * n + self.joint]
        predicted = (value + gain * impulse) / gain
        for k, j in column.items():
            rows[:, j] = np.where(self.joint == k, -predicted * self.scale[j], 0.0)
        offset = value - rows @ xi
        return rows / gain[:, None], offset / gain

    def with_torque_error(self, error: Array) -> _System:
        """The same rows with (n,) mean torque error added to their radii."""
        return replace(self, radius=self.radius + self.duration * error[self.joint])

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


def _result(
    robot: Robot,
    runs: Sequence[Run],
    system: _System,
    poly: Polytope,
    xi: Array,
    torque_absolute: Array,
    residual: Array,
    max_rows: int,
) -> Calibration:
    k = system.robot_size
    columns = system.robot_columns
    nominal = np.clip(xi[:k], poly.lower[:k], poly.upper[:k])
    centre, radius = system.centre.copy(), np.zeros(system.centre.size)
    centre[columns] += system.scale[:k] * nominal
    # The box around the estimate that contains the interval, which need not be symmetric about it.
    radius[columns] = system.scale[:k] * np.maximum(poly.upper[:k] - nominal, nominal - poly.lower[:k])
    free = np.flatnonzero(system.unloaded)
    weighted = system.physical[free] / system.radius[free][:, None]
    useful = poly.usefulness() if len(poly.rows) == len(system.rows) else np.zeros(len(system.rows))
    kept = np.sort(free[np.argsort(-useful[free], kind="stable")][:max_rows])
    return Calibration(
        robot=robot.name,
        joints=robot.joint_names,
        centre=centre,
        radius=radius,
        rows=system.physical[kept],
        rows_radius=system.radius[kept],
        information=weighted.T @ weighted,
        torque_absolute=torque_absolute,
        residual_rms=np.sqrt((residual**2).mean(axis=0)),
        source=tuple(run.name for run in runs),
    )
