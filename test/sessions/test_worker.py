# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sysid_nodes.exceptions import SysidError
from sysid_nodes.sessions import worker as module
from sysid_nodes.sessions.worker import LiveWorker, Worker

LONG = 30.0  # [s]; never waited for unless the worker is broken


class Gate:
    """A step that waits, when it meets the item 'stop', until it is opened."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.last = threading.Event()

    def __call__(self, item: object) -> None:
        if item == "stop":
            self.reached.set()
            assert self.opened.wait(LONG)
        self.seen.append(item)
        if item == "last":
            self.last.set()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def worker(gate: Gate) -> Iterator[Worker[object]]:
    made: Worker[object] = Worker(gate, capacity=5)
    made.put("stop")
    assert gate.reached.wait(LONG)
    yield made
    gate.opened.set()
    made.stop()


def test_items_come_in_order(worker: Worker[object], gate: Gate) -> None:
    for item in range(4):
        worker.put(item)
    worker.put("last")
    gate.opened.set()
    assert gate.last.wait(LONG)
    assert gate.seen == ["stop", 0, 1, 2, 3, "last"]


def test_overload_empties_the_queue_once_and_is_counted(worker: Worker[object]) -> None:
    for item in range(6):
        worker.put(item)
    assert worker.overflowed == 5
    assert len(worker) == 1


def test_a_call_overtakes_what_waits_and_returns_its_value(worker: Worker[object], gate: Gate) -> None:
    worker.put("waiting")
    threading.Timer(0.05, gate.opened.set).start()
    assert worker.call(lambda: list(gate.seen), LONG) == ["stop"]


def test_a_call_raises_what_its_function_raises(worker: Worker[object], gate: Gate) -> None:
    def fail() -> None:
        raise SysidError("refused")

    gate.opened.set()
    with pytest.raises(SysidError, match="refused"):
        worker.call(fail, LONG)


def test_a_busy_thread_is_reported_and_the_late_call_never_runs(worker: Worker[object], gate: Gate) -> None:
    ran: list[int] = []
    with pytest.raises(SysidError, match=r"busy for 0\.01 s"):
        worker.call(lambda: ran.append(1), 0.01)
    gate.opened.set()
    worker.call(lambda: None, LONG)
    assert not ran


def test_stop_leaves_what_waits(worker: Worker[object], gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE", LONG)  # on a busy machine the timer is late
    worker.put("never")
    threading.Timer(0.05, gate.opened.set).start()
    worker.stop()
    assert gate.seen == ["stop"]


def test_a_step_that_takes_long_is_left_when_the_thread_is_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    reached, ended = threading.Event(), threading.Event()

    def step(_: object) -> None:
        reached.set()
        try:
            while not ended.wait(0.001):
                pass
        finally:
            ended.set()

    made: Worker[object] = LiveWorker(step, pytest.fail, capacity=5)
    made.put("long")
    assert reached.wait(LONG)
    monkeypatch.setattr(module, "_GRACE", 0.01)
    made.stop()
    assert ended.is_set() and not made.fault


def test_a_step_that_does_not_end_is_not_waited_for_for_ever(
    worker: Worker[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GRACE", 0.01)
    monkeypatch.setattr(module, "_ENDING", 0.01)
    with pytest.raises(SysidError, match=r"not ended within 0\.01 s"):
        worker.stop()
    monkeypatch.undo()


def test_a_live_worker_survives_a_step_that_fails_and_complains_once() -> None:
    complaints: list[str] = []
    seen: list[int] = []
    last = threading.Event()

    def step(item: int) -> None:
        if item < 2:
            raise ValueError(f"no {item}")
        seen.append(item)
        last.set()

    made = LiveWorker(step, complaints.append, capacity=5)
    try:
        for item in range(3):
            made.put(item)
        assert last.wait(LONG)
        assert (seen, complaints, made.fault) == ([2], ["ValueError: no 0"], "ValueError: no 1")
        made.start_over(seen.clear, LONG)
        assert (seen, made.fault, made.overflowed) == ([], "", 0)
    finally:
        made.stop()
