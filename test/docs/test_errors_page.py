# SPDX-License-Identifier: Apache-2.0
"""The page of errors quotes what the programs say, all that they say of data, and has a cause and a cure for each."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from sysid_nodes import exceptions
from sysid_nodes.exceptions import CalibrationError, ExcitationError, LogError, OverdueError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
ROWS = [
    (message, cause, cure)
    for cell, cause, cure in re.findall(r"^\| (`.+?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    for message in re.findall(r"`([^`]+)`", cell)
]
PLACEHOLDER = r"…"
OF_DATA = (LogError, ExcitationError, CalibrationError, OverdueError)
"""Errors whose cause is not in the command line or a parameter file, which name what they are about."""


def pattern_of(message: str) -> str:
    """Its fixed parts, in their order and with whatever is put in between on one line."""
    return r"[^\n]*?".join(re.escape(part.strip()) for part in message.split(PLACEHOLDER) if part.strip())


def words_of(node: ast.expr) -> str:
    """A message as the source has it, with a placeholder for what is put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else PLACEHOLDER for part in node.values)
    return PLACEHOLDER


def raised() -> set[str]:
    """Messages of errors of data; those that only pass on another error's have none of their own."""
    found, names = set(), {kind.__name__ for kind in OF_DATA}
    for path in ROOT.glob("sysid_nodes/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(call, ast.Call) and call.args and getattr(call.func, "id", "") in names:
                found.add(words_of(call.args[0]))
    return {message for message in found if re.search(r"\w", message)}


@pytest.fixture(scope="module")
def spoken() -> str:
    """All that programs may say: their sources, with literals that continue on the next line joined."""
    files = [*ROOT.glob("sysid_nodes/**/*.py"), *ROOT.glob("cmake/*.sh")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r'"\s*\n\s*f?"', "", text)


def test_messages_are_the_programs(spoken: str) -> None:
    assert not [message for message, _, _ in ROWS if not re.search(pattern_of(message), spoken)]
    assert all(cause and cure for _, cause, cure in ROWS)


def test_there_are_some_for_every_stage() -> None:
    assert len(ROWS) > 30


def test_all_that_may_be_said_of_data_is_on_the_page() -> None:
    messages = raised()
    assert len(messages) > 100
    patterns = [re.escape(message).replace(PLACEHOLDER, ".*") for message, _, _ in ROWS]
    assert not [message for message in sorted(messages) if not any(re.fullmatch(each, message) for each in patterns)]


def test_every_kind_of_error_is_explained() -> None:
    kinds = {name for name, kind in vars(exceptions).items() if isinstance(kind, type)}
    assert kinds == {message for message, _, _ in ROWS if message.endswith("Error")}
