# SPDX-License-Identifier: Apache-2.0
"""The motion that a stream of set-points asks for, as a joint trajectory controller joins them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]


class SetPoints:
    """Points that replace all earlier ones from their beginning on; cubics join those with velocities, lines others.

    Attributes:
        n: number of joints.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self._t: list[float] = []
        self._q: list[Array] = []
        self._qd: list[Array] = []  # not a number where a point has none

    def __len__(self) -> int:
        return len(self._t)

    @property
    def begin(self) -> float:
        """Time of the first point [s]; infinite without points."""
        return self._t[0] if self._t else np.inf

    def take(self, begin: float, t: Array, q: Array, qd: Array | None = None) -> None:
        """Takes points; until the first of them the motion goes on from where it is at ``begin``.

        Args:
            begin: from when on they replace earlier ones [s].
            t: (p,) increasing [s].
            q, qd: (p, n) [rad, rad/s].

        Raises:
            SamplesError: shapes do not fit, numbers are not finite or times do not increase.
        """
        parts = [np.asarray(x, dtype=np.float64) for x in ((q,) if qd is None else (q, qd))]
        if any(part.shape != (len(t), self.n) for part in parts):
            raise SamplesError(f"set-points need {self.n} joints at {len(t)} times, got {parts[0].shape}")
        if not np.isfinite(t).all() or not all(np.isfinite(part).all() for part in parts):
            raise SamplesError("a set-point is not finite")
        if (np.diff(t) <= 0.0).any():
            raise SamplesError("the times of set-points must increase")
        if not len(t):
            return
        begin = min(begin, float(t[0]))
        joined = self.at(np.array([begin])) if self._t and begin > self._t[0] and begin < t[0] else None
        kept = int(np.searchsorted(self._t, begin, side="left"))
        del self._t[kept:], self._q[kept:], self._qd[kept:]
        if joined is not None:
            self._add(np.array([begin]), joined[0], joined[1] if qd is not None else None)
        self._add(t, parts[0], parts[1] if qd is not None else None)

    def forget(self, before: float) -> None:
        """Forgets points that say nothing of a time [s] or later ones."""
        gone = max(int(np.searchsorted(self._t, before, side="right")) - 1, 0)
        del self._t[:gone], self._q[:gone], self._qd[:gone]

    def at(self, t: Array) -> tuple[Array, Array]:
        """Position and velocity (N, n) at times (N,); held before the first point and after the last [rad, rad/s]."""
        knots, q, qd = np.array(self._t), np.array(self._q), np.array(self._qd)
        if len(knots) < 2:
            return np.repeat(q[:1], len(t), axis=0), np.zeros((len(t), self.n))
        right = np.clip(np.searchsorted(knots, t, side="right"), 1, len(knots) - 1)
        a, b = q[right - 1], q[right]
        h = (knots[right] - knots[right - 1])[:, None]
        s = np.clip((t - knots[right - 1])[:, None] / h, 0.0, 1.0)
        va, vb = h * qd[right - 1], h * qd[right]
        straight = np.isnan(va).any(axis=1, keepdims=True) | np.isnan(vb).any(axis=1, keepdims=True)
        va, vb = np.where(straight, b - a, va), np.where(straight, b - a, vb)
        square, cube = 3.0 * (b - a) - 2.0 * va - vb, va + vb - 2.0 * (b - a)
        held = ((t < knots[0]) | (t > knots[-1]))[:, None]
        position = a + s * (va + s * (square + s * cube))
        velocity = np.where(held, 0.0, (va + s * (2.0 * square + 3.0 * s * cube)) / h)
        return np.asarray(position), np.asarray(velocity)

    def _add(self, t: Array, q: Array, qd: Array | None) -> None:
        self._t.extend(t.tolist())
        self._q.extend(q)
        self._qd.extend(np.full(q.shape, np.nan) if qd is None else qd)
