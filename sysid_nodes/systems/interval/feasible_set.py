# SPDX-License-Identifier: Apache-2.0
"""Set-membership identification: every published bound is a theorem about the stated assumptions.

The set of parameters not yet refuted is a polytope in xi (see `Unknowns`): one two-sided row per window and joint with
its honest radius, the box of the known robot and of the prior, and half-spaces of the pseudo-inertia condition
(v' P(theta) v >= 0 holds for every v when P is positive semidefinite, so each eigenvector of a violation is a cut).
Each bound is a linear program, certified by its multipliers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.solvers.certificate import width_costs
from sysid_nodes.solvers.polytope import Polytope
from sysid_nodes.systems.interval.config import SetMembershipConfig
from sysid_nodes.systems.interval.consistency_cuts import normals, vectors_about, vectors_against
from sysid_nodes.systems.interval.error_radius import BODY_CAUSES
from sysid_nodes.systems.interval.momentum_rows import CALIBRATION, CAUSES, MomentumRows, body_norms
from sysid_nodes.systems.interval.unknowns import BODY, Unknowns

Array = npt.NDArray[np.float64]

_CUT = -1
"""Window id of a pseudo-inertia cut."""

_CALIBRATION = -2
"""Window id of a row of the known robot's calibration."""

_ROUNDING = 1e-12

_THOROUGH_ROUNDS = 5
"""Rounds of cuts when data come in one block."""

_WORTH_A_ROUND = 0.03
"""Share by which some interval has narrowed since cuts were last looked for, if they are to be again."""


