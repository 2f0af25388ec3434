# SPDX-License-Identifier: Apache-2.0
"""The folder of results appears whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.exceptions import InputError, LogError

OURS = '{"schema": 1, "pipeline": "interval"}'


def write(path: Path, text: str = OURS) -> None:
    with OutputFolder(path) as staging:
        (staging / "result.json").write_text(text)
        (staging / "report.html").write_text("page")


def fail_halfway(path: Path) -> None:
    existed = path.exists()
    with OutputFolder(path) as staging:
        (staging / "result.json").write_text("half")
        assert path.exists() == existed
        raise RuntimeError


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_makes_the_folder_and_its_parents(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b")
    assert names(tmp_path / "a" / "b") == ["report.html", "result.json"]
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("name", ["file/out", "file/a/b"])
def test_a_file_on_the_way_to_it_is_refused_before_the_work(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/.*: cannot be made: .*/file is not a folder"):
        OutputFolder(tmp_path / name)


def test_nothing_appears_before_the_end_or_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        fail_halfway(tmp_path / "out")
    assert names(tmp_path) == []


def test_an_earlier_result_is_replaced_and_other_files_stay(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out)
    (out / "notes.txt").write_text("mine")
    (out / "bag").mkdir()
    (out / "bag" / "old").write_text("old")
    with OutputFolder(out) as staging:
        (staging / "result.json").write_text(OURS + " ")
        (staging / "bag").mkdir()
        (staging / "bag" / "new").write_text("new")
    assert names(out) == ["bag", "notes.txt", "report.html", "result.json"]
    assert names(out / "bag") == ["new"]
    assert (out / "result.json").read_text() == OURS + " "


def test_an_error_keeps_the_earlier_result(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out)
    with pytest.raises(RuntimeError):
        fail_halfway(out)
    assert (out / "result.json").read_text() == OURS


def test_an_empty_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    write(tmp_path / "out")
    assert "result.json" in names(tmp_path / "out")


@pytest.mark.parametrize("content", [None, "{}", "not json", '["schema", "pipeline"]'])
def test_a_strangers_folder_is_left_alone(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    before = names(tmp_path)
    with pytest.raises(InputError, match=r"the folder is not empty and holds no earlier result\.json"):
        OutputFolder(tmp_path)
    assert names(tmp_path) == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(InputError, match="out: exists and is not a folder"):
        OutputFolder(tmp_path / "out")


def test_what_a_killed_run_left_is_cleared_and_what_a_running_one_writes_is_not(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait(10.0)
    stale, alive, other = (tmp_path / name for name in (f".out.{gone.pid}-abc", f".out.{os.getpid()}-abc", ".out.mine"))
    for folder in (stale, alive, other):
        folder.mkdir()
        (folder / "half").write_text("half")
    write(tmp_path / "out")
    assert names(tmp_path) == sorted([alive.name, other.name, "out"])


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            lambda _: OSError(errno.ENOSPC, "No space left on device"),
            "out: cannot write: No space left on device",
        ),
        (
            lambda staging: LogError("cannot be written: File too large", source=str(staging / "bag" / "a.mcap")),
            "out/bag/a.mcap: cannot be written: File too large",
        ),
    ],
)
def test_a_full_disk_is_told_of_the_folder_that_was_asked_for(
    error: Callable[[Path], Exception], line: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as told, OutputFolder(tmp_path / "deep" / "out") as staging:
        raise error(staging)
    assert str(told.value) == str(tmp_path / "deep" / line)
    assert not list(tmp_path.iterdir())
