from __future__ import annotations

from pathlib import Path

from sysid_nodes.data.config import SUITE, options
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.ros.settings import CERTIFIED, NodeConfig, reference_page


def test_the_reference_page_is_the_dataclasses(project_root: Path) -> None:
    page = (project_root / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert page == reference_page(), (
        "docs/parameters.md is out of date: write sysid_nodes.ros.settings.reference_page() to it"
    )


def test_every_option_has_a_row_with_its_default() -> None:
    rows = [line for line in reference_page().splitlines() if line.startswith("| `")]
    items = [item.name for item in (*options(IntervalIdentifierConfig), *options(NodeConfig))]
    listed = [row.split("`")[1] for row in rows]
    assert listed[: len(items)] == items
    assert len(set(listed)) == len(listed)
    for config in CERTIFIED:
        assert {item.name for item in options(config)} <= set(listed)


def test_the_keys_that_a_file_may_hold_for_several_programs_are_those_they_have() -> None:
    """SUITE cannot be made of the configurations, which lie in layers above it."""
    configs = (IntervalIdentifierConfig, *CERTIFIED)
    assert {item.name.split(".")[0] for config in configs for item in options(config)} == SUITE


def test_node_options_do_not_collide_with_the_identifiers() -> None:
    assert not {i.name for i in options(NodeConfig)} & {i.name for i in options(IntervalIdentifierConfig)}
