# SPDX-License-Identifier: Apache-2.0
"""How old is each dated report? Commits since its revision that changed code which its benchmark imports.

Imports are followed through the package and the benchmarks; those inside functions count, what a command starts in
another process does not. A file that was renamed counts from its present name on. A branch that was merged is one
commit: its parts were never the code of the main line.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import grimp

from benchmarks.report import REPORTS
from benchmarks.revision import ROOT, git

_OLD = 25
"""Commits after which a report should be made again."""

_PACKAGE = ("sysid_nodes",)
_KERNEL = "sysid_nodes/kernel/"


class Age(NamedTuple):
    """Of a report.

    Attributes:
        report: its name.
        revision: as it says.
        behind: commits since that touched what the benchmark runs; None where the revision is not in this history.
        package: commits since that touched anything of the package; None likewise.
    """

    report: str
    revision: str
    behind: int | None
    package: int | None


def main(arguments: Sequence[str] | None = None) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--reports", type=Path, default=REPORTS, help="folder of the reports")
    options.add_argument("--most", type=int, default=_OLD, help="commits to its code that a report may be behind")
    chosen = options.parse_args(arguments)
    graph = grimp.build_graph("sysid_nodes", "benchmarks", cache_dir=None)
    ages = [age(path, graph) for path in sorted(chosen.reports.glob("*.md"))]
    width = max((len(found.report) for found in ages), default=0)
    for found in ages:
        said = "not in this history"
        if found.behind is not None:
            said = f"{found.behind:3d} of {found.package} to the package"
        print(f"{found.report:{width}}  {found.revision[:7]:7}  {said}")
    old = [found for found in ages if found.behind is None or found.behind >= chosen.most]
    print(f"{len(old)} of {len(ages)} are {chosen.most} or more commits behind")
    return 1 if old else 0


def age(path: Path, graph: grimp.ImportGraph) -> Age:
    """How old a report is, by what its benchmark imports."""
    text = path.read_text(encoding="utf-8")
    module = re.search(r"`python -m (benchmarks\.\w+)", text)
    told = re.search(r"^\| revision[^|]*\| (\w+)(.*) \|$", text, re.MULTILINE)
    commit, rest = (told[1], told[2]) if told else ("unknown", "")
    return Age(
        path.stem, commit + rest, _commits_since(commit, _files(module, graph)), _commits_since(commit, _PACKAGE)
    )


def _files(module: re.Match[str] | None, graph: grimp.ImportGraph) -> tuple[str, ...]:
    """Files that decide a report: those of the modules, and the kernel's sources for whoever imports it."""
    if module is None or module[1] not in graph.modules:
        return ("benchmarks", *_PACKAGE)
    modules = {module[1], *graph.find_upstream_modules(module[1])}
    files = {f"{name.replace('.', '/')}.py" for name in modules}
    texts = [(ROOT / file).read_text(encoding="utf-8") for file in files if file.startswith(_KERNEL)]
    compiled = [path for path in (ROOT / _KERNEL).glob("*.cpp") if any(f"_{path.stem}" in text for text in texts)]
    headers = (ROOT / _KERNEL).glob("*.hpp") if compiled else ()
    return tuple(sorted(files | {str(path.relative_to(ROOT)) for path in (*compiled, *headers)}))


def _commits_since(commit: str, paths: Sequence[str]) -> int | None:
    try:
        return int(git("rev-list", "--count", "--first-parent", f"{commit}..HEAD", "--", *paths))
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    sys.exit(main())
