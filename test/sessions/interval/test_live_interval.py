# SPDX-License-Identifier: Apache-2.0
"""What is lost before the session sees it ends its window, in the order of the messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from shared.recorded import problem

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.sessions.interval.health import Monitor
from sysid_nodes.sessions.interval.live import LiveInterval
from sysid_nodes.signals.windows import INCOMPLETE
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig
from sysid_nodes.systems.interval.missing_samples import MISSING

PROBLEM = problem()
CONFIG = IntervalIdentifierConfig(noise=NoiseConfig(torque_interpolation="until"))
CAPACITY = 100


@pytest.fixture
def live() -> Iterator[LiveInterval]:
    made = LiveInterval(
        PROBLEM.robot,
        CONFIG,
        stated=(),
        capacity=CAPACITY,
        convert=lambda message: message,
        monitor=Monitor("/joint_states", lambda message: message.stamp),
        publish=lambda *_: None,
        judged=lambda _: None,
        complain=lambda _: None,
    )
    yield made
    made.stop()


def messages(samples: JointSamples) -> list[RawJointState]:
    rows = zip(samples.t, samples.q, samples.qd, samples.tau, strict=True)
    return [RawJointState(float(t), samples.names, q, qd, tau) for t, q, qd, tau in rows]


def feed(live: LiveInterval, stream: list[RawJointState]) -> None:
    for message in stream:
        live.put(message)
    while len(live._worker):  # each call lets one step go by
        live._worker.call(lambda: None, 60.0)
    live._worker.call(lambda: None, 60.0)


@pytest.mark.parametrize("lose", [lambda live: live.lose(1), LiveInterval.clear], ids=["on the way", "cleared"])
def test_a_loss_ends_the_window_of_the_messages_around_it(
    live: LiveInterval, lose: Callable[[LiveInterval], None]
) -> None:
    stream = messages(PROBLEM.samples(10.0 + 0.005 * np.arange(61)))
    feed(live, stream[:30])
    lose(live)
    feed(live, stream[30:])
    assert live.run().result.samples_rejected == {MISSING: 9, INCOMPLETE: 10}
    assert live.run().result.samples_used == 42


def test_overload_is_a_loss_too(live: LiveInterval) -> None:
    first, *others = messages(PROBLEM.samples(10.0 + 0.005 * np.arange(CAPACITY + 2)))
    live._worker.stop()  # nothing is taken from the queue
    for message in (first, *others[:-1]):
        live.put(message)
    assert [lost for _, lost in live._worker._items] == [True]
    live.put(others[-1])
    assert [lost for _, lost in live._worker._items] == [True, False]


def test_messages_that_wait_do_not_wait_for_the_data_to_be_judged(
    live: LiveInterval, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Judged after each one, they would be the later the slower the machine is."""
    judged: list[int] = []
    monkeypatch.setattr("sysid_nodes.sessions.interval.live._LAGGING", 7)
    monkeypatch.setattr(live, "_judged", lambda _: judged.append(len(live._worker)))
    live._worker.stop()  # steps are ours
    for message in messages(PROBLEM.samples(10.0 + 0.005 * np.arange(12))):
        live.put(message)
    while len(live._worker):
        live.report(active=True)
        live._worker._step(live._worker._items.popleft())
    assert judged == [5, 0]
