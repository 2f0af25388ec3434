# SPDX-License-Identifier: Apache-2.0
"""Effects on a robot, or on its sensors, that no unknown of the model is about: do the residuals show them?

Each effect is known but for its size s, one number or a few: a unit of it changes residuals r by columns D. With the
Jacobian J of all unknowns and H = J' J, the score D' r of a solution (J' r = 0) and its covariance

    S = D' D - D' J H^-1 J' D

say how far off zero the size is, s = -S^-1 D' r, without another solve (Rao's score test; Lagrange multipliers): an
effect that the unknowns can imitate has a small S, and is not seen, nor then said to be absent. S is the Schur
complement of the effects' columns in one factor for all of them.

No model is exact. Sizes that honest logs show by what else is only nearly so (feet that creep the same way at every
step, means over steps) are `harmless`, a variance beside that of the noise. Of a log whose residuals are too large
throughout, as of a robot that lies on the ground, an effect that explains little of that is not named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.signal import bilinear, lfilter
from scipy.special import chdtri

from sysid_nodes.models.rotations import quaternion_matrix, skew
from sysid_nodes.results.prime import UntoldEffect
from sysid_nodes.solvers.trajectory_least_squares import Blocks, assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.sensing import Readings
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

_CHANCE = 1e-4
"""Probability that white noise alone shows one effect."""

_EXPLAINED = 0.3
"""Share of the squares beyond those of noise that an effect has to explain."""

_FIRST_ORDER = 0.25
"""Share of a size by which it errs: what other unknowns have taken of it, and what is assumed of a swinging load."""

_WEAK = 1e3
"""Standard deviation of a weak prior of sizes, in harmless ones: an effect that nothing tells of stays determined."""

_JUMPS = 7
"""Times that markers may have moved at, evenly over a log: a jump in between shows at its neighbours."""

_SWINGS, _DAMPED = (0.6, 0.8, 1.0, 1.3, 1.7, 2.2), 0.1
"""Rates of a swinging load [Hz], near enough to one another for its damping, a share of the critical one."""


@dataclass(frozen=True)
class Direction:
    """Change of residuals by an effect.

    Attributes:
        name: of the effect.
        unit: of its size.
        harmless: size that says nothing.
        columns: (B, m, e) by a unit of each of its e numbers, of groups of residuals by name.
    """

    name: str
    unit: str
    harmless: float
    columns: Mapping[str, Array]

    @property
    def count(self) -> int:
        """e."""
        return int(next(iter(self.columns.values())).shape[2])


def untold_effect(problem: PrimeProblem, blocks: Sequence[Blocks], point: Trajectory) -> UntoldEffect | None:
    """The effect that a whole log's residuals show most clearly; None where they show none.

    Args:
        problem: without limits.
        blocks: its residuals with derivatives at the point, in the order of its groups.
        point: near its solution.
    """
    excess = sum(float(np.sum(group.residual**2)) - group.residual.size for group in map(reweight, blocks))
    shown = []
    for effect, size, covariance in effect_sizes(problem, blocks, directions(problem, point)):
        known = covariance + effect.harmless**2 * np.eye(len(size))
        distance = float(size @ np.linalg.solve(known, size))
        explained = float(size @ np.linalg.solve(covariance, size))
        if distance > chdtri(len(size), _CHANCE) and explained > _EXPLAINED * excess:
            k = int(np.argmax(np.abs(size) / np.sqrt(np.diag(known))))
            sigma = float(np.hypot(np.sqrt(known[k, k]), _FIRST_ORDER * size[k]))
            shown.append((distance, UntoldEffect(effect.name, float(abs(size[k])), sigma, effect.unit)))
    return max(shown, key=lambda entry: entry[0])[1] if shown else None


def effect_sizes(
    problem: PrimeProblem, blocks: Sequence[Blocks], effects: Iterable[Direction]
) -> Iterator[tuple[Direction, Array, Array]]:
    """Size (e,) and covariance (e, e) of each effect, were it the only one; nothing where they are not determined."""
    effects = tuple(effects)
    count, own = problem.layout.parameters, sum(effect.count for effect in effects)
    if not own:
        return
    sigma = np.concatenate([np.full(effect.count, _WEAK * effect.harmless) for effect in effects])
    weak = np.concatenate([np.zeros((own, count)), np.diag(1.0 / sigma)], axis=1)[None]
    start = np.zeros(1, dtype=np.intp)
    prior = Blocks(start, np.zeros((1, own)), np.zeros((1, own, problem.layout.size)), weak)
    wider = [_with_columns(name, group, effects, count) for name, group in zip(problem.groups, blocks, strict=True)]
    layout = replace(problem.layout, parameters=count + own)
    factor = factorise(assemble([*wider, prior], layout), 0.0)
    if factor is None:
        return
    root = np.tril(factor.corner)
    left = solve_triangular(root, factor.parameter_gradient, lower=True)[count:]
    root = root[count:, count:]
    spread, score, first = root @ root.T, root @ left, 0
    for effect in effects:
        part = slice(first, first + effect.count)
        first = part.stop
        covariance: Array = np.asarray(np.linalg.inv(spread[part, part]))
        yield effect, -covariance @ score[part], covariance


def _with_columns(name: str, group: Blocks, effects: Sequence[Direction], count: int) -> Blocks:
    """A group with the effects as further parameters."""
    rows, by = group.residual.shape, group.parameter_jacobian
    if by is None and not any(name in effect.columns for effect in effects):
        return group
    parts = [np.zeros((*rows, count)) if by is None else by]
    parts += [effect.columns.get(name, np.zeros((*rows, effect.count))) for effect in effects]
    return replace(group, parameter_jacobian=np.concatenate(parts, axis=2))


def directions(problem: PrimeProblem, point: Trajectory) -> Iterator[Direction]:
    """All effects that a problem's residuals may show."""
    if problem.loaded:
        yield from _torques(problem, point)
        if not problem.model.config.process.asks_outside:
            yield from _forces(problem, point)
    motion, mount = problem.inner.residuals(point, problem.law)[2], {}
    for readings in problem.readings:
        name, found = readings.sensor.name, readings.linearise(point, motion)
        by = found.reading
        if by is not None and name in _INERTIAL:
            # By what is predicted: the noise of readings themselves would pass for a scale that is too large.
            seen = readings.samples.values - np.linalg.solve(by, found.residual[:, :, None])[:, :, 0]
            yield Direction(f"a scale of the {name}", "1", _INERTIAL[name], {name: by @ seen[:, :, None]})
            mount[name] = by @ skew(seen)
        elif by is not None and name == "imu_orientation":
            mount[name] = by
        elif by is not None and name == "mocap_pose":
            yield from _markers(problem, point, readings, by)
    if mount:
        yield Direction("an IMU that is turned on its link", "rad", 3e-3, mount)


