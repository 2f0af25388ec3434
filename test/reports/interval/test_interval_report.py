# SPDX-License-Identifier: Apache-2.0
"""report.html: self-contained, complete, and honest about every status."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from shared.report_pages import without_scripts
from shared.synthetic_run import run, torques

from sysid_nodes.reports.drawing.plots import _hold_to_end, thin_extremes
from sysid_nodes.reports.interval.report import render_report, write_report
from sysid_nodes.reports.interval.result_file import build_document
from sysid_nodes.results import Status

VOID = {"meta", "input", "br", "path", "use", "rect", "circle", "line", "hr", "img"}
SECTIONS = ("parameters", "history", "torques", "excitation", "costs", "samples", "assumptions", "settings")


class Page(HTMLParser):
    """Collects what the tests ask about and checks that elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.images = 0
        self.unlabelled = 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._collect(tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._collect(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def _collect(self, tag: str, attributes: dict[str, str | None]) -> None:
        if "id" in attributes:
            self.ids.append(attributes["id"] or "")
        self.links += [v for k, v in attributes.items() if k in ("href", "xlink:href", "src") and v is not None]
        if tag == "svg":
            self.images += 1
            self.unlabelled += not attributes.get("aria-label")


def page(status: Status = Status.PROVEN, **changes: object) -> tuple[str, Page]:
    found = replace(run(status), **changes)
    text = render_report(build_document(found), found.torques)
    return text, Page(text)


@pytest.fixture(scope="module")
def proven() -> tuple[str, Page]:
    return page()


def test_the_page_needs_nothing_from_outside(proven: tuple[str, Page]) -> None:
    text, parsed = proven
    assert all(link.startswith("#") for link in parsed.links)
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\((?!#)", without_scripts(text))
    assert "default-src 'none'" in text  # and the browser sees to it
    assert len(text.encode()) < 3_000_000


def test_every_link_has_its_target_and_ids_are_unique(proven: tuple[str, Page]) -> None:
    _, parsed = proven
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {link[1:] for link in parsed.links} <= set(parsed.ids)


def test_every_section_and_plot_is_there(proven: tuple[str, Page]) -> None:
    _, parsed = proven
    assert set(SECTIONS) <= set(parsed.ids)
    # ten intervals, ten widths, seven joints, singular values, condition number, costs
    assert parsed.images == 10 + 10 + 7 + 2 + 1
    assert parsed.unlabelled == 0


def test_numbers_and_words_of_the_result_are_there(proven: tuple[str, Page]) -> None:
    text, _ = proven
    found = run()
    for sentence in (*found.assumptions, "The known truth lies inside all ten intervals.", "noise.torque_relative"):
        assert sentence in text
    assert text.count('class="yes"') == 10
    assert "rejected: duplicate stamp" in text
    assert f"{found.torques.rms()[1]:#.3g}" in text


@pytest.mark.usefixtures("blank_figures")
def test_a_miss_is_marked() -> None:
    truth = run().truth.copy()
    truth[4] = 0.5
    text, _ = page(truth=truth, torques=None)
    assert text.count("✗ outside") == 1


@pytest.mark.usefixtures("blank_figures")
def test_a_contradiction_is_explained_and_nothing_is_claimed() -> None:
    text, parsed = page(Status.INCONSISTENT, torques=None)
    assert "contradiction" in parsed.ids
    assert "No interval is claimed." in text
    assert "withdrawn" in text
    assert "torque relative" in text
    assert "would not help" in text
    assert not re.search(r"The mass lies|inside all ten", text)


@pytest.mark.usefixtures("blank_figures")
def test_sensitivity_is_never_called_proven() -> None:
    text, _ = page(Status.ESTIMATED, torques=None)
    assert "they are not proven" in text
    assert "If every sentence below is true" not in text


@pytest.mark.usefixtures("blank_figures")
def test_a_run_that_waited_has_a_page() -> None:
    found = run(Status.WAITING)
    nothing = replace(found.result, t=np.nan, costs={})
    text, parsed = page(Status.WAITING, history=(nothing,), torques=None, truth=None)
    assert "Nothing was learnt" in text
    assert parsed.images == 1  # singular values alone
    assert "No torques were kept" in text


@pytest.mark.usefixtures("blank_figures")
def test_text_from_outside_is_escaped() -> None:
    text, _ = page(source='<img src="http://evil.example/x">', robot="<b>arm</b>", torques=torques(20, 2))
    assert "<img" not in text
    assert "<b>arm" not in text


@pytest.mark.usefixtures("blank_figures")
def test_times_since_an_epoch_are_shortened() -> None:
    late = tuple(replace(step, t=step.t + 1.7e9) for step in run().history)
    text, _ = page(history=late, torques=None)
    assert "Time counts from stamp 1700000000" in text


@pytest.mark.slow
def test_a_humanoid_fits_in_a_light_page() -> None:
    small = torques(1500, 7)
    names = tuple(f"joint_{k}" for k in range(29))
    wide = replace(
        small,
        joint_names=names,
        measured=np.resize(small.measured, (1500, 29)),
        predicted=np.resize(small.predicted, (1500, 29)),
        radius=np.resize(small.radius, (1500, 29)),
    )
    text, _ = page(torques=wide)
    assert len(text.encode()) < 3_000_000


@pytest.mark.slow  # made again: cli/test_report_command.py
def test_the_same_result_gives_the_same_page(proven: tuple[str, Page], tmp_path: Path) -> None:
    found = run()
    write_report(tmp_path / "report.html", build_document(found), found.torques)
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == proven[0]


def test_thinning_keeps_every_peak() -> None:
    t = np.arange(10_000.0)
    y = np.sin(t)
    y[[17, 5_003]] = 9.0, -9.0
    y[100:300] = np.nan
    thin_t, thin_y = thin_extremes(t, y, 50)
    assert thin_t.size <= 100
    assert (np.diff(thin_t) > 0).all()
    assert thin_y.max() == 9.0
    assert thin_y.min() == -9.0


@pytest.mark.usefixtures("blank_figures")
def test_before_any_data_the_page_shows_nothing_as_found() -> None:
    last = run(Status.WAITING).result
    blank = replace(last, excitation=replace(last.excitation, singular_values=np.zeros(10)))
    text, _ = page(Status.WAITING, history=(blank,), torques=None)
    for caption in ("Singular values,", "Condition number over time", "added to the mass"):
        assert caption not in text


def test_the_area_of_an_interval_reaches_to_where_it_was_withdrawn() -> None:
    held = _hold_to_end(np.array([np.nan, 1.0, 2.0, np.nan, np.nan]))
    np.testing.assert_array_equal(held, [np.nan, 1.0, 2.0, 2.0, np.nan])


@pytest.mark.usefixtures("blank_figures")
def test_what_hardly_costs_anything_is_left_out() -> None:
    last = run().result
    costs = {"torque_relative": np.full(10, 0.1), "rounding": np.full(10, 1e-9)}
    text, _ = page(history=(replace(last, costs=costs),))
    section = text[text.index('id="costs"') : text.index('id="samples"')]
    assert "torque relative" in section
    assert "rounding" not in section


@pytest.mark.usefixtures("blank_figures")
def test_a_joint_without_predictions_has_dashes() -> None:
    made = torques()
    made.predicted[:, 0] = np.nan
    text, _ = page(torques=made)
    row = text[text.index('<th scope="row" class="name">joint_1</th>') :].split("</tr>")[0]
    assert row.count("–") == 3
