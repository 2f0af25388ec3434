# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from sysid_nodes.cli.reference_pages import pages
from sysid_nodes.cli.system import Entry
from sysid_nodes.cli.systems import CERTIFIED, SYSTEMS
from sysid_nodes.data.config import SUITE, options
from sysid_nodes.sessions.interval.node_config import IntervalNodeConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


@pytest.mark.parametrize("name", pages())
def test_a_reference_page_is_the_dataclasses(name: str, project_root: Path) -> None:
    page = (project_root / "docs" / name).read_text(encoding="utf-8")
    assert page == pages()[name], f"docs/{name} is out of date: run python -m sysid_nodes.cli.reference_pages"


def listed(page: str) -> list[str]:
    return [row.split("`")[1] for row in page.splitlines() if row.startswith("| `")]


@pytest.mark.parametrize("entry", SYSTEMS, ids=lambda entry: entry.name)
def test_every_option_has_a_row(entry: Entry) -> None:
    reference = entry.reference()
    found = listed(reference.page())
    known = listed(pages()["interval/parameters.md"]) if entry.name == "certified" else []
    if entry.name in ("interval", "certified"):  # elsewhere several nodes share names, in tables of their own
        assert len(set(found)) == len(found)
    for config in reference.configs:
        assert {item.name for item in options(config)} <= {*found, *known}


def test_the_keys_that_a_file_may_hold_for_several_programs_are_those_they_have() -> None:
    """SUITE cannot be made of the configurations, which lie in layers above it."""
    configs = (IntervalIdentifierConfig, *CERTIFIED.reference().configs)
    known = {item.name.split(".")[0] for config in configs for item in options(config)}
    # The exploration planner reads the identifier's file, and that the planner's.
    assert known | {"exploration"} == SUITE


def test_node_options_do_not_collide_with_the_identifiers() -> None:
    assert not {i.name for i in options(IntervalNodeConfig)} & {i.name for i in options(IntervalIdentifierConfig)}
