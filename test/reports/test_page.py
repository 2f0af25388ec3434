# SPDX-License-Identifier: Apache-2.0
"""Commands on a page stay as they are typed, and no line ends within an option."""

from __future__ import annotations

import re

from markupsafe import Markup

from sysid_nodes.reports.page import command_text


def test_no_line_ends_within_an_option() -> None:
    said = command_text("a chirp (sysid excite --set duration=10 --set last=5)")
    assert said == (
        'a chirp (sysid excite <span class="option">--set duration=10</span> <span class="option">--set last=5</span>)'
    )


def test_what_is_copied_is_what_was_said_and_words_are_escaped() -> None:
    said = "more than <b> & sysid excite --set amplitude=0.2 --online --out a/b"
    page = command_text(said)
    assert "<b>" not in page
    assert Markup(re.sub("</?span[^>]*>", "", page)).unescape() == said


def test_nothing_stays_nothing() -> None:
    assert not command_text("")
