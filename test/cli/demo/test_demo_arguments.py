# SPDX-License-Identifier: Apache-2.0
"""An argument that the demo of a robot would pass over is refused."""

from __future__ import annotations

import argparse

import pytest

from sysid_nodes.cli import main as command
from sysid_nodes.cli.demo.arguments import add_arguments, refuse_others_options


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["go2", "--delay", "4"], "--delay: the demo of go2 has none; of kinova only"),
        (["fourbar", "--payload", "1"], "--payload: the demo of fourbar has none; of kinova, go2, g1, spi only"),
        (["kinova", "--motion-time", "5"], "--motion-time: the demo of kinova has none"),
        (["go2", "--policy", "walk.onnx"], "--policy: the demo of go2 has none; of spi only"),
        (["spi", "--change", "none"], "--change: the demo of spi has none; of actuators only"),
    ],
)
def test_an_argument_of_another_demo_is_refused(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["demo", *words]) == 2
    assert capsys.readouterr().err.startswith(f"sysid: error: {line}")


@pytest.mark.parametrize(
    "words",
    [["kinova", "--identify", "3", "--delay", "4", "--speed", "0.5"], ["g1", "--motion-time", "5", "--payload", "2"],
     ["actuators", "--change", "none"], ["spi", "--seed", "3", "--domain-id", "4", "--rviz", "--policy", "walk.onnx"]],
)  # fmt: skip
def test_its_own_are_taken(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    refuse_others_options(parser.parse_args(words))
