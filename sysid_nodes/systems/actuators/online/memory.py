# SPDX-License-Identifier: Apache-2.0
"""The windows of motion that tell most, and one log of them.

What is remembered is bounded: so many windows and no more. A window is worth what would be lost without it,

    sum over joints of log det(H) - log det(H - H_w),

H_w its Gauss-Newton Hessian of the fitted parameters (start states eliminated) and H that of all windows; with age it
is worth less. The others are forgotten: the models are those of the drives as they have lately been, with the scatter
of what is kept, and do not become ever more certain of a drive that warms up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog

Array = npt.NDArray[np.float64]

REACH = 0.25
"""Time before a window from which its commands are kept [s]: longer than any delay."""

_HOLE = 1.25
"""Time left between windows that do not join, in which the commands before the later one have room [s]."""

_LITTLE = 1e-9  # of the information of all windows; keeps determinants of what nobody moved apart from zero


@dataclass(frozen=True)
class MotionWindow:
    """A stretch of motion without holes.

    Attributes:
        number: counted up from 0 over all windows.
        log: encoders from `begin` on; commands from REACH before it.
        joins: whether it goes on where the window before it ended.
    """

    number: int
    log: ActuatorLog
    joins: bool

    @property
    def begin(self) -> float:
        """Stamp of the first encoder sample [s]."""
        return float(self.log.t[0])

    @property
    def end(self) -> float:
        """Stamp of the last encoder sample [s]."""
        return float(self.log.t[-1])


@dataclass(frozen=True)
class ToldWindow:
    """A window and what it tells: Hessians (n, K, K) of the joints' parameters."""

    window: MotionWindow
    information: Array


def keep_telling(windows: Sequence[ToldWindow], most: int, half_life: float) -> tuple[ToldWindow, ...]:
    """At most so many windows, in order of time; those that tell least go one by one.

    Args:
        windows: in order of time.
        most: how many.
        half_life: age, in windows, at which the worth of one is halved.
    """
    kept = list(windows)
    while len(kept) > most:
        newest = kept[-1].window.number
        ages = np.array([newest - told.window.number for told in kept], dtype=np.float64)
        kept.pop(int(np.argmin(_worth(np.array([told.information for told in kept])) * 0.5 ** (ages / half_life))))
    return tuple(kept)


def _worth(information: Array) -> Array:
    """(W,) what is lost without each of W windows with Hessians (W, n, K, K)."""
    total = information.sum(axis=0)
    scale = np.sqrt(np.maximum(np.einsum("jkk->jk", total), 1e-300))
    scaled = information / (scale[:, :, None] * scale[:, None, :])
    whole = scaled.sum(axis=0) + _LITTLE * np.eye(scale.shape[1])
    all_of_it = np.linalg.slogdet(whole)[1].sum()
    without = np.array([np.linalg.slogdet(_positive(whole - one))[1].sum() for one in scaled])
    return np.asarray(np.maximum(all_of_it - without, 0.0))


def _positive(matrices: Array) -> Array:
    """Symmetric matrices (n, K, K) with what rounding made negative set to nearly nothing."""
    values, vectors = np.linalg.eigh(matrices)
    return np.asarray((vectors * np.maximum(values, _LITTLE)[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def lay_end_to_end(windows: Sequence[MotionWindow]) -> ActuatorLog:
    """One log of windows in order of time and with the same gains, whatever lay between them: it begins at zero.

    Windows that join stay together; before others there is a hole of more than a second, with the commands that were
    given shortly before the window at its end.
    """
    t, q, command_t, command = [], [], [], []
    rates: list[Array | None] = []
    torques: list[Array | None] = []
    shift, end = 0.0, -_HOLE
    before: MotionWindow | None = None
    for window in windows:
        log = window.log
        together = before is not None and window.joins and window.number == before.number + 1
        if not together:
            shift = end + _HOLE - window.begin
        given = np.ones(len(log.command_t), dtype=np.bool_)
        if together and before is not None:
            given = log.command_t > before.log.command_t[-1]
        t.append(log.t + shift)
        q.append(log.q)
        command_t.append(log.command_t[given] + shift)
        command.append(log.command[given])
        for parts, values in ((rates, log.command_rate), (torques, log.torque)):
            parts.append(None if values is None else values[given])
        end, before = window.end + shift, window
    first = windows[0].log
    return ActuatorLog(
        first.names,
        np.concatenate(t),
        np.concatenate(q),
        np.concatenate(command_t),
        np.concatenate(command),
        _all_or_none(rates),
        first.stiffness,
        first.damping,
        _all_or_none(torques),
    )


def _all_or_none(parts: Sequence[Array | None]) -> Array | None:
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None
