# SPDX-License-Identifier: Apache-2.0
"""A file is the old one or the new one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.atomic_file import write_atomically


def test_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_atomically(target, "first")
    write_atomically(target, b"second")
    assert target.read_text() == "second"
    assert list(tmp_path.iterdir()) == [target]


def test_the_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("")
    write_atomically(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == plain.stat().st_mode


def test_a_failure_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.txt"
    write_atomically(target, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"a\.txt: cannot write: No space left on device"):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot write: No such file or directory"):
        write_atomically(tmp_path / "missing" / "a.txt", "x")
