# SPDX-License-Identifier: Apache-2.0
"""The last lines of a demo are commands that a shell reads as meant."""

from __future__ import annotations

import argparse
import shlex

import pytest

from sysid_nodes.cli.demo import closing
from sysid_nodes.cli.demo.arguments import add_arguments


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


def test_commands_are_quoted() -> None:
    lines = closing.closing_lines(parse("go2", "--out", "my results/it's"), 7)
    replay, demo = (shlex.split(line) for line in lines if line.startswith("    "))
    assert replay == [
        "sysid", "replay", "my results/it's/bag", "--config", "my results/it's/config.yaml",
        "--out", "my results/it's_again",
    ]  # fmt: skip
    assert demo == ["sysid", "demo", "go2", "--seed", "7", "--out", "my results/it's"]


def test_a_replay_that_gives_the_live_nodes_numbers_has_its_options() -> None:
    assert closing.closing_lines(parse("actuators", "--out", "out"), 1, "--online")[3].endswith(
        " --online --out out_again"
    )


@pytest.mark.parametrize(
    "given",
    [
        ["kinova", "--payload", "2.125", "--identify", "3.0", "--delay", "2.5", "--speed", "0.5", "--domain-id", "7"],
        ["actuators", "--change", "none", "--motion-time", "10.0", "--rviz"],
    ],
)
def test_the_last_command_is_the_one_that_was_given(given: list[str]) -> None:
    words = shlex.split(closing.closing_lines(parse(*given), 12)[-1])
    assert words[:2] == ["sysid", "demo"]
    assert parse(*words[2:]) == parse(*given, "--seed", "12")


def test_the_files_to_look_at_are_named() -> None:
    assert "Open out/report.html in a browser" in closing.closing_lines(parse("go2", "--out", "out"), 1)[1]


def test_sentences_break_at_words_and_commands_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    text = "one two three four five six\n    sysid demo kinova --seed 1 --out a/b"
    assert closing.wrap(text) == "one two three four\nfive six\n    sysid demo kinova --seed 1 --out a/b"


def test_a_file_gets_lines_that_an_editor_shows_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")  # of a terminal that is not asked
    command = "    sysid replay " + "x" * 200
    first, second, third = closing.wrap("a" * 70 + " " + "b" * 49 + " c\n" + command).split("\n")
    assert (first, second, third) == ("a" * 70 + " " + "b" * 49, "c", command)


def test_a_machine_that_kept_up_is_said_no_more_of_than_its_shares() -> None:
    shares = "Processor time during the motion, in shares of one core: robot 50 %, recorder 4 %."
    assert closing.machine_lines(0.05, {"robot": 0.5, "recorder": 0.042}) == [shares]
    assert closing.machine_lines(0.26, {}) == ["The simulation was 0.3 s behind real time."]
