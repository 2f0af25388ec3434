# SPDX-License-Identifier: Apache-2.0
"""Progress passes every item on and tells people where it is."""

from __future__ import annotations

import itertools

import pytest

from sysid_nodes.cli.progress import Stages, track


def test_a_line_now_and_then_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    # a second for each look at the clock, one look every 100 items, a line every 10 s
    ticks = itertools.count(0.0)
    assert list(track(range(5000), "replay log", clock=lambda: next(ticks))) == list(range(5000))
    lines = capsys.readouterr().err.splitlines()
    assert 3 <= len(lines) <= 5
    assert all(line.startswith("replay log: ") and line.endswith(" %)") for line in lines)


def test_short_work_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track([1, 2], "replay", clock=lambda: 0.0)) == [1, 2]
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(track(range(250), "replay log")) == list(range(250))
    assert capsys.readouterr().out == ""


def test_stages_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    with Stages() as stages:
        for stage, total in (("fit", 3), ("bounds", 40)):
            for done in range(total):
                stages.show(stage, done, total)
    assert capsys.readouterr().err == "fit ...\nbounds ...\n"


def test_stages_are_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Stages() as stages:
        stages.show("fit", 1, 3)
    assert "..." not in capsys.readouterr().err
