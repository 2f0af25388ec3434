# SPDX-License-Identifier: Apache-2.0
"""The licence: one everywhere, named in every source file; the notice names every source of numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")

SPDX = "SPDX-License-Identifier: Apache-2.0"
COMMENT = {".py": "#", ".pyi": "#", ".cmake": "#", ".in": "#", ".sh": "#", ".txt": "#", ".cpp": "//", ".hpp": "//"}
FOLDERS = ("sysid_nodes", "test", "benchmarks", "examples", "launch", "cmake")


def source_files(root: Path) -> list[Path]:
    """Sources by their ends; templates, pages, parameter files and what is generated are not among them."""
    found = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in COMMENT]
    found = [path for path in found if path.suffix != ".txt" and "__pycache__" not in path.parts]
    return sorted([*found, root / "setup.py", root / "CMakeLists.txt"])


def test_every_source_file_begins_with_its_licence(project_root: Path) -> None:
    """On the first line, or on the second where the first says what runs the file."""
    files = source_files(project_root)
    assert len(files) > 600
    missing = []
    for path in files:
        lines = path.read_text(encoding="utf-8").splitlines()[:2]
        first = lines[1:] if lines and lines[0].startswith("#!") else lines[:1]
        if first != [f"{COMMENT[path.suffix]} {SPDX}"]:
            missing.append(str(path.relative_to(project_root)))
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
