# SPDX-License-Identifier: Apache-2.0
"""The last words of a replay, and its exit status."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

CONTRADICTION = 3
"""Exit status where the data contradict the assumptions, or use them up."""


def conclude(source: Path, page: Path, found: str, *, contradiction: str = "", findings: Iterable[str] = ()) -> int:
    """Says on stdout what was found, or on stderr why it is not to be trusted; returns the exit status.

    Args:
        found: in a line.
        contradiction: why the data do not fit the assumptions; empty where they do.
        findings: to be warned of.
    """
    if contradiction:
        sys.stderr.write(f"sysid: {source}: {contradiction}; see {page}\n")
        return CONTRADICTION
    for finding in findings:
        sys.stderr.write(f"sysid: warning: {source}: {finding}\n")
    sys.stdout.write(f"{found}: {page}\n")
    return 0
