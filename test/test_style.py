# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "launch", "sysid_nodes", "test/shared")
"""Not the tests, whose docstrings are sentences that hold."""


class Parts(NamedTuple):
    """Attributes: docstrings, line and text of every bare string, also those of constants; functions, line, name and
    lines of each."""

    docstrings: list[tuple[int, str]]
    functions: list[tuple[int, str, int]]


def parts(source: str) -> Parts:
    found = Parts([], [])
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.functions.append((node.lineno, node.name, body_lines(node)))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.docstrings.append((node.lineno, node.value.value))
    return found


@cache
def parts_of(path: Path) -> Parts:
    """Every file is parsed once for all tests."""
    return parts(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "source", ['"""What it does."""', 'def f():\n    """What it\n    does."""', 'X = 1\n"""What X is."""']
)
def test_a_docstring_that_begins_with_what_is_found(source: str) -> None:
    assert [text[:4] for _, text in parts(source).docstrings] == ["What"]


def test_docstrings_name_their_subject_instead_of_asking_for_it() -> None:
    """`What the controller does` says nothing that the reader did not want to know already."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in parts_of(path).docstrings
        if text.lstrip().startswith("What ")
    ]
    assert not found, "\n".join(found)


LONGEST = 60
"""Lines of a function from its signature on, its docstring apart: a page."""


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, less those of the docstring."""
    first, last = function.body[0], function.end_lineno or 0
    lines = last - function.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or 0) - first.lineno + 1
    return lines


def test_the_lines_of_a_function_are_counted_without_its_docstring() -> None:
    source = '@cache\ndef f(\n    x,\n):\n    """One.\n\n    Two.\n    """\n    y = x\n    return y\n'
    assert parts(source).functions == [(2, "f", 5)]


def test_no_function_is_longer_than_a_page() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{line}: {name} has {lines} lines"
        for folder in ("benchmarks", "docs", "examples", "launch", "sysid_nodes", "test")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, name, lines in parts_of(path).functions
        if lines > LONGEST
    ]
    assert not long, "\n".join(long)
