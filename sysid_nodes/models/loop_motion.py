# SPDX-License-Identifier: Apache-2.0
"""Where joints are that nobody reads: where the loops of a mechanism close."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.loop_closure import LoopClosures, build_closures
from sysid_nodes.robots import Robot
from sysid_nodes.robots.loops import Loop

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

CLOSED = 1e-9
"""Gap of a loop that counts as none [m], of axes [1]."""

_ITERATIONS = 100
_LONGEST = 0.3  # [rad] of a joint's step: Newton's method finds the branch it began on
_STILL = 1e-10  # [rad] of a joint's step: nothing comes nearer


def close_loops(closures: LoopClosures, q: Array, moving: BoolArray) -> tuple[Array, float]:
    """Places the moving joints by Newton's method, beginning where they are.

    Args:
        closures: of n joints.
        q: (N, n) configurations [rad, m].
        moving: (n,) joints that may move; the others stay.

    Returns:
        (N, n) configurations, and the largest gap left; `CLOSED` or less where the loops close.
    """
    q = q.copy()
    for _ in range(_ITERATIONS):
        value, jacobian = closures.linearise(q)
        left = float(np.abs(value).max())
        if left < CLOSED or not moving.any():
            break
        step = -(np.linalg.pinv(jacobian[:, :, moving], rcond=1e-9) @ value[:, :, None])[:, :, 0]
        if np.abs(step).max() < _STILL:
            break
        q[:, moving] += step * np.minimum(1.0, _LONGEST / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-12))
    return q, left


class LinkagePosture:
    """All joints of a mechanism from those that are read, reading by reading; the next begins at the last one.

    Args:
        robot: with a fixed base.
        loops: that its description leaves open.

    Raises:
        RobotError: see `build_closures`.
    """

    def __init__(self, robot: Robot, loops: Sequence[Loop]) -> None:
        self._closures = build_closures(robot, Chain.from_model(robot.model), loops)
        self._index = {name: k for k, name in enumerate(robot.joint_names)}
        self._q = np.zeros(robot.n)

    def complete(self, names: Sequence[str], position: Sequence[float] | Array) -> Array | None:
        """(n,) positions [rad]; None where too few joints are read, or a loop does not close at the readings.

        Args:
            names, position: of a message; joints of others in it are passed over.
        """
        q, free = self._q.copy(), np.ones(len(self._q), dtype=np.bool_)
        for name, value in zip(names, position, strict=False):
            if name in self._index:
                q[self._index[name]], free[self._index[name]] = value, False
        if int(free.sum()) > self._closures.count or not np.isfinite(q).all():
            return None
        if not self._closures.count:
            return q
        closed, left = close_loops(self._closures, q[None], free)
        if left >= CLOSED:
            return None
        self._q = np.asarray(closed[0])
        return self._q