class FeasibleSet:
    """The polytope of parameters that all windows so far allow.

    Args:
        unknowns: assumed box of all parameters.
        config: effort; has no influence on soundness.

    Attributes:
        empty: row multipliers that prove the set empty, or None.
    """

    certified = True

    def __init__(self, unknowns: Unknowns, config: SetMembershipConfig) -> None:
        self._unknowns, self._config = unknowns, config
        self._centre, self._scale = unknowns.prior.centre, unknowns.prior.half_width
        d = unknowns.size
        self.polytope = Polytope(-np.ones(d), np.ones(d), 10)
        self.windows = np.zeros(0, dtype=np.int64)
        self.times = np.zeros((0, 2))
        self.empty: Array | None = None
        self._offset = np.zeros(0)  # rows @ xi + offset in [-radius, radius]
        self._radius = np.zeros((0, len(CAUSES)))
        self._body_radius = np.zeros((0, 3, 3))
        self._about = np.zeros((0, 10))
        self._lower, self._upper = unknowns.prior.lower.copy(), unknowns.prior.upper.copy()
        self._told = self._upper - self._lower  # widths when a step last reported that a bound moved
        self._cut_at = self._told  # widths when cuts were last looked for

    def reconfigure(self, config: SetMembershipConfig) -> None:
        """Changes the effort for the steps to come; what is proven stays."""
        self._config = config

    @property
    def bounds(self) -> Bounds:
        """Proven bounds of the ten parameters; never wider than before."""
        return Bounds(self._lower, self._upper)

    def step(self, rows: MomentumRows, ids: npt.NDArray[np.int64], *, thorough: bool = False) -> bool:
        """Intersects with the rows of new windows. See `empty`.

        Args:
            rows: rows of the new windows.
            ids: (W,) ids of the windows.
            thorough: solve until nothing moves, instead of a bounded number of linear programs.

        Returns:
            Whether a bound moved by `min_shrink` since this last was true: many small steps add up to one.
        """
        self._append(rows, ids)
        if thorough and self._config.max_cuts and not (self.windows == _CUT).any():
            self._cut(vectors_about(rows.about))  # saves rounds: those that the optima ask for come out near these
        self._solve(thorough)
        if self.empty is None:  # the proof of emptiness speaks of the rows as they are
            self._forget()
        width = self._upper - self._lower
        moved = bool((self._told - width > self._config.min_shrink * self._told).any())
        if moved:
            self._told = width
        return moved

    def costs(self) -> Mapping[str, Array]:
        """(10,) of each interval's width that each assumption costs, from the certificates [parameter's unit].

        The shares add up to more than the width where data narrow it further than the assumptions would.
        """
        poly = self.polytope
        groups = sorted(set(self._unknowns.groups))
        shares = {name: np.zeros(10) for name in (*CAUSES, *groups)}
        radius = self._causes()
        box = 0.5 * (poly.upper - poly.lower)
        for index in range(20):
            coordinate = index // 2
            rows, unknowns = width_costs(radius, box, poly.objective(index), poly.rows, poly.multipliers[index])
            if not poly.multipliers[index].any():
                unknowns = np.zeros_like(unknowns)
                unknowns[coordinate] = 1.0
            for k, name in enumerate(CAUSES):
                shares[name][coordinate] += rows[k] * self._scale[coordinate]
            for name in groups:
                mask = np.array([group == name for group in self._unknowns.groups])
                shares[name][coordinate] += unknowns[mask].sum() * self._scale[coordinate]
        shares["prior of the body"] = shares.pop(BODY)
        return {name: value for name, value in shares.items() if value.max() > 0.0}

    def clashing_windows(self) -> npt.NDArray[np.int64]:
        """Ids of the windows in the proof of emptiness, strongest first."""
        if self.empty is None:
            return np.zeros(0, dtype=np.int64)
        weight = np.abs(self.empty) * np.linalg.norm(self.polytope.rows, axis=1)
        order = np.argsort(-weight)
        used = [int(self.windows[k]) for k in order if weight[k] > 1e-6 * weight.max() and self.windows[k] >= 0]
        return np.array(list(dict.fromkeys(used)), dtype=np.int64)

    def relaxation_rows(self) -> tuple[Array, Array, Array]:
        """Rows (m, d), their offsets (m,) and radii by cause (m, causes), cuts included with no radius."""
        return self.polytope.rows, self._offset, self._causes()

    def _causes(self) -> Array:
        radius = self._radius.copy()
        radius[:, [CAUSES.index(cause) for cause in BODY_CAUSES]] += self._off(self._body_radius, self._about)
        return radius

    def _off(self, body_radius: Array, about: Array) -> Array:
        """(m, 3) radius by cause that bodies off `about` (m, 10) may add."""
        norms = body_norms(self._lower - about, self._upper - about)
        return np.asarray(np.einsum("mcs,ms->mc", body_radius, norms))

    def add_calibration(self, rows: Array, radius: Array) -> None:
        """Takes rows of the known robot, |rows @ p| <= radius without what is identified: (m, 15 n) and (m,)."""
        unknowns = self._unknowns
        a = rows @ unknowns.basis
        a[:, :10] = 0.0
        causes = np.zeros((len(radius), len(CAUSES)))
        causes[:, CAUSES.index(CALIBRATION)] = radius + 1e-11 * (np.abs(rows) @ unknowns.known_magnitude + radius)
        body, about = np.zeros((len(radius), 3, 3)), np.zeros((len(radius), 10))
        ids = np.full(len(radius), _CALIBRATION)
        self._insert(a, rows @ unknowns.known_centre, causes, body, about, ids, np.full((len(radius), 2), np.nan))

    def _append(self, rows: MomentumRows, ids: npt.NDArray[np.int64]) -> None:
        windows, n, size = rows.coefficients.shape
        flat = rows.coefficients.reshape(windows * n, size)
        self._insert(
            flat @ self._unknowns.basis,
            flat @ self._unknowns.centre,
            rows.radius.reshape(windows * n, -1),
            rows.body_radius.reshape(windows * n, 3, 3),
            np.broadcast_to(rows.about, (windows * n, 10)),
            np.repeat(ids, n),
            np.repeat(rows.t, n, axis=0),
        )

    def _insert(
        self,
        a: Array,
        offset: Array,
        radius: Array,
        body: Array,
        about: Array,
        ids: npt.NDArray[np.int64],
        times: Array,
    ) -> None:
        """Adds rows a @ xi + offset in [-radius, radius]; those without information are left out."""
        total = radius.sum(axis=1) + self._off(body, about).sum(axis=1)
        # A power of two leaves every bit of the row as it is and brings its entries near 1 for the solver.
        largest = np.abs(a).max(axis=1, initial=0.0)
        scale = np.where(largest > 1e-12, 2.0 ** -np.round(np.log2(np.maximum(largest, 1e-300))), 0.0)
        offset, total = offset * scale, total * scale
        keep = self.polytope.add(a * scale[:, None], -total - offset, total - offset)
        self._remember(keep, ids, times, offset, radius * scale[:, None], body * scale[:, None, None], about)

    def _remember(
        self,
        keep: npt.NDArray[np.bool_],
        windows: npt.NDArray[np.int64],
        times: Array,
        offset: Array,
        radius: Array,
        body: Array,
        about: Array,
    ) -> None:
        self.windows = np.concatenate([self.windows, windows[keep]])
        self.times = np.concatenate([self.times, times[keep]])
        self._offset = np.concatenate([self._offset, offset[keep]])
        self._radius = np.concatenate([self._radius, radius[keep]])
        self._body_radius = np.concatenate([self._body_radius, body[keep]])
        self._about = np.concatenate([self._about, about[keep]])

    def _solve(self, thorough: bool) -> None:
        rounds = _THOROUGH_ROUNDS if thorough else 1
        for round_ in range(rounds + 1):
            self._refresh_sides()
            found = self.polytope.tighten(None if thorough else self._config.solves)
            if found.empty is not None:
                self.empty = found.empty
                return
            self._take_bounds()
            width = self._upper - self._lower
            # Since the last look, not since the last step: the many small steps of a stream add up to one.
            if round_ == rounds or not (width < (1.0 - _WORTH_A_ROUND) * self._cut_at).any():
                return
            self._cut_at = width
            if not self._cut_off(found.solved):
                return

    def _take_bounds(self) -> None:
        """Moves the bounds in physical units, rounded outward, never back out."""
        poly = self.polytope
        lower = np.nextafter(self._centre + self._scale * poly.lower[:10], -np.inf)
        upper = np.nextafter(self._centre + self._scale * poly.upper[:10], np.inf)
        slack = _ROUNDING * (np.abs(self._centre) + self._scale)
        self._lower = np.maximum(self._lower, lower - slack)
        self._upper = np.minimum(self._upper, upper + slack)

    def _refresh_sides(self) -> None:
        """The radii shrink with the body's proven norms (position, velocity and sampling errors act through them)."""
        if not self.windows.size:
            return
        radius = self._causes().sum(axis=1)
        data = self.windows != _CUT
        lower = np.where(data, np.maximum(self.polytope.row_lower, -radius - self._offset), self.polytope.row_lower)
        upper = np.where(data, np.minimum(self.polytope.row_upper, radius - self._offset), self.polytope.row_upper)
        self.polytope.set_sides(lower, upper)

    def _cut_off(self, solved: tuple[int, ...]) -> bool:
        """Cuts off the optima whose pseudo-inertia is not positive semidefinite."""
        if int((self.windows == _CUT).sum()) >= 2 * self._config.max_cuts:
            return False
        points = self.polytope.points[list(solved), :10]
        v = vectors_against(self._centre + self._scale * points[np.isfinite(points[:, 0])])
        return bool(len(v)) and self._cut(v)

    def _cut(self, v: Array) -> bool:
        """Adds the half-spaces of vectors (k, 4); returns whether any of them says something new."""
        normal = normals(v)
        a = np.zeros((len(v), self._unknowns.size))
        a[:, :10] = normal * self._scale
        offset = normal @ self._centre
        slack = _ROUNDING * (np.abs(normal) @ (np.abs(self._centre) + self._scale))
        scale = 2.0 ** -np.round(np.log2(np.abs(a).max(axis=1)))
        rows = a * scale[:, None]
        keep = self.polytope.add(rows, -(offset + slack) * scale, np.full(len(scale), np.inf))
        count = len(scale)
        self._remember(
            keep,
            np.full(count, _CUT),
            np.full((count, 2), np.nan),
            offset * scale,
            np.zeros((count, len(CAUSES))),
            np.zeros((count, 3, 3)),
            np.zeros((count, 10)),
        )
        return bool(keep.any())

    def _forget(self) -> None:
        """Drops the least useful rows and cuts beyond the configured numbers; memory stays bounded."""
        useful = self.polytope.usefulness()
        cuts = self.windows == _CUT
        drop: list[int] = []
        for mask, limit in ((cuts, self._config.max_cuts), (~cuts, self._config.max_rows)):
            members = np.flatnonzero(mask)
            # A quarter of slack in the limit, so that the solver's warm starts survive most steps.
            if members.size > limit:
                order = members[np.argsort(useful[members], kind="stable")]
                drop += order[: members.size - (3 * limit) // 4].tolist()
        if not drop:
            return
        keep = np.ones(self.windows.size, dtype=bool)
        keep[drop] = False
        self.polytope.remove(np.array(sorted(drop), dtype=np.intp))
        self.windows, self.times, self._offset = self.windows[keep], self.times[keep], self._offset[keep]
        self._radius, self._body_radius = self._radius[keep], self._body_radius[keep]
        self._about = self._about[keep]
