# SPDX-License-Identifier: Apache-2.0
"""Versions of the software that a result names."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path

from sysid_nodes import DISTRIBUTION, __version__

SOURCE = Path(__file__).resolve().parents[2]
"""Folder that holds the package: the source tree, where it runs from one."""

# Distributions whose version can change a number in the result.
_DISTRIBUTIONS = (DISTRIBUTION, "numpy", "scipy", "pin", "highspy", "clarabel", "mujoco", "rosbags", "matplotlib")


def software_versions() -> dict[str, str]:
    """Versions of the interpreter and of the installed packages that compute the numbers."""
    versions = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def own_version() -> tuple[str, str]:
    """Version and commit of this package: a source tree's by git, a wheel's behind the plus sign of its version."""
    version, _, label = __version__.partition("+g")
    return version, source_commit(SOURCE) or label.replace(".", "-")


def source_commit(folder: Path) -> str:
    """Commit of a source tree, `-dirty` where files differ from it; empty where the folder is no git checkout."""
    if not (folder / ".git").exists():
        return ""
    try:
        words = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=5.0).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
