# SPDX-License-Identifier: Apache-2.0
"""The last lines of a demo are commands that a shell reads as meant."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sysid_nodes.cli.demo import closing


def test_commands_are_quoted() -> None:
    lines = closing.closing("go2", Path("my results/it's"), 7)
    replay, demo = (shlex.split(line) for line in lines if line.startswith("    "))
    assert replay == [
        "sysid", "replay", "my results/it's/bag", "--config", "my results/it's/config.yaml",
        "--out", "my results/it's_again",
    ]  # fmt: skip
    assert demo == ["sysid", "demo", "go2", "--seed", "7", "--out", "my results/it's"]


def test_a_replay_that_gives_the_live_nodes_numbers_has_its_options() -> None:
    assert closing.closing("actuators", Path("out"), 1, "--online")[3].endswith(" --online --out out_again")


def test_sentences_break_at_words_and_commands_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    text = "one two three four five six\n    sysid demo kinova --seed 1 --out a/b"
    assert closing.wrap(text) == "one two three four\nfive six\n    sysid demo kinova --seed 1 --out a/b"


def test_a_file_gets_the_text_as_it_is() -> None:
    assert closing.wrap("a " * 100) == "a " * 100


def test_a_machine_that_kept_up_is_said_no_more_of_than_its_shares() -> None:
    shares = "Processor time during the motion, in shares of one core: robot 50 %, recorder 4 %."
    assert closing.pace(0.05, {"robot": 0.5, "recorder": 0.042}) == [shares]
    assert closing.pace(0.26, {}) == ["The simulation was 0.3 s behind real time."]
