# SPDX-License-Identifier: Apache-2.0
"""Commands and encoders of a table (`table.py`): `des_dof_pos` or `command`, and gains (`kp`, `kd`) where stated.

Gains are of the whole log: a column that states one in every row must state the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.logs.table import COMMAND, POSITION, TIME, Table, read_table

Array = npt.NDArray[np.float64]


def read_actuator_table(path: str | Path, names: Sequence[str] = ()) -> ActuatorLog:
    """The log in a file; arguments and errors of `read_table` and `actuator_log`."""
    return actuator_log(read_table(path, names))


def actuator_log(table: Table) -> ActuatorLog:
    """The log that a table holds.

    Raises:
        LogError: the table lacks what is needed, or holds no log.
    """
    t, q, command = (table.get(quantity) for quantity in (TIME, POSITION, COMMAND))
    stiffness, damping = (_gains(table, name) for name in ("kp", "kd"))
    try:
        return ActuatorLog(table.names, t, q, t, command, None, stiffness, damping)
    except SamplesError as error:
        raise LogError(str(error), source=str(table.source)) from None


def _gains(table: Table, name: str) -> Array | None:
    if not table.has((name,)):
        return None
    gains = table.get((name,))
    if gains.ndim == 2 and len(gains):
        changed = np.flatnonzero((gains != gains[0]).any(axis=0) & np.isfinite(gains[0]))
        if changed.size:
            line = f"'{name}' of joint '{table.names[changed[0]]}' changes on the way; cut the log where it does"
            raise LogError(line, source=str(table.source))
        gains = gains[0]
    if gains.shape not in ((), (len(table.names),)):
        line = f"'{name}' of shape {gains.shape} does not fit {len(table.names)} joint names"
        raise LogError(line, source=str(table.source))
    return np.broadcast_to(gains, len(table.names))
