# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sysid_nodes.sessions import diagnostic_keys
from sysid_nodes.sessions.diagnostic_keys import OVERLOAD, WAITING, Backlog, not_used, received_on


def report(received: int, waiting: int) -> dict[str, str]:
    return {received_on("/joint_states"): str(received), WAITING: str(waiting), OVERLOAD: "0"}


def test_keys_say_what_for_and_of_which_stream() -> None:
    assert not_used("no stamp") == "not used: no stamp"
    assert not_used("not finite", "gyroscope") == "not used of gyroscope: not finite"


@pytest.mark.parametrize(
    ("reports", "done"),
    [
        ([], False),
        ([report(5, 0)], False),
        ([report(5, 0), report(5, 0)], True),
        ([report(4, 0), report(5, 0)], False),  # more came
        ([report(5, 1), report(5, 0)], False),
        ([report(5, 2), report(5, 2)], False),  # busy with one that takes long
        ([{WAITING: "0"}, {WAITING: "0"}], False),  # tells nothing of what it received
        ([{received_on("/a"): "1"}] * 2, False),
    ],
)
def test_a_node_is_done_when_nothing_comes_and_nothing_waits(reports: list[dict[str, str]], done: bool) -> None:
    backlog = Backlog()
    for values in reports:
        backlog.hear(values)
    assert backlog.done is done
    backlog.clear()
    assert not backlog.done


PACKAGE = Path(diagnostic_keys.__file__).parents[1]
KEYS = {value for name, value in vars(diagnostic_keys).items() if name.isupper() and isinstance(value, str)}


def keys_written_out(file: Path) -> list[str]:
    """Strings by which a watch looks values up, and keys of dictionaries that are among the shared ones."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("_text", "_number", "_counts"):
                found += [item.value for item in node.args[1:] if isinstance(item, ast.Constant)]
        elif isinstance(node, ast.Dict) and "ros" in file.parts:
            found += [key.value for key in node.keys if isinstance(key, ast.Constant) and key.value in KEYS]
    return [f"{file.relative_to(PACKAGE)}: {key}" for key in found]


def test_diagnostics_that_demos_act_on_have_their_keys_from_one_place() -> None:
    """A key that a node renames would otherwise silently read as nothing in the demo."""
    files = [*(PACKAGE / "cli").rglob("*watch.py"), *(PACKAGE / "ros").rglob("*.py")]
    assert len(files) > 20
    assert not [line for file in sorted(files) for line in keys_written_out(file)]
