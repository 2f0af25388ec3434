# SPDX-License-Identifier: Apache-2.0
"""Weights of the readings by the noise that their residuals show.

Motion and constants are estimated together from readings that are all noisy. Torque readings, accelerations and the
inertia between them are a regression with errors in both variables: it is consistent where the stated noises have the
ratio of the true ones and biased otherwise, without a trace in the sigmas (Fuller, Measurement error models, 1987, sec.
1.3). With a readings' noise s and S of torque and acceleration against the stated 1 and 1, an inertia M costs

    (M^2 S^2 + s^2) / (M^2 + 1)

a reading on average, which falls towards smaller inertias where torques are better than stated. Hence the smaller of
the stated noise and that of the residuals weighs a reading. It is estimated as in observed_noise.py, per sensor, for
torques per joint. The rows of the base have no readings, but disturbances that are stated larger than they are make
small inertias pay just so: each of the six is weighed likewise. Larger noise than stated is left to the verdict on the
log.

A whole log is weighed by its own residuals. Those of a fit as stated say too much of a sensor that the motion follows:
the torque of a G1's waist, whose readings tell more of its quick turns than encoders do, leaves a twentieth of its
noise, and others' besides. So residuals and leverages are taken anew from the linear model with the weights found, a
few times: the restricted maximum of the likelihood (variance_components.py). A moving window is weighed by those of the
first stages that have settled, and never more, though less where later ones show more noise: a sensor that is weighed
more is followed more, leaves less in its residuals, and would be weighed more still.

Neighbouring means over triangles share readings. With accelerations, differences of what neighbouring stages say, it is
the noise of differences that competes, 1 - TRIANGLE of the variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import leverages, residuals_after
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.solvers.trajectory_least_squares.robust import reweight
from sysid_nodes.solvers.trajectory_least_squares.scaled_rows import assemble_scaled
from sysid_nodes.solvers.trajectory_least_squares.sections import cut_sections
from sysid_nodes.solvers.trajectory_least_squares.variance_components import STATED
from sysid_nodes.solvers.trajectory_least_squares.windows import windows
from sysid_nodes.systems.prime.last_step import best_step, take_step
from sysid_nodes.systems.prime.noise_variances import squares_and_redundancy, stage_of, weight_factors
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.parameters import JOINTS
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.sensing import Readings
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

_FINEST = 0.04
"""Least variance of a reading in units of the stated one."""

_MEMORY = 1000
"""Stages over which a sensor's noise fades: it is the same sensor's, whatever the robot does."""

ROUNDS = 3
"""Times that a whole log's weights are taken from its residuals."""

_PERIOD, _SECTION, _LONG = 200, 50, 2
"""Of a log of twice 200 stages, the first 50 of every 200 give the weights of all rounds but the last, as near to where
rounds without end lead as all its stages do: of a Go2 walking for 10 s within 4 % (RMS) either way, of a G1 12 %."""

_DAMPING = 1e-6
"""Of the step, relative to the Hessian's diagonal, where it does not lower the cost without any."""

_ENOUGH = 20
"""Settled stages that give a window its weights."""


class ShownNoise:
    """Squares of residuals of disturbance, torque, joints and motion, and their redundancy, by group and component.

    Orientations and poses are not among them: their errors last, and compete with no acceleration.
    """

    def __init__(self) -> None:
        self._sums: dict[str, Array] = {}  # (2, m)

    def add(
        self,
        problem: PrimeProblem,
        blocks: Sequence[Blocks],
        leverage: Sequence[Array],
        counted: slice | BoolArray = slice(None),
    ) -> None:
        """Adds residuals; what was added before fades.

        Args:
            problem: they are of, weighed or not.
            blocks: its residuals with derivatives.
            leverage: (B, m) of each group.
            counted: stages whose residuals are new.
        """
        new = np.zeros(problem.stages, dtype=np.bool_)
        new[counted] = True
        fade = max(1.0 - np.count_nonzero(new) / _MEMORY, 0.0)
        for name, group, own in zip(problem.groups, blocks, leverage, strict=True):
            if _competes(problem, name):
                chosen = new[stage_of(group, problem.layout.size)]
                parts = np.array(
                    [part[chosen].sum(axis=0) for part in squares_and_redundancy(problem, name, group, own)]
                )
                sums = parts if name == "dynamics" else parts.sum(axis=1, keepdims=True)
                self._sums[name] = sums + fade * self._sums.get(name, np.zeros(sums.shape))

    def roots(self, problem: PrimeProblem) -> dict[str, Array]:
        """Factors on the weights of the readings of each group that was seen."""
        roots = {}
        for name, (squares, free) in self._sums.items():
            variance = (squares + STATED) / (free + STATED)
            if overlaps(problem, name):
                variance[6 if name == "dynamics" else 0 :] *= 1.0 - TRIANGLE
            roots[name] = 1.0 / np.sqrt(np.clip(variance, _FINEST, 1.0))
        if "dynamics" in roots and problem.model.config.process.asks_outside:
            roots["dynamics"][:6] = 1.0  # an unknown of its own, whose size is the user's to state
        return roots


def _competes(problem: PrimeProblem, name: str) -> bool:
    """Whether a group's noise competes with accelerations."""
    return name in ("dynamics", JOINTS) or name in problem.model.moving


