# SPDX-License-Identifier: Apache-2.0
"""JointStream: every accepted sample is right, every other message is counted with its reason."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals import JointStream

NAMES = ("a", "b", "c")


def stream(**options):
    return JointStream(NAMES, [True, False, True], **options)


def push(s, t, *, names=NAMES, q=(0.1, 0.2, 0.3), qd=(0.0, 0.0, 0.0), tau=(1.0, 2.0, 3.0)):
    return s.push(names, t, q, qd, tau)


def wrap(angle):
    return (angle + math.pi) % (2 * math.pi) - math.pi


def test_maps_by_name_and_ignores_extra_joints():
    sample = push(stream(), 1.0, names=["c", "gripper", "a", "b"], q=[3, 9, 1, 2], qd=[6, 9, 4, 5], tau=[9, 0, 7, 8])
    assert sample.t == 1.0
    np.testing.assert_array_equal([sample.q, sample.qd, sample.tau], [[1, 2, 3], [4, 5, 6], [7, 8, 9]])


def test_accepted_arrays_are_copies():
    q = np.array([0.1, 0.2, 0.3])
    sample = push(stream(), 1.0, q=q)
    q[:] = 9.0
    np.testing.assert_array_equal(sample.q, [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"names": ("a", "b", "x")}, "missing joint"),
        ({"names": (), "q": (), "qd": (), "tau": ()}, "missing joint"),
        (
            {"names": ("a", "b", "c", "c"), "q": (0,) * 4, "qd": (0,) * 4, "tau": (0,) * 4},
            "repeated joint",
        ),
        ({"q": ()}, "missing position"),
        ({"qd": ()}, "missing velocity"),
        ({"tau": ()}, "missing effort"),
        ({"q": (0.0, 0.0)}, "wrong length"),
        ({"qd": (0.0, 0.0, 0.0, 0.0)}, "wrong length"),
        ({"tau": (0.0,)}, "wrong length"),
        ({"q": (0.0, math.nan, 0.0)}, "not finite"),
        ({"qd": (math.inf, 0.0, 0.0)}, "not finite"),
        ({"tau": (math.inf, -math.inf, 0.0)}, "not finite"),
        ({"qd": (0.0, 0.0, 1e300)}, "absurd value"),
        ({"tau": ("x", 0.0, 0.0)}, "not a number"),
        ({"t": 1.0}, "duplicate stamp"),
        ({"t": 0.9}, "backward stamp"),
        ({"t": 0.0}, "absurd stamp"),
        ({"t": -3.0}, "absurd stamp"),
        ({"t": math.nan}, "absurd stamp"),
        ({"t": math.inf}, "absurd stamp"),
        ({"t": 4000.0}, "absurd stamp"),
    ],
)
def test_rejects_and_counts(change, reason):
    s = stream()
    assert push(s, 1.0) is not None
    assert push(s, **({"t": 1.001} | change)) is None
    assert s.rejected == {reason: 1}
    assert push(s, 1.002) is not None
    assert (s.accepted, s.rejected, s.restarts) == (2, {reason: 1}, {})


def test_an_old_reading_under_a_new_stamp_is_no_news():
    """A driver that publishes four times what it reads: positions would stand still and then jump, at full speed."""
    s, moving = stream(only_news=True), {"qd": (0.5, 0.0, 0.0)}
    states = [{"q": (0.1 + 0.004 * (k // 4), 0.2, 0.3)} for k in range(12)]
    taken = [push(s, 1.0 + 0.002 * k, **state, **moving) for k, state in enumerate(states)]
    assert [sample is not None for sample in taken] == [True, False, False, False] * 3
    assert s.rejected == {"old reading under a new stamp": 9}


def test_readings_that_stay_the_same_at_rest_are_taken():
    s = stream(only_news=True)
    assert all(push(s, 1.0 + 0.002 * k) is not None for k in range(5))


def test_an_old_reading_is_known_after_its_turns_are_undone():
    s = stream(only_news=True)
    push(s, 1.0, q=(3.1, 0.0, 0.0), qd=(10.0, 0.0, 0.0))
    assert push(s, 1.01, q=(-3.1, 0.0, 0.0), qd=(10.0, 0.0, 0.0)) is not None
    assert push(s, 1.02, q=(-3.1, 0.0, 0.0), qd=(10.0, 0.0, 0.0)) is None


def test_an_ignored_joint_may_be_anything():
    sample = push(stream(), 1.0, names=(*NAMES, "x"), q=(1, 2, 3, math.nan), qd=(0,) * 4, tau=(0,) * 4)
    assert sample is not None


@settings(max_examples=50, deadline=None)
@given(
    velocity=st.floats(-20.0, 20.0),
    start=st.floats(-math.pi, math.pi),
    steps=st.lists(st.floats(1e-3, 0.02), min_size=1, max_size=40),
)
def test_unwraps_constant_speed_exactly(velocity, start, steps):
    s = stream()
    t = np.cumsum([1.0, *steps])
    truth = start + velocity * (t - t[0])
    out = [
        push(s, ti, q=(wrap(angle), angle, wrap(angle)), qd=(velocity,) * 3).q
        for ti, angle in zip(t, truth, strict=True)
    ]
    expected = truth - truth[0] + wrap(truth[0])
    np.testing.assert_allclose(np.array(out)[:, 0], expected, atol=1e-9)
    np.testing.assert_array_equal(np.array(out)[:, 1], truth)


def test_velocity_resolves_more_than_half_a_turn_over_a_pause():
    s = stream()
    push(s, 1.0, q=(3.0, 0, 0), qd=(2.0, 0, 0))
    sample = push(s, 3.0, q=(wrap(7.0), 0, 0), qd=(2.0, 0, 0))
    assert sample.q[0] == pytest.approx(7.0)
    assert (s.gaps, s.longest_gap) == (1, 2.0)


def test_an_ambiguous_turn_is_dropped_within_the_gap_and_restarts_after_it():
    s = stream()
    push(s, 1.0, q=(0.0, 0, 0))
    assert push(s, 1.01, q=(3.0, 0, 0)) is None
    assert s.rejected == {"position jump": 1}
    sample = push(s, 1.1, q=(3.0, 0, 0))
    assert sample.q[0] == 3.0
    assert s.restarts == {"turn unknown after a gap": 1}


def test_joint_that_does_not_wrap_may_move_by_many_turns():
    s = stream()
    push(s, 1.0, q=(0.0, 0.0, 0.0))
    assert push(s, 1.001, q=(0.0, 40.0, 0.0)).q[1] == 40.0


@pytest.mark.parametrize(
    ("begin", "reason", "rejection"),
    [(5.0, "clock went back", "backward stamp"), (1e6, "clock jumped ahead", "absurd stamp")],
)
def test_another_clock_that_persists_restarts_the_stream(begin, reason, rejection):
    s = stream(restart_after=4)
    push(s, 100.0)
    taken = [push(s, begin + 0.001 * k) is not None for k in range(6)]
    assert taken == [False, False, False, True, True, True]
    assert s.restarts == {reason: 1}
    assert s.rejected == {rejection: 3}


def test_an_interleaved_second_clock_never_restarts():
    s = stream(restart_after=3)
    for k in range(50):
        assert push(s, 100.0 + 0.001 * k) is not None
        assert push(s, 5.0 + 0.001 * k) is None
    assert s.restarts == {}
    assert s.rejected == {"backward stamp": 50}


def test_a_gap_is_counted_with_its_length():
    s = stream()
    for k in range(200):
        push(s, 1.0 + 0.002 * k + (5.0 if k > 100 else 0.0))
    assert s.gaps == 1
    assert s.longest_gap == pytest.approx(5.002)


def test_reset_forgets():
    s = stream()
    push(s, 9.0)
    push(s, 9.0)
    s.reset()
    assert (s.accepted, s.rejected) == (0, {})
    assert push(s, 1.0) is not None


@pytest.mark.parametrize(
    ("names", "wraps", "message"),
    [((), (), "distinct joint names"), (("a", "a"), (0, 0), "distinct joint names"), (("a",), (0, 0), "1 entries")],
)
def test_wrong_construction(names, wraps, message):
    with pytest.raises(ConfigError, match=message):
        JointStream(names, wraps)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_never_raises_and_counts_everything(data):
    s = stream(restart_after=3)
    number = st.floats(allow_nan=True, allow_infinity=True)
    values = st.lists(number, max_size=4)
    count = data.draw(st.integers(0, 12))
    last = 0.0
    for _ in range(count):
        names = data.draw(st.one_of(st.just(NAMES), st.lists(st.sampled_from("abcx"), max_size=4)))
        sample = s.push(names, data.draw(number), *(data.draw(values) for _ in range(3)))
        if sample is not None:
            assert np.isfinite([sample.q, sample.qd, sample.tau]).all()
            assert sample.t > last or s.restarts
            last = sample.t
    assert s.accepted + sum(s.rejected.values()) == count
