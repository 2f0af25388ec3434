# SPDX-License-Identifier: Apache-2.0
"""Joint measurements of one robot, in the robot's own joint order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class JointSamples:
    """N samples of n joints.

    Attributes:
        names: n joint names, the column order of q, qd and tau.
        t: (N,) sensor stamps [s], strictly increasing.
        q: (N, n) joint positions, unwrapped [rad or m].
        qd: (N, n) joint velocities [rad/s or m/s].
        tau: (N, n) joint torques or forces [N m or N].

    Raises:
        SamplesError: shapes differ, a value is not finite or the stamps do not increase.
    """

    names: tuple[str, ...]
    t: Array
    q: Array
    qd: Array
    tau: Array

    def __post_init__(self) -> None:
        t = np.ascontiguousarray(self.t, dtype=np.float64).view()  # the caller's own array stays writable
        if t.ndim != 1:
            raise SamplesError(f"stamps must be one-dimensional, got shape {t.shape}")
        if not np.isfinite(t).all():
            raise SamplesError("a stamp is not finite")
        if t.size > 1 and (late := np.flatnonzero(np.diff(t) <= 0.0)).size:
            raise SamplesError(f"stamps must increase; they do not after sample {int(late[0])}")
        object.__setattr__(self, "t", t)
        t.setflags(write=False)
        shape = (t.size, len(self.names))
        for field in ("q", "qd", "tau"):
            value = np.ascontiguousarray(getattr(self, field), dtype=np.float64).view()
            if value.shape != shape:
                raise SamplesError(f"{field} must have shape {shape}, got {value.shape}")
            if not np.isfinite(value).all():
                row, column = np.argwhere(~np.isfinite(value))[0]
                raise SamplesError(f"{field} of joint '{self.names[column]}' is not finite at sample {int(row)}")
            value.setflags(write=False)
            object.__setattr__(self, field, value)

    def __len__(self) -> int:
        return int(self.t.size)

    def slice(self, start: int, stop: int) -> JointSamples:
        """Samples start..stop-1, sharing memory with this object."""
        return JointSamples(
            self.names, self.t[start:stop], self.q[start:stop], self.qd[start:stop], self.tau[start:stop]
        )
