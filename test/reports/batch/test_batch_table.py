# SPDX-License-Identifier: Apache-2.0
"""Table and page of many runs, from runs of which is known what is wrong with them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.batch.report import headline, render_batch, sentences
from sysid_nodes.reports.batch.table import build_batch, read_batch, write_batch
from sysid_nodes.reports.drawing.plots import GREEN
from sysid_nodes.results.batch import BatchRun, Outcome
from sysid_nodes.results.quantity import Quantity

DAY = 86400.0


def _run(k: int, outcome: Outcome = Outcome.DONE) -> BatchRun:
    return BatchRun(f"run_{k}", f"/bags/run_{k}", "0", 1.7e9 + k * DAY, 10.0, outcome, "", 1.0)


def _statistical(value: float) -> Quantity:
    return Quantity("friction", "N m", value, value - 0.2, value + 0.2, 0.1)


def _document(values: list[float], **kwargs: Any) -> dict[str, Any]:
    runs = [_run(k) for k in range(len(values))]
    return build_batch(runs, {run.name: [_statistical(x)] for run, x in zip(runs, values, strict=True)}, {})


def test_runs_that_agree() -> None:
    document = _document([1.0, 1.05, 0.95, 1.02, 0.98])
    (row,) = document["quantities"]
    assert row["agree"]
    assert row["lower"] < 1.0 < row["upper"]
    assert not row["outliers"]
    assert not row["explained_by"]
    assert headline(document) == "5 of 5 recordings gave a result; they agree in all 1 numbers that two of them have"


def test_a_drift_is_said_a_day() -> None:
    document = _document([1.0, 2.01, 2.99, 4.0, 5.02, 6.0])
    (found,) = document["quantities"][0]["explained_by"]
    assert found["by"] == "time"
    assert found["per"] == "day"
    assert found["slope"] == pytest.approx(1.0, abs=0.02)
    assert any(
        re.search(r"changes with time: 1\S* ± \S+ .*a day \(one standard deviation\)", line)
        for line in sentences(document)
    )


def test_the_run_out_of_line_is_named_on_the_page() -> None:
    document = _document([1.0, 1.1, 0.9, 1.05, 9.0])
    assert document["quantities"][0]["outliers"] == ["run_4"]
    page = render_batch(document)
    assert "out of line: run_4" in page
    assert headline(document).endswith("they disagree about friction")


def test_intervals_without_a_common_point_claim_none() -> None:
    runs = [_run(k) for k in range(3)]
    ends = [(0.0, 1.0), (0.5, 1.5), (2.0, 3.0)]
    found = {run.name: [Quantity("m", "kg", sum(e) / 2, *e)] for run, e in zip(runs, ends, strict=True)}
    document = build_batch(runs, found, {})
    (row,) = document["quantities"]
    assert row["agree"] is False
    assert row["outliers"] == ["run_2"]
    page = render_batch(document)
    assert "no value lies in the intervals of all runs" in page
    assert "0.5" not in page[page.index('id="numbers"') : page.index('id="figures"')]
    assert f"fill: {GREEN.lower()}" not in page.lower(), "no band of a common value"
    agreeing = {name: [Quantity("m", "kg", 1.0, 0.5, 1.5)] for name in found}
    assert f"fill: {GREEN.lower()}" in render_batch(build_batch(runs, agreeing, {})).lower()


def test_runs_without_a_result_are_listed_with_their_reason() -> None:
    runs = [_run(0), _run(1, Outcome.FAILED), _run(2, Outcome.LOST), _run(3, Outcome.CONTRADICTION)]
    document = build_batch(runs, {"run_0": [_statistical(1.0)]}, {})
    assert headline(document) == "1 of 4 recordings gave a result"
    page = render_batch(document)
    for run in runs:
        assert run.outcome.value in page


def test_the_document_is_strict_json_and_its_runs_come_back(tmp_path: Path) -> None:
    document = _document([1.0, 2.0])
    write_batch(tmp_path / "batch.json", document)
    assert json.loads((tmp_path / "batch.json").read_text()) == document
    assert read_batch(tmp_path / "batch.json") == [_run(0), _run(1)]


@pytest.mark.parametrize("text", ["", "{}", '{"runs": [{"outcome": "DONE"}]}', '{"runs": [{"outcome": "WELL"}]}'])
def test_another_file_is_no_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "batch.json").write_text(text)
    with pytest.raises(InputError, match="not the table of a batch"):
        read_batch(tmp_path / "batch.json")
