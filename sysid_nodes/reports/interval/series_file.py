# SPDX-License-Identifier: Apache-2.0
"""series.npz: the torques a report plots, beside result.json so that the report can be made again."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.exceptions import InputError, SamplesError
from sysid_nodes.reports.files import write_arrays
from sysid_nodes.sessions.interval.run import TorqueSeries

_KEYS = ("joint_names", "t", "measured", "predicted")


def write_series(path: Path, series: TorqueSeries) -> None:
    """Writes the torques in single precision, which is finer than any torque sensor.

    Raises:
        InputError: the file cannot be written.
    """
    arrays: dict[str, Any] = {"joint_names": np.array(series.joint_names, dtype=np.str_), "t": series.t}
    for name in ("measured", "predicted", "radius"):
        if (values := getattr(series, name)) is not None:
            arrays[name] = values.astype(np.float32)
    write_arrays(path, arrays)


def read_series(path: Path) -> TorqueSeries:
    """Reads the torques; never unpickles.

    Raises:
        InputError: the file is absent, damaged or lacks an array.
    """
    try:
        # A zip by its magic number: np.load would take a bare .npy array as well.
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as archive:
            joint_names, t, measured, predicted = (archive[key] for key in _KEYS)
            radius = archive.get("radius")
        return TorqueSeries(tuple(str(name) for name in joint_names), t, measured, predicted, radius)
    except FileNotFoundError:
        raise InputError("no such file", source=str(path)) from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, SamplesError) as error:
        raise InputError(f"not a series file: {error}", source=str(path)) from None
