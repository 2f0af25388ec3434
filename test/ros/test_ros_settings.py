from __future__ import annotations

from pathlib import Path

from sysid_nodes.data.config import options
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.ros.settings import NodeConfig, reference_page


def test_the_reference_page_is_the_dataclasses(project_root: Path) -> None:
    page = (project_root / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert page == reference_page(), (
        "docs/parameters.md is out of date: write sysid_nodes.ros.settings.reference_page() to it"
    )


def test_every_option_has_a_row_with_its_default() -> None:
    rows = [line for line in reference_page().splitlines() if line.startswith("| `")]
    items = [*options(IntervalIdentifierConfig), *options(NodeConfig)]
    assert [row.split("`")[1] for row in rows] == [item.name for item in items]


def test_node_options_do_not_collide_with_the_identifiers() -> None:
    assert not {i.name for i in options(NodeConfig)} & {i.name for i in options(IntervalIdentifierConfig)}
