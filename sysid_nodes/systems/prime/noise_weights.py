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

A whole log is weighed by its own residuals (log_weights.py). A moving window is weighed by those of the
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
from sysid_nodes.solvers.trajectory_least_squares.variance_components import STATED
from sysid_nodes.systems.prime.noise_variances import squares_and_redundancy, stage_of, weight_factors
from sysid_nodes.systems.prime.observed_noise import TRIANGLE, overlaps
from sysid_nodes.systems.prime.parameters import JOINTS
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.sensing import Readings

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

_FINEST = 0.04
"""Least variance of a reading in units of the stated one."""

_MEMORY = 1000
"""Stages over which a sensor's noise fades: it is the same sensor's, whatever the robot does."""

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
            if competes(problem, name):
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


def competes(problem: PrimeProblem, name: str) -> bool:
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
