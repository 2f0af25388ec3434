# SPDX-License-Identifier: Apache-2.0
"""ParameterBounds without ROS: every field of the message, the right moment to publish it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared.synthetic_run import results

from sysid_nodes.logs import BagWriter, read_messages
from sysid_nodes.messages.interval.bounds import TOPIC, TYPE, bounds_fields
from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.links import moving_link
from sysid_nodes.sessions.interval.news import Subject, is_news

SUBJECT = Subject("kinova_gen3", "end_effector_link", "body", "bracelet_link", "set_membership")


def written(result: IdentificationResult, folder: Path) -> object:
    with BagWriter(folder / "b.mcap") as bag:
        bag.add_topic(TOPIC, TYPE, latched=True)
        bag.write(TOPIC, result.t, bounds_fields(result, SUBJECT))
    ((_, message),) = read_messages(folder / "b.mcap", TOPIC, TYPE)
    return message


def test_every_field_of_the_message_is_filled(project_root: Path) -> None:
    text = (project_root / "msg" / "ParameterBounds.msg").read_text(encoding="utf-8")
    fields = re.findall(r"^[\w/]+(?:\[\d*\])? (\w+)(?!\s*=)\s*(?:#|$)", text, re.MULTILINE)
    assert set(bounds_fields(results(Status.INCONSISTENT)[-1], SUBJECT)) == set(fields) - {"signature"}


def test_a_result_survives_the_message(tmp_path: Path) -> None:
    result = results()[-1]
    message = written(result, tmp_path)
    for name in ("nominal", "lower", "upper"):
        np.testing.assert_array_equal(getattr(message, name), getattr(result, name))
    assert message.header.stamp.sec == 6
    assert message.header.frame_id == "bracelet_link"
    assert message.rejected_reasons == ["duplicate_stamp", "not_finite"]
    assert message.rejected_counts.tolist() == [3, 1]
    assert message.samples_rejected == 4
    assert message.contradiction_windows.tolist() == []


def test_a_contradiction_survives_the_message(tmp_path: Path) -> None:
    message = written(results(Status.INCONSISTENT)[-1], tmp_path)
    assert message.status == 3
    assert np.isnan(message.lower).all()
    assert message.contradiction_assumption == "torque_relative"
    assert message.contradiction_factor == 1.84
    assert [stamp.nanosec for stamp in message.contradiction_start] == [100_000_000, 900_000_000]
    assert message.change_time.sec == 0


def test_no_stamp_is_zero() -> None:
    assert bounds_fields(replace(results()[-1], t=float("nan")), SUBJECT)["header"]["stamp"] == {"sec": 0, "nanosec": 0}


def test_news_is_a_tighter_bound_another_status_or_another_clash() -> None:
    first, last = results()[30], results()[31]
    same = replace(last, tightened=False)
    assert is_news(last, first)
    assert not is_news(same, first)
    assert is_news(replace(same, status=Status.NOT_EXCITED), first)
    clash = results(Status.INCONSISTENT)[-1]
    again = replace(clash, tightened=False)
    assert not is_news(again, clash)
    assert is_news(replace(again, contradiction=replace(clash.contradiction, payload_changed=True)), clash)


def test_what_is_wrong_with_the_data_is_said_where_they_contradict_the_assumptions() -> None:
    findings = ("effort of 'joint_2' is off", "joint_3 is dead")
    text = bounds_fields(results(Status.INCONSISTENT)[-1], SUBJECT, findings)["message"]
    assert text.endswith("; effort of 'joint_2' is off; joint_3 is dead")
    proven = bounds_fields(results()[-1], SUBJECT, findings)["message"]
    assert proven == f"mass 2.806 kg (2.795 to 2.816 with 95 % confidence); {Status.PROVEN.message}"


@pytest.mark.parametrize("body", ["", "bracelet_link", "end_effector_link"])
def test_the_frame_is_that_of_the_moving_link(body: str) -> None:
    assert moving_link(load_robot("kinova_gen3"), body) == "bracelet_link"
