# SPDX-License-Identifier: Apache-2.0
"""What all live demos share: patience, the hidden truth, processor shares; no process is started here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sysid_nodes.cli.demo import live_run
from sysid_nodes.cli.demo.live_run import STARTING, Arrivals, ProcessorShares, draw_seed, hidden_truth, output_and_work
from sysid_nodes.cli.demo.live_watch import LiveWatch
from sysid_nodes.cli.demo.machine import Machine
from sysid_nodes.exceptions import OverdueError


class Clock:
    """A monotonic clock that goes on by a step with every look."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self._step = 0.0, step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


class FakeNodes:
    """Writes a file at the second look, and computes half of the time."""

    def __init__(self, file: Path | None = None) -> None:
        self._file, self._looks = file, 0
        self.spent = 0.0

    def read(self, _: float) -> Iterator[Mapping[str, Any]]:
        self._looks += 1
        if self._file is not None and self._looks == 2:
            self._file.write_text(json.dumps({"parameters": [1.0]}), encoding="utf-8")
        return iter(())

    def processor_time(self) -> dict[str, float]:
        return {"robot": self.spent}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(live_run.time, "monotonic", made)
    return made


def test_nothing_at_all_is_given_up(clock: Clock) -> None:
    arrivals = Arrivals("reading")
    arrivals.check(0, clock.now + STARTING - 1.0)
    with pytest.raises(OverdueError, match="no reading arrived within 240 s"):
        arrivals.check(0, clock.now + STARTING + 1.0)


def test_a_stall_is_given_up_and_news_are_not(clock: Clock) -> None:
    arrivals = Arrivals("joint state")
    for count in range(1, 5):
        arrivals.check(count, 59.0 * count)
    with pytest.raises(OverdueError, match="nothing has arrived for 60 s, after 4 joint states"):
        arrivals.check(4, 59.0 * 4 + 61.0)


def test_the_truth_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "truth.json"
    assert hidden_truth(FakeNodes(file), file) == {"parameters": [1.0]}  # type: ignore[arg-type]


def test_a_robot_that_does_not_start_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run.time, "monotonic", Clock(step=10.0))
    with pytest.raises(OverdueError, match="the simulated robot did not start within 240 s"):
        hidden_truth(FakeNodes(), tmp_path / "never.json")  # type: ignore[arg-type]


def test_shares_are_since_the_first_look(tmp_path: Path) -> None:
    nodes, books = FakeNodes(), tmp_path / "stat"
    core = min(os.sched_getaffinity(0))
    books.write_text(f"cpu{core} 0 0 0 0 0 0 0 0\n", encoding="utf-8")
    machine = Machine(books)
    books.write_text(f"cpu{core} 9000 0 0 0 0 0 0 0\n", encoding="utf-8")
    nodes.spent = 7.0
    usage = ProcessorShares(nodes, machine)  # type: ignore[arg-type]
    usage.look(100.0)
    assert (usage.since, usage.shares) == (100.0, {})
    nodes.spent = 9.0
    usage.look(104.0)
    assert usage.shares["robot"] == 0.5
    assert "terminal" in usage.shares
    books.write_text(f"cpu{core} 9010 0 0 90 0 0 0 0\n", encoding="utf-8")
    assert usage.end() == usage.shares
    assert machine.motion.busy == pytest.approx(0.1)


def test_the_working_folder_is_gone_in_the_end(tmp_path: Path) -> None:
    with output_and_work(tmp_path / "out") as (folder, work):
        (folder / "result.json").write_text("{}", encoding="utf-8")
        (work / "log").write_text("", encoding="utf-8")
    assert [item.name for item in (tmp_path / "out").iterdir()] == ["result.json"]


def test_a_watch_keeps_the_newest() -> None:
    watch = LiveWatch()
    assert (watch.recorded, watch._number("a: b", "x [s]"), watch._text("a: b", "x [s]")) == (0, 0.0, "")
    watch.take({"count": 3, "diagnostics": {"a: b": {"x [s]": "0.5"}}})
    assert (watch.recorded, watch._number("a: b", "x [s]")) == (3, 0.5)
    watch.take({"recorded": 4})
    assert watch.recorded == 4


def test_a_seed_that_is_asked_for_is_taken() -> None:
    assert draw_seed(4) == 4
    assert 0 <= draw_seed(None) < 2**24
