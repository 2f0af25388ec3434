# SPDX-License-Identifier: Apache-2.0
"""What the page's script gets of a figure is what the figure shows."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from sysid_nodes.reports.bayesian.plots import gap_plot
from sysid_nodes.reports.drawing.plot_data import plot_data
from sysid_nodes.reports.drawing.plots import BLUE, VERMILION, to_svg
from sysid_nodes.reports.prime.plots import FEET, fit_plot

T = np.linspace(0.0, 2.0, 50)


def curves() -> Figure:
    figure = Figure()
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.fill_between(T, T - 0.5, T + 0.5, color=BLUE, alpha=0.25, linewidth=0.0)
    top.step(T, np.where(T > 1.9, np.nan, T**2), where="post", color=BLUE, label="square", linestyle="--")
    top.axhline(3.0, color=VERMILION)
    top.axvline(1.0, color=VERMILION)
    bottom.plot(T, np.exp(T), color=BLUE, alpha=0.5)
    bottom.set_yscale("log")
    bottom.set_title("growth", loc="left")
    figure.supxlabel("time [s]")
    return figure


def test_lines_bands_and_levels_arrive() -> None:
    found = json.loads(plot_data(curves()))
    top, bottom = found["axes"]
    assert found["key"] == "time [s]"
    line, level = top["lines"]
    np.testing.assert_allclose(line["x"], T, atol=1e-9)
    values = np.array(line["y"], dtype=float)
    np.testing.assert_allclose(values[T <= 1.9], T[T <= 1.9] ** 2, rtol=1e-5)
    assert np.isnan(values[T > 1.9]).all()
    assert (line["name"], line["steps"], line["dash"]) == ("square", True, [4, 3])
    assert level["y"] == [3.0, 3.0]
    assert [mark["x"] for mark in top["marks"]] == [1.0]
    (band,) = top["areas"]
    assert band["opacity"] == 0.25
    assert (min(band["y"]), max(band["y"])) == (-0.5, 2.5)
    assert bottom["log"]
    assert (bottom["ylabel"], bottom["xlabel"]) == ("growth", "time [s]")
    assert bottom["lines"][0]["opacity"] == 0.5
    assert top["share"] + bottom["share"] == 1.0


def test_what_is_drawn_over_names_stays_a_picture() -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.plot(np.arange(9.0), T[:9], "o")
    assert plot_data(figure)
    axes.set_xticks(np.arange(9.0), list("abcdefghi"))
    assert plot_data(figure) == ""


def test_two_values_at_one_time_are_both_kept() -> None:
    figure = Figure()
    figure.subplots().plot(np.repeat(T, 2), np.arange(100.0))
    (axes,) = json.loads(plot_data(figure))["axes"]
    x = np.array(axes["lines"][0]["x"])
    assert (np.diff(x) > 0.0).all()
    np.testing.assert_allclose(x, np.repeat(T, 2), atol=1e-6)


def test_what_is_no_curve_over_time_stays_a_picture() -> None:
    bars, circle = Figure(), Figure()
    bars.subplots().bar([1, 2, 3], [1.0, 2.0, 3.0])
    circle.subplots().plot(np.cos(T * np.pi), np.sin(T * np.pi))
    assert not plot_data(bars)
    assert not plot_data(circle)
    assert "plot-data" not in to_svg(bars, "bars")
    assert to_svg(curves(), "curves").count("plot-data") == 1


def test_only_lines_that_are_drawn_dashed_are_dashed() -> None:
    t = np.arange(20.0)
    svg = fit_plot(t, {f"sensor {k}": t for k in range(10)}, 2.5, label="x")
    (axes,) = json.loads(html.unescape(re.findall(r"<script[^>]*plot-data[^>]*>(.*?)</script>", svg)[0]))["axes"]
    assert [bool(line["dash"]) for line in axes["lines"]] == [False] * len(FEET) + [True] * (11 - len(FEET))


def test_a_gap_of_a_closed_loop_has_an_axis_that_can_be_read() -> None:
    """The script's axis names no powers of ten as small as rounding's, in metres."""
    svg = gap_plot(np.arange(20.0), np.linspace(0.0, 3e-13, 20), label="x")
    (axes,) = json.loads(html.unescape(re.findall(r"<script[^>]*plot-data[^>]*>(.*?)</script>", svg)[0]))["axes"]
    assert axes["ylabel"] == "gap [nm]"
    assert axes["lines"][0]["y"][-1] == pytest.approx(3e-4)
    assert axes["ylim"][0] > 1e-7


def test_data_cannot_end_the_script() -> None:
    figure = Figure()
    figure.subplots().plot(T, T, label="<!--<script></script>")
    assert "<" not in plot_data(figure)
