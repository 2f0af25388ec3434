# SPDX-License-Identifier: Apache-2.0
"""Reads commands and encoders from tables: .npz with arrays, .csv with a column a joint.

NumPy archives need times (`time` or `t`), positions (`dof_pos` or `q`, (N, n)) and commands (`des_dof_pos` or
`command`); they may state gains (`kp`, `kd`) and names (`joint_names`). A .csv has the columns `t`, `q_NAME` and
`command_NAME`.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.exceptions import LogError, SamplesError

Array = npt.NDArray[np.float64]

_TIMES, _POSITIONS, _COMMANDS = ("time", "t"), ("dof_pos", "q"), ("des_dof_pos", "command")


def read_actuator_table(path: str | Path, names: Sequence[str] = ()) -> ActuatorLog:
    """The log that a table holds.

    Args:
        path: .npz or .csv.
        names: joints of the columns of an .npz that does not name them.

    Raises:
        LogError: the file cannot be read, lacks what is needed, or holds no log.
    """
    file = Path(path)
    try:
        if file.suffix == ".npz":
            return _from_archive(file, tuple(names))
        if file.suffix == ".csv":
            return _from_text(file)
    except SamplesError as error:
        raise LogError(str(error), source=str(path)) from None
    except OSError as error:
        raise LogError(error.strerror or "cannot be read", source=str(path)) from None
    raise LogError("is neither .npz nor .csv", source=str(path))


def _from_archive(path: Path, names: tuple[str, ...]) -> ActuatorLog:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, zipfile.BadZipFile, EOFError):
        raise LogError("is damaged, or holds more than arrays", source=str(path)) from None
    t, q, command = (_array(arrays, known, path) for known in (_TIMES, _POSITIONS, _COMMANDS))
    named = tuple(str(name) for name in arrays["joint_names"]) if "joint_names" in arrays else names
    if q.ndim != 2 or len(named) != q.shape[1]:
        raise LogError(f"positions of shape {q.shape} do not fit {len(named)} joint names", source=str(path))
    stiffness, damping = (_gains(arrays, name, len(named)) for name in ("kp", "kd"))
    return ActuatorLog(named, t, q, t, command, None, stiffness, damping)


def _array(arrays: dict[str, npt.NDArray[np.generic]], known: tuple[str, ...], path: Path) -> Array:
    name = next((name for name in known if name in arrays), None)
    if name is None:
        raise LogError(f"has no array '{known[0]}'; it has {', '.join(sorted(arrays))}", source=str(path))
    try:
        return np.asarray(arrays[name], dtype=np.float64)
    except ValueError:
        raise LogError(f"array '{name}' does not hold numbers", source=str(path)) from None


def _gains(arrays: dict[str, npt.NDArray[np.generic]], name: str, n: int) -> Array | None:
    return np.broadcast_to(np.asarray(arrays[name], dtype=np.float64), n) if name in arrays else None


def _from_text(path: Path) -> ActuatorLog:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
    except UnicodeDecodeError:
        raise LogError("is not a text file", source=str(path)) from None
    if len(rows) < 2:
        raise LogError("has no rows", source=str(path))
    header = [name.strip() for name in rows[0]]
    names = tuple(name.removeprefix("q_") for name in header if name.startswith("q_"))
    for name in ("t", *(f"command_{joint}" for joint in names)):
        if name not in header:
            raise LogError(f"has no column '{name}'", source=str(path))
    if not names:
        raise LogError("has no column 'q_NAME'", source=str(path))
    try:
        table = np.array([[float(cell) for cell in row] for row in rows[1:] if row])
    except ValueError as error:
        raise LogError(f"holds what is no number: {error}", source=str(path)) from None
    if table.ndim != 2 or table.shape[1] != len(header):
        raise LogError(f"a row does not have {len(header)} cells", source=str(path))
    column = {name: table[:, k] for k, name in enumerate(header)}
    t = column["t"]
    q, command = (np.stack([column[f"{kind}_{name}"] for name in names], axis=1) for kind in ("q", "command"))
    return ActuatorLog(names, t, q, t, command)
