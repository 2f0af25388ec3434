# SPDX-License-Identifier: Apache-2.0
"""Finding many recordings, naming them, and when they were made."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared.recorded import problem, record

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs import read_topics
from sysid_nodes.logs.recordings import find_recordings, recorded_span, unique_names


@pytest.fixture
def bags(tmp_path: Path) -> Path:
    for name in ("a/walk/metadata.yaml", "a/walk/walk_0.mcap", "b/walk/metadata.yaml", "b/x.db3", "b/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def test_folders_patterns_and_files_give_each_recording_once(bags: Path) -> None:
    found = [bags / "a/walk", bags / "b/walk", bags / "b/x.db3"]
    assert find_recordings([str(bags)]) == found
    assert find_recordings([str(bags / "*/w*"), str(bags / "b/x.db3"), str(bags / "b")]) == found


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nowhere", "no such file"),
        ("a/*.mcap", "no pattern that matches"),
        ("empty", "no recording in it"),
        ("", "no file or folder is named"),
    ],
)
def test_a_place_without_recordings_is_named(bags: Path, place: str, message: str) -> None:
    (bags / "empty").mkdir()
    with pytest.raises(LogError, match=message):
        find_recordings([str(bags / place) if place else place])


def test_names_tell_recordings_apart(bags: Path) -> None:
    assert unique_names([bags / "a/walk", bags / "b/walk", bags / "b/x.db3"]) == ["a-walk", "b-walk", "x"]


def test_the_span_is_that_of_the_messages(tmp_path: Path) -> None:
    bag = record(tmp_path / "bag", problem().samples(1e9 + np.arange(11) / 10.0))
    start, duration = recorded_span(bag)
    assert start == pytest.approx(1e9, abs=1e-6)
    assert duration == pytest.approx(1.0, abs=1e-6)


def test_a_folder_of_recordings_is_listed_where_one_is_wanted(bags: Path) -> None:
    with pytest.raises(LogError, match=r"several to choose from: a/walk, b/walk, b/x.db3"):
        read_topics(bags)
