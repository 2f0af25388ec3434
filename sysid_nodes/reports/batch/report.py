# SPDX-License-Identifier: Apache-2.0
"""batch.html: what became of many recordings, and each number over all of them, on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from sysid_nodes.reports.batch.plots import DATED, runs_plot
from sysid_nodes.reports.page import template
from sysid_nodes.reports.wording import IntervalText, listing, number_text, summary
from sysid_nodes.results.batch import Outcome
from sysid_nodes.results.quantity import with_unit

Document = Mapping[str, Any]


def headline(document: Document) -> str:
    """The finding in a line."""
    runs, quantities = document["runs"], [row for row in document["quantities"] if row["agree"] is not None]
    done = sum(run["outcome"] == Outcome.DONE.name for run in runs)
    line = f"{done} of {len(runs)} recordings gave a result"
    apart = [row["name"] for row in quantities if not row["agree"]]
    if not quantities:
        return line
    if not apart:
        return f"{line}; they agree in all {len(quantities)} numbers that two of them have"
    return f"{line}; they disagree about {summary(apart)}"


def sentences(document: Document) -> list[str]:
    """Numbers that do not agree, drift or depend on something, a sentence each."""
    lines = []
    for row in document["quantities"]:
        if row["agree"] is False:
            lines.append(f"{row['name']}: {_disagreement(row)}")
        for found in row["explained_by"]:
            change = f"{number_text(found['slope'], 3)} ± {number_text(found['sigma'], 2)}"
            lines.append(
                f"{row['name']} changes with {found['by']}: {with_unit(change, row['unit'])} a {found['per']} "
                "(one standard deviation)"
            )
    return lines


def render_batch(document: Document) -> str:
    """The page as text."""
    starts = {run["name"]: run["start"] for run in document["runs"] if run["start"] is not None}
    bad = any(run["outcome"] != Outcome.DONE.name for run in document["runs"])
    apart = any(row["agree"] is False for row in document["quantities"])
    return template("batch.html.j2").render(
        document=document,
        headline=headline(document),
        tone="bad" if bad else "wait" if apart else "good",
        sentences=sentences(document),
        runs=[_run(run) for run in document["runs"]],
        rows=[row | {"text": _interval(row)} for row in document["quantities"]],
        figures=[_figure(row, starts) for row in document["quantities"]],
    )


def _disagreement(row: Document) -> str:
    who = listing(row["outliers"]) if row["outliers"] else "no single run"
    if row["statistical"]:
        scatter = with_unit(number_text(row["scatter"], 2), row["unit"])
        return f"the runs scatter by {scatter} more than their sigmas say; out of line: {who}"
    return f"no value lies in the intervals of all runs; out of line: {who}. It changed, or an assumption is false"


def _run(run: Document) -> dict[str, Any]:
    outcome = Outcome[run["outcome"]]
    dated = run["start"] is not None and run["start"] > DATED
    when = f"{datetime.fromtimestamp(run['start'], UTC):%Y-%m-%d %H:%M}" if dated else ""
    ended = outcome in (Outcome.DONE, Outcome.CONTRADICTION)
    return {
        **run,
        "when": when,
        "verdict": outcome.value,
        "good": outcome is Outcome.DONE,
        "page": f"{quote(run['name'])}/report.html" if ended else "",
    }


def _common(row: Document) -> tuple[float, float] | None:
    """Interval of the common value; None where intervals that should hold it have nothing in common."""
    if row["lower"] is None or (row["agree"] is False and not row["statistical"]):
        return None
    return row["lower"], row["upper"]


def _interval(row: Document) -> IntervalText:
    """Common value and interval, rounded outward; no interval where there is none in common."""
    common = _common(row)
    return IntervalText.of(None, None, None) if common is None else IntervalText.of(row["mean"], *common)


def _figure(row: Document, starts: Mapping[str, float]) -> dict[str, Any]:
    values: Sequence[Document] = row["values"]
    label = f"{row['name']} over {len(values)} runs"
    return {
        "name": row["name"],
        "unit": row["unit"],
        "svg": Markup(runs_plot(values, starts, _common(row), row["outliers"], label=label)),
    }
