# SPDX-License-Identifier: Apache-2.0
"""Builds the Python package; the version comes from package.xml, everything else from pyproject.toml.

With SYSID_WHEEL_PINOCCHIO, a version, the wheel takes along what lies beside the sources: the kernel that was compiled
against that version of libpinocchio, parameter files and definitions of messages; `make wheel` says it. SYSID_COMMIT
goes behind the version, `0.1.0+g2ca98d32`, where no .git comes along: in wheels and in the Docker image.
"""

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from setuptools import Distribution, setup

ROOT = Path(__file__).parent
VERSION = ElementTree.parse(ROOT / "package.xml").findtext("version", "")
COMMIT = os.environ.get("SYSID_COMMIT", "").replace("-", ".")
PINOCCHIO = os.environ.get("SYSID_WHEEL_PINOCCHIO", "")


class Compiled(Distribution):  # type: ignore[misc]  # setuptools has no types
    """A package of one platform and Python, which needs the very library that its kernel is linked to."""

    def has_ext_modules(self) -> bool:
        """Makes the wheel's tag that of this platform."""
        return True

    def parse_config_files(self, *args: Any, **options: Any) -> None:
        """Adds to what pyproject.toml requires."""
        super().parse_config_files(*args, **options)
        self.install_requires = [*self.install_requires, f"libpinocchio=={PINOCCHIO}"]
        self._finalize_requires()  # what was read of pyproject.toml is the metadata's already


def shared() -> list[tuple[str, list[str]]]:
    """Parameter files and definitions of messages, by where CMake, too, installs them."""
    files: dict[str, list[str]] = {}
    for path in sorted(path for kind in ("config/**/*.yaml", "msg/*.msg", "srv/*.srv") for path in ROOT.glob(kind)):
        inside = path.relative_to(ROOT)
        files.setdefault(f"share/online_sysid/{inside.parent}", []).append(str(inside))
    return list(files.items())


version = f"{VERSION}+g{COMMIT}" if COMMIT else VERSION
if PINOCCHIO:
    setup(version=version, distclass=Compiled, data_files=shared())
else:
    setup(version=version)
