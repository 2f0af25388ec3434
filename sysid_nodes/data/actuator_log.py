# SPDX-License-Identifier: Apache-2.0
"""Commands of a position-controlled robot, and what its encoders then read."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ActuatorLog:
    """Encoders and commands of n joints, on one clock and with rates of their own.

    Attributes:
        names: n joint names, the order of all columns.
        t: (N,) stamps of the encoders [s], strictly increasing.
        q: (N, n) measured positions [rad].
        command_t: (M,) times from which the commands hold [s], strictly increasing.
        command: (M, n) commanded positions [rad].
        command_rate: (M, n) commanded velocities [rad/s]; None where the drives are told none.
        stiffness, damping: (n,) gains of the drives' PD laws [N m/rad, N m s/rad]; None where nobody states them.
        torque: (M, n) torques that the drives are told besides [N m]; None for none.
        notes: what a reader should know of how the log came about.

    Raises:
        SamplesError: shapes differ, a value is not finite, times do not increase, or a gain is negative.
    """

    names: tuple[str, ...]
    t: Array
    q: Array
    command_t: Array
    command: Array
    command_rate: Array | None = None
    stiffness: Array | None = None
    damping: Array | None = None
    torque: Array | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.names)
        if not n or len(set(self.names)) != n:
            raise SamplesError("every joint needs a name of its own")
        for name, shape in (
            ("t", (np.shape(self.t)[:1] or (0,))),
            ("q", (len(self.t), n)),
            ("command_t", (np.shape(self.command_t)[:1] or (0,))),
            ("command", (len(self.command_t), n)),
            ("command_rate", (len(self.command_t), n)),
            ("torque", (len(self.command_t), n)),
            ("stiffness", (n,)),
            ("damping", (n,)),
        ):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, self._check(name, shape))
        for name in ("stiffness", "damping"):
            gains = getattr(self, name)
            if gains is not None and (gains < 0.0).any():
                raise SamplesError(f"{name} of joint '{self.names[int(np.argmin(gains))]}' is negative")

    def _check(self, name: str, shape: tuple[int, ...]) -> Array:
        value = np.array(getattr(self, name), dtype=np.float64)
        if value.shape != shape:
            raise SamplesError(f"{name} must have shape {shape}, got {value.shape}")
        if not np.isfinite(value).all():
            index = tuple(int(k) for k in np.argwhere(~np.isfinite(value))[0])
            joint = f" of joint '{self.names[index[-1]]}'" if shape[-1:] == (len(self.names),) and shape != () else ""
            at = "" if name in ("stiffness", "damping") else f" at sample {index[0]}"
            raise SamplesError(f"{name}{joint} is not finite{at}")
        if name in ("t", "command_t") and (late := np.flatnonzero(np.diff(value) <= 0.0)).size:
            raise SamplesError(f"{name} must increase; it does not after sample {int(late[0])}")
        value.setflags(write=False)
        return value

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.names)

    def between(self, begin: float, end: float) -> ActuatorLog:
        """The encoders' samples from `begin` to `end` [s], with all commands: the earliest may still hold then.

        Raises:
            SamplesError: there are fewer than two.
        """
        kept = (self.t >= begin) & (self.t <= end)
        if kept.sum() < 2:
            raise SamplesError(f"has {int(kept.sum())} samples between {begin:g} and {end:g} s")
        return replace(self, t=self.t[kept], q=self.q[kept])
