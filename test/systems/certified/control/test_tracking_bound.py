# SPDX-License-Identifier: Apache-2.0
"""The measured tracking bound: the worst of a log and nothing less, with the evidence it rests on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.systems.certified.control.tracking_bound import measure_tracking

T = np.arange(0.0, 2.0, 0.01)


def _log(seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    q = np.sin(np.outer(T, [1.0, 2.0, 3.0]))
    qd = np.cos(np.outer(T, [1.0, 2.0, 3.0])) * [1.0, 2.0, 3.0]
    return q, qd, q + rng.uniform(-0.01, 0.01, q.shape), qd + rng.uniform(-0.1, 0.1, q.shape)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 5.0), st.booleans())
def test_bound_covers_every_sample_and_is_attained_by_one(seed: int, factor: float, wrapped: bool) -> None:
    q, qd, seen, seen_qd = _log(seed)
    q, seen = q + 3.0, seen + 3.0  # across pi
    published = np.mod(seen + np.pi, 2.0 * np.pi) - np.pi if wrapped else seen
    bound = measure_tracking(T, q, qd, published, seen_qd, safety_factor=factor, wraps=wrapped)
    np.testing.assert_allclose(bound.worst_position, np.abs(q - seen).max(axis=0), atol=1e-12)
    np.testing.assert_allclose(bound.position, factor * bound.worst_position)
    np.testing.assert_allclose(bound.velocity, factor * np.abs(qd - seen_qd).max(axis=0))
    rows = np.searchsorted(T, bound.worst_at)
    np.testing.assert_allclose(np.abs(q - seen)[rows, range(3)], bound.worst_position, atol=1e-12)


def test_sensor_errors_are_added() -> None:
    plain, more = (
        measure_tracking(T, *_log(), position_error=e, velocity_error=10.0 * np.asarray(e))
        for e in (0.0, np.array([1e-3, 2e-3, 3e-3]))
    )
    np.testing.assert_allclose(more.position - plain.position, [1e-3, 2e-3, 3e-3])
    np.testing.assert_allclose(more.velocity - plain.velocity, [1e-2, 2e-2, 3e-2])


def test_evidence_is_that_of_the_log() -> None:
    q, *_ = _log()
    bound = measure_tracking(T, *_log())
    assert (bound.samples, bound.duration) == (200, pytest.approx(1.99))
    np.testing.assert_allclose(bound.fastest, [1.0, 2.0, 3.0])
    # Differences over 10 ms of a sine's derivative: the second derivative's peak, less than 1 % below it.
    np.testing.assert_allclose(bound.hardest, [1.0, 4.0, 9.0], rtol=0.01)
    np.testing.assert_array_equal(bound.highest, q.max(axis=0))
    np.testing.assert_array_equal(bound.lowest, q.min(axis=0))
    assert "not proven" in bound.caveat and "200 samples" in bound.caveat


def test_unwrapped_positions_are_not_folded() -> None:
    """A joint that is a turn off is a turn off, unless its reading is known to wrap."""
    q, qd, seen, seen_qd = _log()
    assert (measure_tracking(T, q, qd, seen + 2.0 * np.pi, seen_qd).worst_position > 6.0).all()
    folded = measure_tracking(T, q, qd, seen + 2.0 * np.pi, seen_qd, wraps=[True, False, True]).worst_position
    np.testing.assert_array_equal(folded > 6.0, [False, True, False])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": T[:50]}, "50 times need four arrays of one shape"),
        ({"measured_q": np.zeros((200, 2))}, "one shape"),
        ({"measured_qd": np.full((200, 3), np.nan)}, "not finite"),
        ({"t": T[::-1]}, "times must increase"),
        ({"safety_factor": 0.9}, "safety factor must be at least 1, got 0.9"),
        ({"safety_factor": float("nan")}, "safety factor"),
        ({"position_error": -1.0}, "sensor errors must not be negative"),
        ({"velocity_error": np.nan}, "sensor errors must not be negative"),
    ],
)
def test_bad_logs_are_refused(change: dict[str, object], message: str) -> None:
    q, qd, seen, seen_qd = _log()
    log = {"t": T, "desired_q": q, "desired_qd": qd, "measured_q": seen, "measured_qd": seen_qd, **change}
    with pytest.raises((SamplesError, ConfigError), match=message):
        measure_tracking(**log)  # type: ignore[arg-type]


def test_short_log_is_refused() -> None:
    with pytest.raises(SamplesError, match="99 samples are too few to measure tracking by, 100 are the least"):
        measure_tracking(T[:99], *(array[:99] for array in _log()))
