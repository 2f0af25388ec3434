# SPDX-License-Identifier: Apache-2.0
"""When a descent has converged: by its last step, or by several that together gain too little."""

from __future__ import annotations

from collections import deque

from sysid_nodes.results.least_squares import SolveStatus
from sysid_nodes.solvers.trajectory_least_squares.damped_step import Trial
from sysid_nodes.solvers.trajectory_least_squares.problem import Point

_TRUSTED = 1e-2
"""Damping below which a small step or decrease is a property of the problem, not of the damping."""
_HALF = 1.0
"""Damping up to which a step is at least half of what each coordinate would take alone."""
_REPEATED = 2
"""Accepted steps in a row that gain less than the tolerance at damping up to that, whatever they promised: where the
model kinks, damping never gets small."""
_PATIENCE = 6
"""Accepted steps that together must gain more than the tolerance, whatever each promised: at a kink the model promises
again and again what it does not keep."""
_ROUNDING = 1e-12
"""Predicted relative decrease that the rounding of a sum of squares can hide."""


class ConvergenceTest:
    """Judges each accepted step of a descent, by itself and together with those before it.

    Args:
        cost_tolerance: relative decrease of the cost that counts as none.
        step_tolerance: length of a step that counts as none, in conditional sigmas.
        promise_tolerance: decrease that a whole step promises and that counts as none; 0: it ends nothing.
        taken_tolerance: decrease that a whole step which was taken promised and did not keep, or kept too well, that
            counts as none: the next step promises as much, about.
    """

    def __init__(
        self,
        cost_tolerance: float,
        step_tolerance: float,
        promise_tolerance: float = 0.0,
        taken_tolerance: float = 0.0,
    ) -> None:
        self._cost_tolerance, self._step_tolerance = cost_tolerance, step_tolerance
        self._promise_tolerance, self._taken_tolerance = promise_tolerance, taken_tolerance
        self._repeated = 0
        self._gains: deque[float] = deque(maxlen=_PATIENCE)

    def is_idle(self, promise: float, damping: float) -> bool:
        """Whether a step was the last, taken or not, for what the model promises of the whole of it.

        Half the square of its length, in sigmas of all unknowns together: none is further from its best than that.
        """
        return damping <= _TRUSTED and 0.0 < self._promise_tolerance >= promise

    def judge(self, taken: Trial[Point], damping: float, before: float) -> SolveStatus | None:
        """Whether a step taken from a point of that cost was the last; None where the descent goes on."""
        enough = self._cost_tolerance * before
        self._gains.append(taken.decrease)
        idle = len(self._gains) == _PATIENCE and sum(self._gains) <= enough
        if taken.share < 1.0:  # gains little for that alone
            return SolveStatus.CONVERGED_COST if idle else None
        gains_nothing = max(taken.decrease, taken.predicted) <= enough
        self._repeated = self._repeated + 1 if damping <= _HALF and taken.decrease <= enough else 0
        if damping <= _TRUSTED:
            if taken.length <= self._step_tolerance:
                return SolveStatus.CONVERGED_STEP
            if not gains_nothing and is_hidden_by_rounding(taken, damping, before):
                return SolveStatus.CONVERGED_ROUNDING
        kept = abs(taken.predicted - taken.decrease) <= self._taken_tolerance and self._taken_tolerance > 0.0
        small = damping <= _TRUSTED and (gains_nothing or kept)
        if small or self._repeated >= _REPEATED or idle:
            return SolveStatus.CONVERGED_COST
        return None


def is_hidden_by_rounding(trial: Trial[Point], damping: float, value: float) -> bool:
    """Whether rounding of a cost of that value hides what a step gains; the step is more precise and may be taken."""
    return damping <= _TRUSTED and trial.predicted <= _ROUNDING * value and abs(trial.decrease) <= _ROUNDING * value
