# SPDX-License-Identifier: Apache-2.0
"""What is left of a demo that came to no second stage."""

from __future__ import annotations

from pathlib import Path

from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.sampling import demo


def test_a_recording_is_kept_where_the_folder_of_results_was_yet_to_be_made(tmp_path: Path) -> None:
    out = tmp_path / "not" / "there" / "run"
    with OutputFolder(out) as folder:
        for name in ("bag", "config.yaml", "truth"):
            (folder / name).mkdir()
        kept = demo._keep(folder, out)
        assert {file.name for file in kept.iterdir()} == {"bag", "config.yaml", "truth"}
        assert kept.parent == tmp_path
