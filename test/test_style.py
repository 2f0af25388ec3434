# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "launch", "sysid_nodes", "test/shared")
"""Not the tests, whose docstrings are sentences that hold."""


def docstrings(source: str) -> list[tuple[int, str]]:
    """Line and text of every bare string: docstrings, and those that describe a constant or an attribute."""
    bare = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Expr))
    values = ((node.lineno, node.value.value) for node in bare if isinstance(node.value, ast.Constant))
    return [(line, text) for line, text in values if isinstance(text, str)]


@pytest.mark.parametrize(
    "source", ['"""What it does."""', 'def f():\n    """What it\n    does."""', 'X = 1\n"""What X is."""']
)
def test_a_docstring_that_begins_with_what_is_found(source: str) -> None:
    assert [text[:4] for _, text in docstrings(source)] == ["What"]


def test_docstrings_name_their_subject_instead_of_asking_for_it() -> None:
    """`What the controller does` says nothing that the reader did not want to know already."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, text in docstrings(path.read_text(encoding="utf-8"))
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


def functions(source: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_the_lines_of_a_function_are_counted_without_its_docstring() -> None:
    (function,) = functions('@cache\ndef f(\n    x,\n):\n    """One.\n\n    Two.\n    """\n    y = x\n    return y\n')
    assert body_lines(function) == 5


def test_no_function_is_longer_than_a_page() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {body_lines(node)} lines"
        for folder in (*FOLDERS, "docs", "examples", "test")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in functions(path.read_text(encoding="utf-8"))
        if body_lines(node) > LONGEST
    ]
    assert not long, "\n".join(long)
