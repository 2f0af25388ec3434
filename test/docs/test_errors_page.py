# SPDX-License-Identifier: Apache-2.0
"""The page of errors quotes what the programs say, and has a cause and a cure for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = re.findall(
    r"^\| `([^`]+)` \| (.*?) \| (.*?) \|$", (ROOT / "docs/errors.md").read_text(encoding="utf-8"), re.MULTILINE
)
PLACEHOLDER = r"…"


@pytest.fixture(scope="module")
def spoken() -> str:
    """All that programs may say: their sources, with literals that continue on the next line joined."""
    files = [*ROOT.glob("sysid_nodes/**/*.py"), *ROOT.glob("cmake/*.sh")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r'"\s*\n\s*f?"', "", text)


@pytest.mark.parametrize(("message", "cause", "cure"), ROWS, ids=[row[0][:40] for row in ROWS])
def test_a_message_is_a_program_s(message: str, cause: str, cure: str, spoken: str) -> None:
    """Its fixed parts, in their order and with whatever is put in between on one line."""
    pattern = r"[^\n]*?".join(re.escape(part.strip()) for part in message.split(PLACEHOLDER) if part.strip())
    assert re.search(pattern, spoken), message
    assert cause
    assert cure


def test_there_are_some_for_every_stage() -> None:
    assert len(ROWS) > 30
