# SPDX-License-Identifier: Apache-2.0
"""The report that a benchmark has written."""

from __future__ import annotations

from pathlib import Path


def only_report(folder: Path) -> str:
    """The one report in a folder. Checks that it names the machine, has its figures and no number that is missing."""
    (found,) = folder.glob("*.md")
    text = found.read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("!["):
            assert (folder / line.split("(")[1].rstrip(")")).stat().st_size > 5000
    assert "| CPU |" in text
    assert "nan" not in text
    return text
