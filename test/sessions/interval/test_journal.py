# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.interval_result import make_result

from sysid_nodes.results import Contradiction, Status
from sysid_nodes.sessions.interval.journal import Journal


class Lines(list[tuple[str, str]]):
    """A log that remembers level and line."""

    def info(self, message: str) -> None:
        self.append(("info", message))

    def warning(self, message: str) -> None:
        self.append(("warning", message))

    def error(self, message: str) -> None:
        self.append(("error", message))


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def journal(lines: Lines) -> Journal:
    return Journal(lines, lambda: True)


def test_a_change_of_status_is_one_line_with_the_mass(journal: Journal, lines: Lines) -> None:
    proven = make_result(Status.PROVEN)
    for result in (make_result(Status.WAITING), make_result(Status.NOT_EXCITED), proven, proven):
        journal.result(result, ())
    assert [level for level, _ in lines] == ["info", "info"]
    assert lines[1][1].startswith("NOT_EXCITED -> PROVEN at t = ")
    assert f"mass in [{proven.lower[0]:.4g}, {proven.upper[0]:.4g}] kg" in lines[1][1]


def test_a_contradiction_is_one_error_with_the_sentence_and_a_changed_payload_another(
    journal: Journal, lines: Lines
) -> None:
    found = Contradiction((3, 4), np.array([[1.0, 1.1], [2.0, 2.1]]), "torque error", {"torque error": 1.5})
    clash = replace(make_result(Status.INCONSISTENT), contradiction=found)
    changed = replace(clash, contradiction=replace(found, payload_changed=True, change_time=1.5))
    journal.result(make_result(Status.PROVEN), ())
    for result in (clash, clash, changed, changed):
        journal.result(result, ["sign of joint_2"])
    journal.findings(["sign of joint_2"])  # the error has it
    assert [level for level, _ in lines] == ["info", "error", "error"]
    assert lines[1][1].startswith("PROVEN -> INCONSISTENT: no parameters explain the data")
    assert "from 1.000 to 2.100 s contradict the stated torque error" in lines[1][1]
    assert "sign of joint_2" in lines[1][1]
    assert "the payload changed at about t = 1.500 s" in lines[2][1]


def test_bounds_that_are_doubted_are_one_error(journal: Journal, lines: Lines) -> None:
    journal.result(make_result(Status.PROVEN), ())
    for _ in range(2):
        journal.result(make_result(Status.DOUBTFUL), ["98 % are needed"])
    journal.findings(["98 % are needed"])  # the error has it
    assert [level for level, _ in lines] == ["info", "error"]
    assert lines[1][1].startswith("PROVEN -> DOUBTFUL: the data do not look like the calibration")
    assert lines[1][1].endswith("98 % are needed")


def test_a_finding_is_said_when_it_comes_and_when_it_comes_back(journal: Journal, lines: Lines) -> None:
    for findings in ((), ("a",), ("a",), ("b", "a"), (), ("a",)):
        journal.findings(findings)
    assert lines == [("warning", f"suspicious data: {finding}") for finding in ("a", "b", "a")]


def test_after_a_reset_all_is_new(journal: Journal, lines: Lines) -> None:
    for _ in range(2):
        journal.result(make_result(Status.WAITING), ())
        journal.result(make_result(Status.PROVEN), ())
        journal.findings(["a"])
    assert [level for level, _ in lines] == ["info", "warning"] * 2


def test_overload_is_said_when_it_begins(journal: Journal, lines: Lines) -> None:
    for lost in (0, 10, 30, 30, 35, 0, 0):  # a reset counts anew
        journal.overload(lost)
    assert [line.split(",")[0] for _, line in lines] == ["overload: 10 messages lost", "overload: 5 messages lost"]


def test_nothing_is_said_after_a_shutdown(lines: Lines) -> None:
    journal = Journal(lines, lambda: False)
    journal.result(make_result(Status.PROVEN), ())
    journal.result(make_result(Status.INCONSISTENT), ())
    journal.findings(["a"])
    journal.overload(1)
    assert lines == []
