# SPDX-License-Identifier: Apache-2.0
"""The licence: one everywhere, named in every file; the notice names every source of numbers."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")

SPDX = "SPDX-License-Identifier: Apache-2.0"
ELSEWHERE = {".md", ".png", ".webp", ".json", ".typed"}
"""Pages and pictures, and formats without comments: the licence of the whole holds for them."""


def tracked(root: Path) -> list[Path]:
    """Files of the repository, but for libraries of others, which bring their own licences."""
    found = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("not a checkout: there is no list of its files")
    paths = [root / line for line in found.stdout.splitlines()]
    return [path for path in paths if "vendor" not in path.parts and path.name not in ("LICENSE", "NOTICE")]


def test_every_file_begins_with_its_licence(project_root: Path) -> None:
    """On the first line, or on the second where the first says what runs or reads the file."""
    files = [path for path in tracked(project_root) if path.suffix not in ELSEWHERE and path.is_file()]
    assert len(files) > 800
    assert {".msg", ".srv", ".yaml", ".py", ".j2", ".cpp"} <= {path.suffix for path in files}
    missing = [
        str(path.relative_to(project_root))
        for path in files
        if not any(SPDX in line for line in path.read_text(encoding="utf-8").splitlines()[:2])
    ]
    assert not missing


def test_one_licence_and_one_address(project_root: Path) -> None:
    manifest = ElementTree.parse(project_root / "package.xml").getroot()
    project = tomllib.loads((project_root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert manifest.findtext("license") == project["license"] == "Apache-2.0"
    assert project["license-files"] == ["LICENSE", "NOTICE"]
    assert "Apache License" in (project_root / "LICENSE").read_text(encoding="utf-8")
    (author,) = project["authors"]
    assert manifest.find("maintainer").attrib["email"] == author["email"]
    assert not author["email"].endswith((".invalid", ".example", ".test"))


@pytest.mark.parametrize("source", ["RAPTOR", "armour", "OnlineSafeSysID", "kinova_robust_control", "ros2_kortex"])
def test_the_notice_names_the_sources_of_the_gen3(project_root: Path, source: str) -> None:
    assert source in (project_root / "NOTICE").read_text(encoding="utf-8")


def test_the_notice_names_every_paper_that_the_code_names(project_root: Path) -> None:
    notice = (project_root / "NOTICE").read_text(encoding="utf-8")
    files = [file for folder in ("benchmarks", "sysid_nodes") for file in (project_root / folder).rglob("*.py")]
    papers = {
        paper for file in files for paper in re.findall(r"arXiv (\d{4}\.\d{5})", file.read_text(encoding="utf-8"))
    }
    assert len(papers) >= 2
    assert sorted(paper for paper in papers if paper not in notice) == []
