# SPDX-License-Identifier: Apache-2.0
"""The messages a legged robot's demo has heard so far. The truth is known here and nowhere in the estimator."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.cli.demo.live_watch import IdentifyingWatch
from sysid_nodes.reports.prime.truth import ON_GROUND, triangle_means
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.diagnostic_keys import (
    BEHIND,
    FINDING,
    HOP,
    LAG,
    LOAD,
    LONGEST_LAG,
    PUBLISHED,
    RECEIVED,
    ROBOT_FALLEN,
    ROBOT_FINISHED,
    SKIPPED,
    SOLVE_TIME,
    SOLVES,
    STATE,
    TROUBLE,
    WAITING,
    WINDOW,
)

Array = npt.NDArray[np.float64]

ESTIMATOR = "prime_estimator: estimation"
"""Its status in the diagnostics."""

_ROBOT = "simulated_legged_robot: motion"
_KEPT = 500  # true forces


class PrimeWatch(IdentifyingWatch):
    """The latest of everything the recorder tells.

    Args:
        theta: (10,) true parameters of the torso, load included.
        index: (nc,) foot of every contact point.
        link: that carries the load.
        step: between the estimator's stages [s].

    Attributes:
        status: what the newest estimate is worth.
        heard: seconds in each status, by the estimate's own clock.
        found: the newest parameters, or None.
        sigma: their standard deviations.
        com, com_sigma: centre of mass [m].
        normal, true_normal: (feet,) newest normal forces of about one time [N]; NaN before there are any.
        lags: every lag that was reported [s].
        paces: steps between solves and stages of the window that were reported.
    """

    def __init__(self, theta: Array, index: npt.NDArray[np.int64], link: str, step: float) -> None:
        super().__init__()
        self.theta, self.link, self._step = theta, link, step
        self._index = index
        self.status = PrimeStatus.STARTING
        self.heard: dict[PrimeStatus, float] = {}
        self.found: Array | None = None
        self.sigma = self.com = self.com_sigma = np.full(3, np.nan)
        self.normal = self.true_normal = np.full(int(index.max()) + 1, np.nan)
        self.lags: list[float] = []
        self.paces: set[tuple[int, int]] = set()
        self.time = 0.0
        self._first = np.nan
        self._truth: deque[tuple[float, Array]] = deque(maxlen=_KEPT)
        self._both = self._either = 0
        self._squares = np.zeros(2)
        self._ended = False

    def take(self, line: Mapping[str, Any]) -> None:
        if "truth" in line:
            self._truth.append((line["truth"]["t"], self._by_foot(line["truth"]["normal"])))
        if "forces" in line and not self.finished:
            self._take_forces(line["forces"])
        if "inertia" in line and not self.finished:
            self._take_inertia(line["inertia"])
        super().take(line)
        if "diagnostics" in line and not self.finished and self._text(ESTIMATOR, SOLVES) not in ("", "0"):
            self.lags.append(self._number(ESTIMATOR, LONGEST_LAG))
            pace = self._number(ESTIMATOR, HOP), self._number(ESTIMATOR, WINDOW)
            self.paces.add((int(pace[0]), int(pace[1])))

    def _take_forces(self, message: Mapping[str, Any]) -> None:
        t = message["t"]
        if np.isnan(self._first):
            self._first = t
        self.heard[self.status] = self.heard.get(self.status, 0.0) + max(t - self._first - self.time, 0.0)
        self.status, self.time = PrimeStatus(message["status"]), t - self._first
        found = self._by_foot(message["normal"])
        true = self._true_normal(t)
        if true is None or not np.isfinite(found).all():
            return
        self.normal, self.true_normal = found, true
        on, really = found > ON_GROUND, true > ON_GROUND
        self._both += int(np.sum(on & really))
        self._either += int(np.sum(on)) + int(np.sum(really))
        self._squares += [float(np.sum((found - true) ** 2)), float(np.sum(true**2))]

    def _true_normal(self, t: float) -> Array | None:
        """(feet,) mean of the true forces about a time, weighted as the estimate's; None where some are not there.

        A box of 20 ms whose end is up to 10 ms away, as it was compared with once, has feet on the ground when they
        are not: F1 came out as 0.98 or 0.997 by where the stages happened to lie, and is 0.999.
        """
        times = np.array([at for at, _ in self._truth])
        if len(times) < 2:
            return None
        spacing = float(np.median(np.diff(times)))
        near = np.flatnonzero(np.abs(times - t) < self._step + spacing)
        if not len(near) or np.diff(times[near]).max(initial=0.0) > 1.5 * spacing:
            return None
        forces = np.array([self._truth[k][1] for k in near])
        true = triangle_means(times[near[0]] - 0.5 * spacing, spacing, forces, np.array([t]), self._step)[0]
        return true if np.isfinite(true).all() else None

    def _take_inertia(self, message: Mapping[str, Any]) -> None:
        if message["body"] != self.link:
            return
        self.found, self.sigma = np.array(message["estimate"]), np.array(message["sigma"])
        self.com, self.com_sigma = (
            np.array([message[name][axis] for axis in "xyz"]) for name in ("centre_of_mass", "centre_of_mass_sigma")
        )

    def _by_foot(self, normal: list[float]) -> Array:
        summed: Array = np.bincount(self._index, weights=np.array(normal)).astype(np.float64)
        return summed

    @property
    def true_com(self) -> Array:
        """(3,) [m]."""
        return np.asarray(self.theta[1:4] / self.theta[0])

    @property
    def f1(self) -> float | None:
        """Of contact on and off so far, by foot, at the times that were compared."""
        return 2.0 * self._both / self._either if self._either else None

    @property
    def force_error(self) -> float | None:
        """Relative error of the normal forces so far; feet near their touch-down included."""
        return float(np.sqrt(self._squares[0] / self._squares[1])) if self._squares[1] else None

    @property
    def finished(self) -> bool:
        """Whether the robot's programme is over."""
        self._ended = self._ended or self._text(_ROBOT, STATE) == ROBOT_FINISHED
        return self._ended

    @property
    def fallen(self) -> bool:
        """Whether the robot has fallen."""
        return self._text(_ROBOT, TROUBLE) == ROBOT_FALLEN

    @property
    def finding(self) -> str:
        """The evidence against the estimate."""
        return self._text(ESTIMATOR, FINDING)

    @property
    def waiting(self) -> bool:
        """Whether the estimator has messages that it has not got to yet."""
        return self._number(ESTIMATOR, WAITING) > 0

    @property
    def lag(self) -> float:
        """Of the newest estimate behind the newest reading [s]."""
        return self._number(ESTIMATOR, LAG)

    @property
    def solve_time(self) -> float:
        """[s]."""
        return self._number(ESTIMATOR, SOLVE_TIME)

    @property
    def load(self) -> float:
        """Share of the time between two solves that a solve takes."""
        return self._number(ESTIMATOR, LOAD)

    @property
    def skipped(self) -> int:
        """Steps that the estimator did not use because the machine was too slow."""
        return int(self._number(ESTIMATOR, SKIPPED))

    @property
    def behind(self) -> float:
        """By which the robot's programme took longer than its stamps say [s]."""
        return self._number(_ROBOT, BEHIND)

    def sent_counts(self) -> dict[str, int]:
        """Messages that the robot published, by topic."""
        return self._counts(_ROBOT, PUBLISHED)

    def received_counts(self) -> dict[str, int]:
        """Messages that reached the estimator, by topic."""
        return self._counts(ESTIMATOR, RECEIVED)
