# SPDX-License-Identifier: Apache-2.0
"""What the four-bar leg's demo says in the end, and what it calls a failure; no process, no ROS."""

from __future__ import annotations

import io
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from shared.leg_bag import CONFIG, START, VALUES, write_leg
from shared.views import check_view

from sysid_nodes.cli.bayesian.demo import evaluate, verdict
from sysid_nodes.cli.bayesian.demo_screen import BayesianScreen
from sysid_nodes.cli.bayesian.demo_watch import BayesianWatch
from sysid_nodes.cli.demo.ending import Ending
from sysid_nodes.logs.reader import read_messages
from sysid_nodes.messages.bayesian.posterior import TOPIC, TYPE
from sysid_nodes.messages.bayesian.posterior_markers import MARKERS
from sysid_nodes.messages.markers import ARRAY_TYPE

POSTERIOR = {
    "names": ["hip.coulomb", "rod.m"],
    "units": ["N m", "kg"],
    "mean": [1.0, 0.2],
    "lower": [0.9, 0.1],
    "upper": [1.1, 0.3],
    "verdict": ["observed", "not observed"],
}


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("demo")
    truth = write_leg(folder / "bag", 2.4)
    settings = "".join(f"    {name}: {value}\n" for name, value in VALUES.items())
    (folder / "config.yaml").write_text(CONFIG.read_text(encoding="utf-8") + settings, encoding="utf-8")
    return evaluate(folder, truth.values(), "out/bag"), folder


def test_the_recording_is_compared_with_truth_and_live_node(evaluated: tuple[dict[str, Any], Path]) -> None:
    document, folder = evaluated
    ((message_stamp, message),) = read_messages(folder / "result.mcap", TOPIC, TYPE)
    assert message.id == document["online"]["id"]
    assert document["source"] == "out/bag"
    check_view("bayesian.rviz", folder / "result.mcap")
    ((_, shown),) = read_messages(folder / "result.mcap", MARKERS, ARRAY_TYPE)
    links = {row["name"].removesuffix(".m") for row in document["parameters"] if row["name"].endswith(".m")}
    assert {marker.text.split()[0] for marker in shown.markers if marker.ns == "mass"} == links
    stamps = [1e-9 * stamp for stamp, _ in read_messages(folder / "result.mcap", "/tf", "tf2_msgs/msg/TFMessage")]
    assert START <= stamps[0] < START + 0.1, "the robot moves when it did"
    assert np.diff(stamps).max() < 0.1
    assert stamps[-1] <= 1e-9 * message_stamp
    assert document["online"]["live"]["sentence"] == "The live node published no posteriors."
    assert {row["name"] for row in document["parameters"] if row["truth"] is not None} >= {"hip.coulomb", "shank.m"}
    assert verdict(document) == Ending(1, "The live node published no posteriors.")
    assert verdict(document, overloaded=True).timing


def test_what_fails_is_said(evaluated: tuple[dict[str, Any], Path]) -> None:
    fine = deepcopy(evaluated[0])
    fine["online"]["live"].update(published=1, compared=1, equal=1)
    assert verdict(fine) == Ending()
    missed = deepcopy(fine)
    for row in missed["parameters"]:
        row["truth"] = row["upper"] + 1.0
    assert "intervals of 95 % hold the truth" in verdict(missed).fault
    assert (verdict(missed).status, verdict(missed).timing) == (1, False)
    assert verdict(fine | {"status": "CONTRADICTED", "message": "no"}) == Ending(3, "no")


def test_the_watch_shows_what_is_observed() -> None:
    watch = BayesianWatch({"hip.coulomb": 1.05})
    assert (watch.rows, watch.count) == ([], 0)
    watch.take({"posterior": POSTERIOR})
    (row,) = watch.rows
    assert (row.name, row.mean, row.truth, row.holds, watch.count) == ("hip.coulomb", 1.0, 1.05, True, 2)


def test_numbers_are_whole_on_eighty_columns_and_end_where_the_interval_does() -> None:
    """A product of inertia of nearly nothing, beside a name and a unit that are long."""
    watch = BayesianWatch({"crank_motor.viscous": 0.2256, "crank.Ixz": 1.7e-5})
    rows = {"names": ["crank_motor.viscous", "crank.Ixz"], "units": ["N m s/rad", "kg m2"], "verdict": ["observed"] * 2}
    told = {"mean": [0.2227, 4.9e-5], "lower": [0.1939, -5.7e-5], "upper": [0.2517, 1.5e-4]}
    watch.take({"posterior": rows | told})
    Console(width=80, color_system=None, file=(shown := io.StringIO())).print(BayesianScreen("").final(watch))
    first, second = (line.split()[-4:] for line in shown.getvalue().splitlines()[1:])
    assert first == ["0.223", "0.194", "0.252", "0.226"]
    assert second == ["0.000049", "-0.000057", "0.000150", "0.000017"]
