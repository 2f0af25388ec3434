# SPDX-License-Identifier: Apache-2.0
"""The actuators' demo: what it shows, what it says in the end and its exit status; no process is started here."""

from __future__ import annotations

import copy
import io
import re
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from shared.actuator_session import START, feed, messages, run, session

from sysid_nodes.cli.actuators.demo_screen import ActuatorScreen
from sysid_nodes.cli.actuators.demo_summary import summary, verdict
from sysid_nodes.cli.actuators.demo_watch import IDENTIFIER, ActuatorWatch
from sysid_nodes.cli.demo.ending import Ending
from sysid_nodes.messages.actuators.models import models_fields
from sysid_nodes.reports.actuators.live import session_run
from sysid_nodes.reports.actuators.methods import torque_series
from sysid_nodes.reports.actuators.report import render_actuator_report
from sysid_nodes.reports.actuators.run import actuator_document
from sysid_nodes.reports.actuators.truth import true_torques

LIVE = {"published": 3, "compared": 3, "equal": 3, "sentence": "Replayed, the same."}


@pytest.fixture(scope="module")
def heard() -> tuple[dict[str, Any], dict[str, Any], Any]:
    """The last message, the result and the series."""
    live = session(run(), actuators__oracle__beside=True)
    updates = feed(live, messages(run()))
    finished = session_run(live, "bag", 1.0, LIVE, run().truth(), START)
    return models_fields(updates[-1]), actuator_document(finished), finished


def watch(message: dict[str, Any]) -> ActuatorWatch:
    made = ActuatorWatch(run().truth())
    made.take({"models": message})
    return made


def test_the_screen_has_every_parameter_beside_the_truth(heard: Any) -> None:
    seen = watch(heard[0])
    assert len(seen.rows) == 18
    truth = run().truth()["drives"][0]["coulomb"]
    assert [row.truth for row in seen.rows if row.name == "coulomb"] == truth
    line = ActuatorScreen("x").line(seen)
    told = [row for row in seen.rows if row.identifiable]
    assert f"{len(told)} of 18 parameters identified" in line
    table = ActuatorScreen("x").final(seen)
    assert table.row_count == 18
    Console(width=80, color_system=None, file=(shown := io.StringIO())).print(table)
    assert "…" not in shown.getvalue(), "numbers are whole on eighty columns"
    for row in seen.rows:
        assert row.joint in shown.getvalue()


def test_the_torque_oracle_is_held_against_what_the_bodies_took(heard: Any) -> None:
    """Samples are found by their stamps: one beside the right one is wrong by a fifth, not by a twentieth."""
    _, document, finished = heard
    for joint in document["joints"]:
        assert joint["oracle"]["error"] < 0.06 * joint["oracle"]["rms"]
        assert joint["oracle"]["inside"] > 0.75  # windows of two seconds, of which ends tell less
    assert finished.true_torque.shape == finished.measured.shape
    assert "torque" not in document["online"]["truth"]
    truth = run().truth()
    first = np.array(truth["torque"]["values"][:1])
    np.testing.assert_array_equal(true_torques(truth, np.array([0.001])), first)
    assert np.isnan(true_torques(truth, np.array([-1.0, 1e3]))).all()


def test_it_waits_until_the_identifier_has_got_all_messages(heard: Any) -> None:
    seen = watch(heard[0])
    sent = {"state": "finished", "published on /joint_states": "10"}
    seen.take({"count": 1, "diagnostics": {"simulated_drives: motion": sent}})
    assert seen.finished
    assert seen.waiting
    got = {"received on /joint_states": "10", "messages waiting": "0"}
    seen.take({"count": 1, "diagnostics": {"simulated_drives: motion": sent, IDENTIFIER: got}})
    assert not seen.waiting


def test_what_holds_ends_with_status_zero_and_is_said(heard: Any) -> None:
    message, document, _ = heard
    assert verdict(watch(message), document) == Ending()
    text = summary(watch(message), document, {"leg": 0.1})
    assert "hold the hidden truth" in text
    assert "Replayed, the same." in text
    assert "leg 10 %" in text
    assert re.search(r"The torque oracle is within \d[.\d]* % \(RMS\) of the hidden torque; its 95 % band holds", text)


def false_alarm(document: dict[str, Any]) -> None:
    alarm = {"joint": "FL_hip_joint", "kind": "gain", "parameter": "gain", "unit": "1", "before": 1.0, "after": 0.7}
    document["online"]["alarms"].append(alarm | {"since": 0.0, "message": "x"})


def wrong_values(document: dict[str, Any]) -> None:
    for joint in document["joints"]:
        for row in joint["parameters"]:
            row |= {"lower": 100.0, "upper": 101.0}


def nothing_told(document: dict[str, Any]) -> None:
    for joint in document["joints"]:
        for row in joint["parameters"]:
            row |= {"identifiable": False, "estimate": None}


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (false_alarm, "alarms: gain of FL_hip_joint; what changed: nothing"),
        (wrong_values, "intervals only 0 hold the truth"),
        (nothing_told, "nothing was identified"),
        (lambda document: document["online"]["live"].update(equal=2, sentence="differs"), "differs"),
    ],
)
def test_what_does_not_hold_is_status_one(heard: Any, spoil: Any, line: str) -> None:
    document = copy.deepcopy(heard[1])
    spoil(document)
    seen = watch(heard[0])
    ending = verdict(seen, document)
    assert ending.status == 1
    assert line in ending.fault
    assert not ending.timing
    # What never reached the identifier makes a replay another, and is the machine's doing; nothing else is.
    seen.take({"count": 1, "diagnostics": {IDENTIFIER: {"messages lost to overload": "3"}}})
    assert verdict(seen, document).timing == (line == "differs")


def test_the_page_shows_truth_alarms_and_the_comparison(heard: Any) -> None:
    document = copy.deepcopy(heard[1])
    false_alarm(document)
    finished = heard[2]
    series = {name: getattr(finished, name) for name in ("t", "command", "measured", "replayed")}
    series |= torque_series(finished.methods) | {"true_torque": finished.true_torque}
    page = render_actuator_report(document, series)
    assert "dashed: the truth" in page
    assert page.count("off the truth by") == 3
    assert "Replayed, the same." in page
    assert "<strong>Alarm:</strong> x" in page
    assert page.count('<th scope="col">truth</th>') == 3
    assert "dashed: truth" in page
