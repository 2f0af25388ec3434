# SPDX-License-Identifier: Apache-2.0
"""How old is each dated report? Commits since its revision that changed the package, or the benchmark's own files."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import REPORTS
from benchmarks.revision import git

_OLD = 25
"""Commits after which a report should be made again."""


class Age(NamedTuple):
    """Of a report.

    Attributes:
        report: its name.
        revision: as it says.
        package: commits since that touched sysid_nodes/; None where the revision is not in this history.
        benchmark: commits since that touched the benchmark's own file; None likewise.
    """

    report: str
    revision: str
    package: int | None
    benchmark: int | None


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--reports", type=Path, default=REPORTS, help="folder of the reports")
    options.add_argument("--most", type=int, default=_OLD, help="commits to the package that a report may be behind")
    chosen = options.parse_args(arguments)
    ages = [age(path) for path in sorted(chosen.reports.glob("*.md"))]
    width = max((len(found.report) for found in ages), default=0)
    for found in ages:
        said = "not in this history" if found.package is None else f"{found.package:3d} package, {found.benchmark} own"
        print(f"{found.report:{width}}  {found.revision[:7]:7}  {said}")
    old = [found for found in ages if found.package is None or found.package >= chosen.most]
    print(f"{len(old)} of {len(ages)} are {chosen.most} or more commits behind")
    return 1 if old else 0


def age(path: Path) -> Age:
    """How old a report is."""
    text = path.read_text(encoding="utf-8")
    module = re.search(r"`python -m benchmarks\.(\w+)", text)
    told = re.search(r"^\| revision[^|]*\| (\w+)(.*) \|$", text, re.MULTILINE)
    commit, rest = (told[1], told[2]) if told else ("unknown", "")
    own = f"benchmarks/{module[1]}.py" if module else "benchmarks"
    return Age(path.stem, commit + rest, _commits_since(commit, "sysid_nodes"), _commits_since(commit, own))


def _commits_since(commit: str, path: str) -> int | None:
    try:
        return int(git("rev-list", "--count", f"{commit}..HEAD", "--", path))
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    sys.exit(main())
