# SPDX-License-Identifier: Apache-2.0
"""Commands of single points as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.logs.command_reader import RawSetPoints

Array = npt.NDArray[np.float64]


class CommandSeries(NamedTuple):
    """Times (M,), positions, velocities and torques (M, n), and gains (M, 2, n), stiffness first; None for none."""

    t: Array
    q: Array
    qd: Array | None = None
    torque: Array | None = None
    gains: Array | None = None


def select_joints(
    raw: RawSetPoints, names: tuple[str, ...], columns: Sequence[int] | npt.NDArray[np.intp]
) -> RawSetPoints:
    """A command with these of its columns, whose joints have these names."""

    def select(values: Array | None) -> Array | None:
        return None if values is None else values[..., columns]

    return raw._replace(
        names=names,
        q=raw.q[..., columns],
        qd=select(raw.qd),
        torque=select(raw.torque),
        stiffness=select(raw.stiffness),
        damping=select(raw.damping),
    )


def single_points(commands: Sequence[RawSetPoints]) -> CommandSeries:
    """Commands of one point each and of the same joints; what one of them lacks, none has."""

    def stack(values: Callable[[RawSetPoints], Array | None]) -> Array | None:
        rows = [row for raw in commands if (row := values(raw)) is not None]
        return np.array(rows) if len(rows) == len(commands) else None

    stiffness, damping = stack(lambda raw: raw.stiffness), stack(lambda raw: raw.damping)
    return CommandSeries(
        np.array([raw.t[0] for raw in commands]),
        np.array([raw.q[0] for raw in commands]),
        stack(lambda raw: None if raw.qd is None else raw.qd[0]),
        stack(lambda raw: None if raw.torque is None else raw.torque[0]),
        None if stiffness is None or damping is None else np.stack([stiffness, damping], axis=1),
    )
