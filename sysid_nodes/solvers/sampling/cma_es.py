# SPDX-License-Identifier: Apache-2.0
"""CMA-ES (Hansen, The CMA evolution strategy: a tutorial, 2016), by the library `cma`, within a box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Search:
    """Result of a search.

    Attributes:
        best: (K,) the best point that was looked at.
        cost: there.
        evaluations: of the function.
        history: best cost after each iteration.
    """

    best: Array
    cost: float
    evaluations: int
    history: tuple[float, ...]


def minimise(
    function: Callable[[Array], Array],
    guess: Array,
    lower: Array,
    upper: Array,
    *,
    spread: float,
    iterations: int,
    population: int = 0,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Search:
    """Looks for the least value of a function within bounds.

    Args:
        function: costs (P,) of points (P, K), all of an iteration at once; what is not finite counts as very bad.
        guess: (K,) where to begin.
        lower, upper: (K,) finite bounds.
        spread: first standard deviation, in units of half the bounds' distance.
        iterations: how many.
        population: points an iteration; 0 for the library's own number.
        progress: called with the best cost after each iteration.

    Raises:
        ConfigError: the library is not installed.
    """
    try:
        import cma
    except ImportError:
        raise ConfigError("this method needs the library 'cma': pip install cma") from None
    centre, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    options = {"bounds": [-1.0, 1.0], "seed": seed + 1, "verbose": -9, "maxiter": iterations}
    if population:
        options["popsize"] = population
    strategy = cma.CMAEvolutionStrategy(np.clip((guess - centre) / half, -1.0, 1.0), spread, options)
    best, cost, evaluations, history = guess, np.inf, 0, []
    for _ in range(iterations):
        points = np.array(strategy.ask())
        costs = np.nan_to_num(function(centre + half * points), nan=1e30, posinf=1e30)
        strategy.tell(list(points), costs.tolist())
        evaluations += len(points)
        k = int(np.argmin(costs))
        if costs[k] < cost:
            best, cost = centre + half * points[k], float(costs[k])
        history.append(cost)
        if progress is not None:
            progress(cost)
        if strategy.stop():
            break
    return Search(np.asarray(best), cost, evaluations, tuple(history))
