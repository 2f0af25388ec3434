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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.special import chdtri

from sysid_nodes.results.prime import UntoldEffect
from sysid_nodes.solvers.trajectory_least_squares import Blocks, assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.systems.prime.directions import Direction, directions
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

_CHANCE = 1e-4
"""Probability that white noise alone shows one effect."""

_EXPLAINED = 0.3
"""Share of the squares beyond those of noise that an effect has to explain."""

_FIRST_ORDER = 0.25
"""Share of a size by which it errs: what other unknowns have taken of it, and what is assumed of a swinging load."""

WEAK = 1e3
"""Standard deviation of a weak prior of sizes, in harmless ones: an effect that nothing tells of stays determined."""


def untold_effect(problem: PrimeProblem, blocks: Sequence[Blocks], point: Trajectory) -> UntoldEffect | None:
    """The effect that a whole log's residuals show, and that explains most of them; None where they show none.

    Args:
        problem: without limits.
        blocks: its residuals with derivatives at the point, in the order of its groups.
        point: near its solution.
    """
    excess = sum(float(np.sum(group.residual**2)) - group.residual.size for group in map(reweight, blocks))
    found = shown_effect(effect_sizes(problem, blocks, directions(problem, point)), excess, _CHANCE)
    return None if found is None else found.effect


@dataclass(frozen=True)
class Shown:
    """An effect that residuals show.

    Attributes:
        effect: with its size.
        explained: by how much it would lower the sum of squares.
    """

    effect: UntoldEffect
    explained: float


def shown_effect(sizes: Iterable[tuple[Direction, Array, Array]], excess: float, chance: float) -> Shown | None:
    """Of the effects that are shown the one that explains most, if any.

    Args:
        sizes: effects, sizes (e,) of each and their covariance (e, e), were it the only one.
        excess: squares of the residuals beyond those of noise.
        chance: probability that white noise alone shows one effect.
    """
    shown = []
    for effect, size, covariance in sizes:
        known = covariance + effect.harmless**2 * np.eye(len(size))
        distance = float(size @ np.linalg.solve(known, size))
        explained = float(size @ np.linalg.solve(covariance, size))
        if distance > chdtri(len(size), chance) and explained > _EXPLAINED * excess:
            k = int(np.argmax(np.abs(size) / np.sqrt(np.diag(known))))
            sigma = float(np.hypot(np.sqrt(known[k, k]), _FIRST_ORDER * size[k]))
            shown.append(Shown(UntoldEffect(effect.name, float(abs(size[k])), sigma, effect.unit), explained))
    return max(shown, key=lambda one: one.explained, default=None)


def effect_sizes(
    problem: PrimeProblem, blocks: Sequence[Blocks], effects: Iterable[Direction]
) -> Iterator[tuple[Direction, Array, Array]]:
    """Size (e,) and covariance (e, e) of each effect, were it the only one; nothing where they are not determined."""
    effects = tuple(effects)
    count, own = problem.layout.parameters, sum(effect.count for effect in effects)
    if not own:
        return
    sigma = np.concatenate([np.full(effect.count, WEAK * effect.harmless) for effect in effects])
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
