# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from sysid_nodes.cli.main import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--known-mass", "2"), "--loaded and --known-mass belong together"),
        (("--loaded", "bag"), "--loaded and --known-mass belong together"),
        (("--loaded", "bag", "--known-mass", "-1"), "--known-mass must be a positive number, got -1"),
        (("--loaded", "bag", "--known-mass", "nan"), "--known-mass must be a positive number, got nan"),
    ],
)
def test_arguments_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert main(["calibrate", "bag", *words, "--out", str(tmp_path / "c.json")]) == 2
    assert capsys.readouterr().err == f"sysid: error: {message}\n"
    assert list(tmp_path.iterdir()) == []
