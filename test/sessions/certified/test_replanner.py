# SPDX-License-Identifier: Apache-2.0
"""When a planning step begins; the planning, which has tests of its own, is stood in for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.sessions.certified.replanner import Replanner
from sysid_nodes.sessions.certified.state import Seen
from sysid_nodes.systems.certified.control.output import Mode

SEEN = Seen(Mode.TRACKING, "one")


class Bench:
    """A planning whose steps end as they are told to, on a clock of its own."""

    def __init__(self) -> None:
        self.time, self.fails, self.raises = 50.0, False, False
        self.calls: list[tuple[Seen, int, Any]] = []
        self.planning: Any = SimpleNamespace(
            failed=0, message="", timing=SimpleNamespace(rate=1.0), step=self._step, fail=self._fail
        )
        self.replanner = Replanner(self.planning, 0.3, lambda: self.time)

    def _fail(self, message: str) -> None:
        self.planning.failed, self.planning.message = self.planning.failed + 1, message

    def _step(self, seen: Seen, now: Any, posture: Any) -> str | None:
        self.calls.append((seen, now(), posture))
        if self.raises:
            raise InputError("no model fits")
        self.planning.failed = self.planning.failed + 1 if self.fails else 0
        return None if self.fails else "planned"


def test_nothing_is_due_before_the_controller_was_heard_of() -> None:
    bench = Bench()
    assert bench.replanner.due() is None
    bench.replanner.take_status(SEEN, 0)
    assert bench.replanner.due() is SEEN
    assert bench.replanner.now() == 0, "no stamp yet"


@pytest.mark.parametrize("raises", [False, True])
def test_after_a_step_that_certified_nothing_there_is_a_pause(raises: bool) -> None:
    bench = Bench()
    bench.replanner.take_status(SEEN, 10**9)
    bench.fails, bench.raises = not raises, raises
    assert bench.replanner.step(SEEN, None) is None
    assert bench.planning.failed == 1
    assert bench.planning.message == ("no model fits" if raises else "")
    assert bench.replanner.due() is None
    bench.time += 0.29
    assert bench.replanner.due() is None
    bench.time += 0.02
    assert bench.replanner.due() is SEEN


def test_other_obstacles_end_the_pause() -> None:
    bench = Bench()
    bench.replanner.take_status(SEEN, 10**9)
    bench.replanner.fail("broke off")
    assert (bench.planning.failed, bench.planning.message) == (1, "broke off")
    assert bench.replanner.due() is None
    bench.replanner.hurry()
    assert bench.replanner.due() is SEEN


def test_steps_run_at_the_robot_s_pace() -> None:
    """Half a second of the robot's in one of the machine's."""
    bench = Bench()
    for k in range(20):
        bench.time = 50.0 + 0.1 * k
        bench.replanner.take_status(SEEN, 10**9 + k * 50_000_000)
    bench.time += 0.1
    assert bench.replanner.step(SEEN, None) == "planned"
    assert bench.planning.timing.rate == pytest.approx(0.5)
    assert bench.calls[-1][1] == pytest.approx(10**9 + 20 * 50_000_000, abs=10)
