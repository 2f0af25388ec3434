# SPDX-License-Identifier: Apache-2.0
"""The files of a result: their names, where they go, and result.json of any pipeline read again."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.schema import check_result

RESULT_NAME = "result.json"
REPORT_NAME = "report.html"
SERIES_NAME = "series.npz"
RESULT_BAG = "result.mcap"


def result_target(path: str) -> tuple[Path, bool]:
    """Absolute path of a result file, its folder made, and whether it is to be written without any other file.

    Args:
        path: what ends in .json is a file, anything else a folder; a leading ~ is the home folder.

    Raises:
        InputError: the path is empty, or the folder cannot be made.
    """
    if not path.strip():
        raise InputError("path is empty; give a folder, or a file that ends in .json")
    try:
        target = Path(path).expanduser().absolute()
        alone = target.suffix == ".json"
        (target.parent if alone else target).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InputError("cannot write: a file is where a folder should be", source=path) from None
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: no such user; ValueError: a null character
        raise InputError(f"cannot write: {getattr(error, 'strerror', '') or error}", source=path) from None
    return (target, True) if alone else (target / RESULT_NAME, False)


def read_document(path: Path) -> dict[str, Any]:
    """Reads a result file, or the result.json of a folder, of any pipeline; its own fields are not checked.

    Raises:
        InputError: the file is absent, is not strict JSON or is not a result of schema 1.
    """
    path = path / RESULT_NAME if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text, parse_constant=_reject_constant)
    except OSError as error:
        raise InputError(error.strerror or str(error), source=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}", source=str(path)) from None
    return check_result(document, source=str(path))


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Writes arrays as a compressed .npz, whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    write_atomically(path, buffer.getvalue())


def read_arrays(path: Path, names: Iterable[str], optional: Iterable[str] = ()) -> dict[str, npt.NDArray[np.float64]]:
    """Arrays of a series.npz; those that are optional only where it has them. Never unpickles.

    Raises:
        InputError: it cannot be read, or lacks an array.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            wanted = (*names, *(name for name in optional if name in archive))
            return {name: np.asarray(archive[name]) for name in wanted}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        raise InputError("cannot be read, or is not of this result", source=str(path)) from None


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
