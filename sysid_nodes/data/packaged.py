# SPDX-License-Identifier: Apache-2.0
"""Files that come with this package: configurations, scenes, views, message definitions."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sysid_nodes.exceptions import InputError

_PACKAGE = "online_sysid"


def packaged_file(name: str) -> Path | None:
    """A file of the package by its path in the repository, `config/panda.yaml` for instance; None if it is not found.

    Searched in every ament prefix, in the Python environment's share folder and in the source tree.
    """
    prefixes = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    folders = [prefix / "share" / _PACKAGE for prefix in [*prefixes, Path(sys.prefix)]]
    folders.append(Path(__file__).resolve().parents[2])
    return next((file for folder in folders if (file := folder / name).is_file()), None)


def required_file(name: str) -> Path:
    """The same.

    Raises:
        InputError: it is nowhere.
    """
    found = packaged_file(name)
    if found is None:
        raise InputError(f"{name} of this package is not installed")
    return found