class WindowWeights:
    """Weights of windows that follow one another."""

    def __init__(self) -> None:
        self._noise = ShownNoise()
        self._seen = 0
        self._first: dict[str, Array] | None = None

    def add(self, problem: PrimeProblem, blocks: Sequence[Blocks], leverage: Sequence[Array], counted: slice) -> None:
        """See `ShownNoise.add`."""
        self._noise.add(problem, blocks, leverage, counted)
        self._seen += counted.stop - counted.start
        if self._first is None and self._seen >= _ENOUGH:
            self._first = self._noise.roots(problem)

    def weigh(self, problem: PrimeProblem) -> PrimeProblem:
        """A problem that is not weighed yet with its readings weighed; as it is while little was seen."""
        if self._first is None:
            return problem
        now = self._noise.roots(problem)
        return weigh_by(problem, {name: np.minimum(root, now[name]) for name, root in self._first.items()})


def weigh_readings(problem: PrimeProblem, point: Trajectory) -> tuple[PrimeProblem, Trajectory]:
    """The problem with its readings weighed by the noise that they show, and a point nearer to its solution.

    Args:
        problem: not weighed yet.
        point: near its solution; the last round's linear model has told a step from there.
    """
    stated = [reweight(group) for group in problem.linearise(point)]
    shapes, structure = [group.residual.shape for group in stated], windows(stated, problem.layout)
    weighed = _weigh_by_sections(problem, point, stated)
    rounds = ROUNDS if weighed is problem else 1
    equations, factor = None, None
    for _ in range(rounds):
        factors = _factors(weighed, shapes)
        equations = assemble_scaled(stated, factors, structure, problem.layout, room=equations)
        factor = factorise(equations, 0.0, room=factor)
        shown = None if factor is None else _look(problem, point, stated, factors, factor)
        if factor is None or shown is None:
            break
        noise = ShownNoise()
        noise.add(
            problem, [replace(group, residual=own) for group, own in zip(stated, shown[0], strict=True)], shown[1]
        )
        weighed = replace(problem, weights=noise.roots(problem))
    problem = weigh_by(problem, weighed.weights) if weighed.weights else problem
    taken = None if factor is None else take_step(problem, point, best_step(problem, point, factor).step)
    if equations is not None and (taken is None or taken.gain <= 0.0):
        factor = factorise(equations, _DAMPING)
        taken = None if factor is None else take_step(problem, point, best_step(problem, point, factor).step)
    return problem, point if taken is None else taken.point


def _weigh_by_sections(problem: PrimeProblem, point: Trajectory, stated: Sequence[Blocks]) -> PrimeProblem:
    """The problem with the weights of all rounds but the last, which sections of a long log give as well.

    As it is where the log is short, or the sections leave something undetermined.
    """
    if problem.stages < _LONG * _PERIOD:
        return problem
    parts = cut_sections(stated, problem.layout, _PERIOD, _SECTION, problem.groups.index("arrival"))
    shapes = [group.residual.shape for group in stated]
    weighed, equations, factor = problem, None, None
    for _ in range(ROUNDS - 1):
        factors = _factors(weighed, shapes)
        own = [
            _of_sections(whole, group, taken)
            for whole, group, taken in zip(factors, parts.groups, parts.taken, strict=True)
        ]
        equations = assemble_scaled(parts.groups, own, parts.windows, parts.layout, room=equations)
        factor = factorise(equations, 0.0, room=factor)
        shown = None if factor is None else _look(problem, point, parts.groups, own, factor)
        if shown is None:
            return problem
        left, leverage = (parts.lay_back(values, shapes) for values in shown)
        noise = ShownNoise()
        blocks = [replace(group, residual=residual) for group, residual in zip(stated, left, strict=True)]
        noise.add(problem, blocks, leverage, parts.inside)
        weighed = replace(problem, weights=noise.roots(problem))
    return weighed


def _factors(problem: PrimeProblem, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """(B, m) of each group, by what its rows are weighed more than stated."""
    return [weight_factors(problem, name, *shape) for name, shape in zip(problem.groups, shapes, strict=True)]


def _of_sections(factors: Array, group: Blocks, taken: IntArray) -> Array:
    """Factors of a group's blocks in sections; of a block that is in all of them, its own."""
    own = factors[taken]
    return own if len(own) == len(group.first) else np.repeat(own, len(group.first), axis=0)


def _look(
    problem: PrimeProblem, point: Trajectory, groups: Sequence[Blocks], factors: Sequence[Array], factor: Factor
) -> tuple[list[Array], list[Array]] | None:
    """(B, m) residuals and leverages of each group; leverages are NaN where they do not matter.

    Args:
        problem: not weighed.
        point: where groups are linearised.
        groups: as stated, of the whole trajectory or of sections.
        factors: (B, m) of each, on its rows in the factor.
        factor: undamped.
    """
    found = covariances(factor, local=False)
    if found is None:
        return None
    rows = [slice(None) if _competes(problem, name) else slice(0) for name in problem.groups]
    left = residuals_after(groups, best_step(problem, point, factor).step)
    # Of rows times their factors, which residuals are in units of the stated noise without.
    told = leverages(groups, factor, found, rows)
    return left, [own**2 * leverage for own, leverage in zip(factors, told, strict=True)]


def weigh_by(problem: PrimeProblem, roots: Mapping[str, Array]) -> PrimeProblem:
    """A problem that is not weighed yet with the weights of its readings times factors, of the dynamics (nv,)."""

    def weigh(readings: Readings) -> Readings:
        root, samples = roots.get(readings.sensor.name), readings.samples
        return readings if root is None else replace(readings, samples=replace(samples, weights=samples.weights * root))

    inner = problem.inner.weigh(roots["dynamics"])
    return replace(problem, inner=inner, readings=tuple(map(weigh, problem.readings)), weights=roots)


def stated_residuals(problem: PrimeProblem, residuals: Sequence[Array]) -> tuple[Array, ...]:
    """Residuals of a weighed problem in units of the noise that is stated."""
    pairs = zip(problem.groups, residuals, strict=True)
    return tuple(group / weight_factors(problem, name, *group.shape) for name, group in pairs)
