# SPDX-License-Identifier: Apache-2.0
"""sysid report: the page again, from the files alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sysid_nodes.cli.main import main
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.reports.json_text import encode


def test_the_page_is_the_one_that_replay_made(replayed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(replayed, out)
    (out / "report.html").unlink()
    assert main(["report", str(out)]) == 0
    # single precision of series.npz may move a curve by less than a pixel, but nothing in words or tables
    again, first = ((folder / "report.html").read_text() for folder in (out, replayed))
    assert again.split("<figure")[0] == first.split("<figure")[0]
    assert again.count("<svg") == first.count("<svg")


def test_a_result_alone_gives_a_page_without_torques(replayed: Path, tmp_path: Path) -> None:
    shutil.copy(replayed / "result.json", tmp_path / "r.json")
    assert main(["report", str(tmp_path / "r.json"), "--out", str(tmp_path / "page.html")]) == 0
    assert "No torques were kept" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "result.json").unlink(), "No such file or directory"),
        (lambda folder: (folder / "result.json").write_text("{"), "not valid JSON"),
        (lambda folder: (folder / "series.npz").write_text("x"), "not a series file"),
        (
            lambda folder: (folder / "result.json").write_text(encode(read_result(folder) | {"pipeline": "contact"})),
            "no report is known for pipeline 'contact'",
        ),
    ],
)
def test_damage_is_one_line_and_the_old_page_stays(
    replayed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: object, message: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(replayed, out)
    spoil(out)
    before = (out / "report.html").read_text()
    assert main(["report", str(out)]) == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert message in text
    assert (out / "report.html").read_text() == before
