# SPDX-License-Identifier: Apache-2.0
"""Versions of the software that a result names."""

from __future__ import annotations

import platform
from importlib import metadata

from sysid_nodes import DISTRIBUTION

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
