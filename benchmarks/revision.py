# SPDX-License-Identifier: Apache-2.0
"""The revision that a report speaks of."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CODE = ("sysid_nodes", "benchmarks", "test/shared", "config", "cmake", "CMakeLists.txt", "requirements")
"""Folders that decide a figure. Reports are written while others run, and are left out."""

_REPORTS = ":!benchmarks/reports"
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Revision:
    """A commit, and whether the code is still the one of that commit.

    Attributes:
        commit: its hash, or ``unknown`` without a git checkout.
        dirty: whether code has changed since, or is not known.
    """

    commit: str
    dirty: bool

    def __str__(self) -> str:
        return f"{self.commit}, dirty" if self.dirty else self.commit


def current() -> Revision:
    """The revision of the working tree, as it is now."""
    try:
        return Revision(git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", *CODE, _REPORTS)))
    except (OSError, subprocess.CalledProcessError):
        return Revision(_UNKNOWN, True)


@cache
def here() -> Revision:
    """The revision that this process began with: its modules are loaded, whatever happens to the files."""
    return current()


def git(*arguments: str) -> str:
    """Output of git, run in the project's folder.

    Raises:
        OSError: there is no git.
        CalledProcessError: it refuses, as outside a checkout.
    """
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return found.stdout.strip()
