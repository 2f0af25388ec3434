# SPDX-License-Identifier: Apache-2.0
"""The table of the exploration's demo fits a terminal of eighty columns, whatever the size of its numbers."""

import math
from types import SimpleNamespace

import pytest
from rich.console import Console

from sysid_nodes.cli.demo import live_screen
from sysid_nodes.cli.sampling.demo_screen import SamplingScreen
from sysid_nodes.cli.sampling.demo_watch import PLANNER, SamplingWatch
from sysid_nodes.reports.sampling.stages import Known


def rows(*columns):
    return [Known(name, unit, value, sigma) for name, unit, value, sigma in columns]


def test_no_cell_is_cut_and_numbers_end_where_their_error_begins(capsys):
    before = rows(
        ("centre_x", "m", -0.039454, 0.0024),
        ("centre_y", "m", -3.2e-5, 4.1e-5),
        ("Ixx", "kg m2", 0.0928, 0.12),
        ("strength.thigh", "N m", 200, math.nan),
    )
    after = rows(
        ("centre_x", "m", -0.037021, 9e-5),
        ("centre_y", "m", -4.6e-5, 4.5e-5),
        ("Ixx", "kg m2", 0.05146, 0.0078),
        ("strength.thigh", "N m", 28.42, 13),
    )
    spreads = [SimpleNamespace(name="Ixx", after=0.011), SimpleNamespace(name="centre_x", after=2e-4)]
    spreads += [SimpleNamespace(name="strength.thigh", after=2847.0)]
    truth = {"centre_x": -1e-8, "centre_y": 1e-5, "Ixx": 0.04804, "strength.thigh": 25.0}
    watch = SimpleNamespace(known=[before, after], plan=SimpleNamespace(spreads=spreads), truth=truth)
    Console(width=80, color_system=None).print(SamplingScreen("").final(watch))
    text = capsys.readouterr().out
    assert "…" not in text
    for cell in (
        "mm  -0.032 ±0.041",
        "-39.5 ±2.4",
        "-37.021 ±0.090",
        "0.09 ±0.12",
        "±0.011",
        "0.0515 ±0.0078",
        "unknown",
        "28 ±13",
    ):
        assert cell in text
    assert "2847" not in text, "what no plan will tell either"
    assert "0.0480" in text
    assert "-0.000000" not in text


def test_the_demo_ends_by_what_the_nodes_tell_in_keys_of_their_own():
    """Not by the words of a sentence: the planner's fault and the robot's trouble are values in the diagnostics."""
    for told, trouble in (
        ({PLANNER: {"fault": "every plan ends in a fall"}}, "every plan ends in a fall"),
        ({"simulated_legged_robot: motion": {"trouble": "fallen"}}, "the robot has fallen"),
        ({PLANNER: {"fault": "", "message": "no plan yet"}}, ""),
    ):
        watch = SamplingWatch({}, None, None)
        watch.take({"diagnostics": told, "count": 1})
        assert (watch.trouble, watch.finished) == (trouble, bool(trouble))


@pytest.mark.parametrize("stage", ["planning, segment 1 of 2: {:.0f} of 90", "robot follows its plan"])
def test_without_a_terminal_a_stage_is_a_line_and_one_every_half_minute(stage, capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr(live_screen.time, "monotonic", lambda: now)
    screen = SamplingScreen("")
    for now in range(91):
        screen.show(SimpleNamespace(recorded=1, elapsed=float(now), activity=stage.format(now), known=[]))
    now = 92.0
    masses = [rows(("mass", "kg", 11.6, 0.1))]
    screen.show(SimpleNamespace(recorded=1, elapsed=92.0, activity=stage.format(90), known=masses))
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["0.0", "30.0", "60.0", "90.0", "92.0"]
    assert "mass 11.60 kg" in lines[-1]
