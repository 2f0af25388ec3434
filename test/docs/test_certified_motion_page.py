# SPDX-License-Identifier: Apache-2.0
"""The page on certified motion names every reason, with the sentence that the nodes say."""

from __future__ import annotations

import re
from pathlib import Path

from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.systems.certified.control.config import ControllerConfig

PAGE = (Path(__file__).parents[2] / "docs" / "certified" / "index.md").read_text(encoding="utf-8")


def test_every_reason_is_explained_in_its_own_words() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.+?) \| (.*?) ?\|$", PAGE, flags=re.MULTILINE)
    assert [(int(number), name, words) for number, name, words, _ in rows] == [
        (reason.value, reason.name, reason.message) for reason in StopReason
    ]
    assert all(what for _, name, _, what in rows if name != "NONE")


def test_the_grace_is_the_default_one() -> None:
    assert f"({ControllerConfig().scene_grace:g} s)" in PAGE
