# SPDX-License-Identifier: Apache-2.0
"""Tables of joints over time: .npz with arrays, .csv with a column a joint.

NumPy archives need times (`time` or `t`) and positions (`dof_pos` or `q`, (N, n)) and may state names (`joint_names`).
A .csv has the columns `t`, `q_NAME` and others of each joint. What else there may be depends on what the table is read
for.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError

Array = npt.NDArray[np.float64]

TIME, POSITION, VELOCITY = ("time", "t"), ("dof_pos", "q"), ("dof_vel", "qd")
COMMAND, TORQUE = ("des_dof_pos", "command"), ("tau", "effort")
"""Names of a quantity's array, or of its columns without the joint's name."""


@dataclass(frozen=True)
class Table:
    """Attributes: source (file); names, of the joints; arrays, by the names in the file."""

    source: Path
    names: tuple[str, ...]
    arrays: Mapping[str, npt.NDArray[Any]]

    def has(self, quantity: tuple[str, ...]) -> bool:
        """Whether the table holds a quantity."""
        return any(name in self.arrays for name in quantity)

    def get(self, quantity: tuple[str, ...]) -> Array:
        """Its numbers.

        Raises:
            LogError: it is missing or does not hold numbers.
        """
        name = next((name for name in quantity if name in self.arrays), None)
        if name is None:
            wanted, there = " or ".join(f"'{each}'" for each in quantity), ", ".join(sorted(self.arrays))
            raise LogError(f"has no {wanted}; it has {there}", source=str(self.source))
        try:
            return np.asarray(self.arrays[name], dtype=np.float64)
        except ValueError:
            raise LogError(f"array '{name}' does not hold numbers", source=str(self.source)) from None


def read_table(path: str | Path, names: Sequence[str] = ()) -> Table:
    """Reads a file.

    Args:
        path: .npz or .csv.
        names: joints of the columns of an .npz that does not name them.

    Raises:
        LogError: the file cannot be read, or its positions do not fit the joints.
    """
    file = Path(path)
    try:
        if file.suffix == ".npz":
            table = _from_archive(file, tuple(names))
        elif file.suffix == ".csv":
            table = _from_text(file)
        else:
            raise LogError("is neither .npz nor .csv", source=str(path))
    except OSError as error:
        raise LogError(error.strerror or "cannot be read", source=str(path)) from None
    q = table.get(POSITION)
    if not table.names:
        raise LogError("does not name its joints; say whose they are by --robot or --urdf", source=str(path))
    if q.ndim != 2 or len(table.names) != q.shape[1]:
        raise LogError(f"positions of shape {q.shape} do not fit {len(table.names)} joint names", source=str(path))
    return table


def _from_archive(path: Path, names: tuple[str, ...]) -> Table:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, zipfile.BadZipFile, EOFError):
        raise LogError("is damaged, or holds more than arrays", source=str(path)) from None
    return Table(path, tuple(str(name) for name in arrays.get("joint_names", names)), arrays)


def _from_text(path: Path) -> Table:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))
    except UnicodeDecodeError:
        raise LogError("is not a text file", source=str(path)) from None
    if len(rows) < 2:
        raise LogError("has no rows", source=str(path))
    header = [name.strip() for name in rows[0]]
    names = tuple(name.removeprefix("q_") for name in header if name.startswith("q_"))
    if "t" not in header:
        raise LogError("has no column 't'", source=str(path))
    if not names:
        raise LogError("has no column 'q_NAME'", source=str(path))
    try:
        table = np.array([[float(cell) for cell in row] for row in rows[1:] if row])
    except ValueError as error:
        raise LogError(f"holds what is not a number: {error}", source=str(path)) from None
    if table.ndim != 2 or table.shape[1] != len(header):
        raise LogError(f"a row does not have {len(header)} cells", source=str(path))
    column = {name: table[:, k] for k, name in enumerate(header)}
    arrays = {"t": column["t"]}
    for kind in ("q", "qd", "command", "effort", "kp", "kd"):
        wanted = [f"{kind}_{name}" for name in names]
        missing = [name for name in wanted if name not in column]
        if missing and len(missing) < len(wanted):
            raise LogError(f"has no column '{missing[0]}'", source=str(path))
        if not missing:
            arrays[kind] = np.stack([column[name] for name in wanted], axis=1)
    return Table(path, names, arrays)
