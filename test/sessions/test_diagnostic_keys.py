# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from sysid_nodes.sessions.diagnostic_keys import OVERLOAD, WAITING, Backlog, not_used, received_on


def report(received: int, waiting: int) -> dict[str, str]:
    return {received_on("/joint_states"): str(received), WAITING: str(waiting), OVERLOAD: "0"}


def test_keys_say_what_for_and_of_which_stream() -> None:
    assert not_used("no stamp") == "not used: no stamp"
    assert not_used("not finite", "gyroscope") == "not used of gyroscope: not finite"


@pytest.mark.parametrize(
    ("reports", "done"),
    [
        ([], False),
        ([report(5, 0)], False),
        ([report(5, 0), report(5, 0)], True),
        ([report(4, 0), report(5, 0)], False),  # more came
        ([report(5, 1), report(5, 0)], False),
        ([report(5, 2), report(5, 2)], False),  # busy with one that takes long
        ([{WAITING: "0"}, {WAITING: "0"}], False),  # tells nothing of what it received
        ([{received_on("/a"): "1"}] * 2, False),
    ],
)
def test_a_node_is_done_when_nothing_comes_and_nothing_waits(reports: list[dict[str, str]], done: bool) -> None:
    backlog = Backlog()
    for values in reports:
        backlog.hear(values)
    assert backlog.done is done
    backlog.clear()
    assert not backlog.done
