# SPDX-License-Identifier: Apache-2.0
"""test/ has a folder for every package that holds code, and no other: tests are found where the code is."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]

ELSEWHERE = {
    "ros/nodes": "a node has its tests in ros/SYSTEM, beside what it is made of",
}
"""Packages whose tests are in another folder, and where; robots, a folder each, are tested in test/robots."""

OTHERS = {"benchmarks", "docs", "examples"}
"""Folders of tests of what is not in the package."""


def packages() -> set[str]:
    """Folders of the package with modules of their own, relative to it."""
    modules = (ROOT / "sysid_nodes").rglob("*.py")
    folders = {path.parent for path in modules if path.name != "__init__.py"}
    found = {path.relative_to(ROOT / "sysid_nodes").as_posix() for path in folders} - {"."}
    return {name for name in found if not name.startswith("robots/")}


def folders_with_tests() -> set[str]:
    return {path.parent.relative_to(ROOT / "test").as_posix() for path in (ROOT / "test").rglob("test_*.py")} - {"."}


def test_every_package_has_its_tests_in_a_folder_of_its_name() -> None:
    assert len(packages()) > 40
    assert sorted(packages() - folders_with_tests() - set(ELSEWHERE)) == []


def test_every_folder_of_tests_is_of_a_package() -> None:
    assert sorted(folders_with_tests() - packages() - OTHERS) == []
    assert set(ELSEWHERE) <= packages(), "an exception that is none any more"


def test_names_of_test_files_are_unique() -> None:
    names = [path.name for path in (ROOT / "test").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
