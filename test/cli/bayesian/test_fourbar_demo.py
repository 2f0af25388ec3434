# SPDX-License-Identifier: Apache-2.0
"""sysid demo fourbar, shortened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sysid_nodes.cli.main import main


def test_demo_compares_with_what_it_hid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["demo", "fourbar", "--seed", "3", "--motion-time", "4", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "hip.coulomb" in printed
    assert "intervals of 95 %" in printed
    document = json.loads((out / "result.json").read_text())
    truth = json.loads((out / "truth" / "leg.json").read_text())
    rows = {row["name"]: row for row in document["parameters"]}
    assert rows["hip.coulomb"]["truth"] == truth["hip.coulomb"]
    assert document["source"] == str(out / "bag")
    assert {path.name for path in out.iterdir()} == {
        "bag", "config.yaml", "report.html", "result.json", "series.npz", "truth"
    }  # fmt: skip
    page = (out / "report.html").read_text()
    assert ">truth<" in page
