# SPDX-License-Identifier: Apache-2.0
"""A bounded queue and the one thread that empties it.

The subscription's callback only appends, so that the middleware's queue never overflows while a window is solved;
everything that touches the identifier runs on this thread, in order, so that nothing needs a lock.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from typing import Any, Generic, TypeVar

from sysid_nodes.exceptions import SysidError

Item = TypeVar("Item")
T = TypeVar("T")

_GRACE = 0.2  # in which a step in progress may end by itself [s]
_ENDING = 60.0  # longest wait for one that was told to [s]


class _Ended(BaseException):
    """Comes between two lines of a step that is to end; no step catches it, for it is no Exception."""


class Worker(Generic[Item]):
    """Calls step on every item put, in order, on a thread of its own.

    Args:
        step: takes an item; must not raise.
        capacity: items that may wait. One more empties the queue: what is lost is one long gap instead of many
            short ones, each of which would cost a window.
        period: the thread looks for items this often [s]. Waking it for each of a thousand items a second would
            cost more than the items' work.

    Attributes:
        overflowed: items lost to overload.
    """

    def __init__(self, step: Callable[[Item], None], *, capacity: int, period: float = 0.01) -> None:
        self._step = step
        self._capacity = capacity
        self._period = period
        self._items: deque[Item] = deque()
        self._calls: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self.overflowed = 0
        self._thread = threading.Thread(target=self._run, name="identification", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item) -> None:
        """Queues an item; never blocks."""
        if len(self._items) >= self._capacity:
            self.overflowed += self.clear()
        self._items.append(item)

    def clear(self) -> int:
        """Forgets the waiting items and returns how many they were."""
        count = 0
        try:
            while True:
                self._items.popleft()
                count += 1
        except IndexError:
            return count

    def call(self, function: Callable[[], T], timeout: float) -> T:
        """Runs function on the thread before the next item and returns what it returns, or raises what it raises.

        Raises:
            SysidError: the thread was busy with one step for longer than timeout [s].
        """
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function())
            except Exception as error:
                future.set_exception(error)

        self._calls.append(run)
        self._wake.set()
        try:
            return future.result(timeout)
        except FutureTimeoutError:  # another class before Python 3.11
            future.cancel()
            raise SysidError(f"the identifier has been busy for {timeout:g} s") from None

    def stop(self) -> None:
        """Ends the thread; items that wait are left, and so is a step in progress that takes longer than a moment.

        Launch waits 5 s for a process, and an identification by rollouts may take a minute.

        Raises:
            SysidError: the step does not end.
        """
        self._stopping = True
        self._wake.set()
        self._thread.join(_GRACE)
        if self._thread.is_alive():
            thread = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_Ended))
            self._thread.join(_ENDING)
        if self._thread.is_alive():
            raise SysidError(f"a step has not ended within {_ENDING:g} s of the stop")

    def _run(self) -> None:
        with suppress(_Ended):
            while not self._stopping:
                self._wake.wait(self._period)
                self._wake.clear()
                self._work()

    def _work(self) -> None:
        while not self._stopping:
            if self._calls:
                self._calls.popleft()()
                continue
            try:
                item = self._items.popleft()
            except IndexError:
                return
            self._step(item)


class LiveWorker(Worker[Item]):
    """A worker whose step may raise: whatever an item holds, the next one may be fine.

    Args:
        step: takes an item.
        complain: called on the thread with the first failure, in one line.
        options: as for a Worker.

    Attributes:
        fault: the last failure in one line, or empty.
    """

    def __init__(self, step: Callable[[Item], None], complain: Callable[[str], None], **options: Any) -> None:
        self.fault = ""
        self._attempted, self._complain = step, complain
        super().__init__(self._attempt, **options)

    def start_over(self, function: Callable[[], object], timeout: float) -> None:
        """Forgets the waiting items, calls function on the thread, and forgets overload and failure.

        Raises:
            SysidError: the thread was busy with one step for longer than timeout [s].
        """

        def run() -> None:
            self.clear()
            function()

        self.call(run, timeout)
        self.overflowed, self.fault = 0, ""

    def _attempt(self, item: Item) -> None:
        try:
            self._attempted(item)
        except Exception as error:
            first, self.fault = not self.fault, f"{type(error).__name__}: {error}"
            if first:
                self._complain(self.fault)
