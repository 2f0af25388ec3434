# SPDX-License-Identifier: Apache-2.0
"""What certificates say: verdicts, the worst margin, and what a following trajectory may count on."""

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.results.certificate import Envelope, Margins, Verdict

GOOD = Margins(np.ones(2), np.full(2, np.inf), np.ones(2), 0.1, np.inf)
ENVELOPE = Envelope(
    edges=np.array([0.0, 1.0, 2.0, np.inf]),
    level=np.array([3.0, 1.0, 2.0]),
    position=np.array([0.3, 0.1, 0.2]),
    position_error=np.zeros((3, 2)),
    reference_error=np.zeros((3, 2)),
    acceleration=np.zeros((3, 2)),
    speed=np.array([5.0, 9.0, 7.0]),
    jerk=np.array([[1.0, 4.0], [2.0, 1.0], [0.0, 0.0]]),
)


def test_every_verdict_has_words_of_its_own():
    assert len({verdict.message for verdict in Verdict}) == len(Verdict)


def test_nothing_negative_is_certified():
    assert GOOD.worst() == (Verdict.CERTIFIED, 0.0)


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"torque": np.array([1.0, -1e-9])}, Verdict.TORQUE),
        ({"torque": np.array([1.0, np.nan])}, Verdict.TORQUE),
        ({"position": np.array([-1.0, 1.0])}, Verdict.POSITION),
        ({"velocity": np.array([np.nan, 1.0])}, Verdict.VELOCITY),
        ({"obstacle": -1e-6}, Verdict.OBSTACLE),
        ({"obstacle": float("nan")}, Verdict.OBSTACLE),
        ({"self_distance": -np.inf}, Verdict.SELF_COLLISION),
    ],
)
def test_one_bad_margin_refuses(change, verdict):
    assert replace(GOOD, **change).worst()[0] is verdict


@pytest.mark.parametrize(("t", "index"), [(-1.0, 0), (0.0, 0), (0.99, 0), (1.0, 1), (2.0, 2), (1e6, 2)])
def test_a_time_belongs_to_one_interval(t, index):
    assert ENVELOPE.interval(t) == index


def test_an_entry_looks_into_the_interval_after():
    """Torques of the former trajectory act for a moment after it ends, perhaps past an edge."""
    entry = ENVELOPE.entry(0.5)
    assert (entry.level, entry.position, entry.speed) == (3.0, 0.3, 9.0)
    assert (entry.jerk == [2.0, 4.0]).all()
    last = ENVELOPE.entry(50.0)
    assert (last.level, last.speed) == (2.0, 7.0) and not last.jerk.any()
