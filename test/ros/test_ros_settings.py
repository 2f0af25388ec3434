from __future__ import annotations

from pathlib import Path

import pytest

from sysid_nodes.data.config import SUITE, options
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.ros.reference_pages import CERTIFIED, WALKING, pages
from sysid_nodes.ros.settings import NodeConfig


@pytest.mark.parametrize("name", pages())
def test_a_reference_page_is_the_dataclasses(name: str, project_root: Path) -> None:
    page = (project_root / "docs" / name).read_text(encoding="utf-8")
    assert page == pages()[name], f"docs/{name} is out of date: run python -m sysid_nodes.ros.reference_pages"


def listed(page: str) -> list[str]:
    return [row.split("`")[1] for row in page.splitlines() if row.startswith("| `")]


def test_every_option_has_a_row() -> None:
    items = [item.name for item in (*options(IntervalIdentifierConfig), *options(NodeConfig))]
    found = listed(pages()["parameters.md"])
    assert found[: len(items)] == items
    assert len(set(found)) == len(found)
    for config in CERTIFIED:
        assert {item.name for item in options(config)} <= set(found)
    assert listed(pages()["parameters-walking.md"]) == [item.name for config in WALKING for item in options(config)]


def test_the_keys_that_a_file_may_hold_for_several_programs_are_those_they_have() -> None:
    """SUITE cannot be made of the configurations, which lie in layers above it."""
    configs = (IntervalIdentifierConfig, *CERTIFIED)
    assert {item.name.split(".")[0] for config in configs for item in options(config)} == SUITE


def test_node_options_do_not_collide_with_the_identifiers() -> None:
    assert not {i.name for i in options(NodeConfig)} & {i.name for i in options(IntervalIdentifierConfig)}