_INERTIAL = {"gyroscope": 3e-3, "accelerometer": 4e-3}
"""Sensors of vectors in the IMU's axes, and their harmless errors of scale."""


def _torques(problem: PrimeProblem, point: Trajectory) -> Iterator[Direction]:
    """Torques that come later than they are read."""
    rows = problem.inner.dynamics.at(problem.model.base, point.theta)
    late = np.zeros((*rows.scale.shape, 1))
    late[:, 6:, 0] = -rows.scale[:, 6:] * np.gradient(rows.torque, problem.model.config.step, axis=0)
    yield Direction("drives that lag the torque that is read", "s", 5e-4, {"dynamics": late})


def _forces(problem: PrimeProblem, point: Trajectory) -> Iterator[Direction]:
    """Forces on the base along the ground."""
    rows = problem.inner.dynamics.at(problem.model.base, point.theta)
    turn, place = quaternion_matrix(point.q[1:-1, 3:7]), point.q[1:-1, :2]
    across = np.array([[0.0, -1.0], [1.0, 0.0]])

    def wrench(force: Array) -> Mapping[str, Array]:
        """Columns of the base's rows by forces (K, 2, e) along the world's x and y at the base's origin."""
        columns = np.zeros((*rows.scale.shape, force.shape[2]))
        columns[:, :3] = rows.scale[:, :3, None] * (turn[:, :2].swapaxes(1, 2) @ force)
        return {"dynamics": columns}

    ahead = turn[:, :2, 0] / np.maximum(np.linalg.norm(turn[:, :2, 0], axis=1, keepdims=True), 1e-6)
    own = np.stack([ahead, ahead @ across.T], axis=2)
    yield Direction("a steady force from outside", "N", 0.5, wrench(np.broadcast_to(np.eye(2), own.shape)))
    yield Direction("a force from outside that turns with the base", "N", 0.5, wrench(own))
    away = place - place.mean(axis=0)
    yield Direction("a cable or a spring from outside", "N/m", 2.0, wrench(-away[:, :, None] * np.eye(2)))
    for swinging in _swinging(problem, point):
        yield Direction("a load that swings", "kg", 0.05, wrench(swinging))


def _swinging(problem: PrimeProblem, point: Trajectory) -> Iterator[Array]:
    """(K, 2, 1) force of a kilogram that swings about the base's origin, at each of the rates."""
    step, place = problem.model.config.step, point.q[:, :2]
    pulled = np.diff(place, 2, axis=0) / step**2
    for rate in 2.0 * np.pi * np.array(_SWINGS):
        law = bilinear([-2.0 * _DAMPED * rate, -(rate**2)], [1.0, 2.0 * _DAMPED * rate, rate**2], 1.0 / step)
        yield lfilter(*law, pulled, axis=0)[:, :, None]


def _markers(problem: PrimeProblem, point: Trajectory, readings: Readings, by: Array) -> Iterator[Direction]:
    """Errors of the motion capture's places, whose residuals (B, m) readings change by (B, m, 6)."""
    steps = readings.samples.steps
    turn = quaternion_matrix(point.q[steps, 3:7])

    def moved(columns: Array) -> Mapping[str, Array]:
        return {readings.sensor.name: by[:, :, :3] @ columns}

    if problem.model.config.sensors.mocap_pose.offset_sigma == 0.0:
        yield Direction("markers beside where they are described", "m", 1e-3, moved(turn))
    for k in range(_JUMPS):
        after = steps > (k + 1) * problem.stages / (_JUMPS + 1)
        yield Direction("markers that moved on the robot", "m", 3e-4, moved(turn * after[:, None, None]))
