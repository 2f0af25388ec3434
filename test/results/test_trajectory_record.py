# SPDX-License-Identifier: Apache-2.0
"""A trajectory's record: what its id covers, and what it says of bounds and times."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from shared.certified_ride import PRIOR, make_record

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.results.certificate import Certificate, Margins, Verdict
from sysid_nodes.results.trajectory_record import TrajectoryRecord, record_trajectory, takeover_ns

RECORD = make_record()
FIELDS = [item.name for item in dataclasses.fields(TrajectoryRecord) if item.name != "id"]


def _other(value: object) -> object:
    if isinstance(value, np.ndarray):
        other = value.copy()
        other.flat[-1] = np.nextafter(other.flat[-1], np.inf)
        return other
    if isinstance(value, tuple):
        return value[::-1]
    if isinstance(value, str):
        return value + " "
    assert isinstance(value, (int, float))
    return value + 1 if isinstance(value, int) else float(np.nextafter(value, np.inf))


def test_id_is_the_digest_and_survives_a_copy() -> None:
    assert RECORD.id == RECORD.digest() != ""
    copied = replace(RECORD, q0=RECORD.q0.tolist(), joint_names=list(RECORD.joint_names))
    assert copied.digest() == RECORD.id


@pytest.mark.parametrize("name", FIELDS)
def test_id_covers_every_field_to_the_last_bit(name: str) -> None:
    assert replace(RECORD, **{name: _other(getattr(RECORD, name))}).digest() != RECORD.id


def test_neighbouring_text_fields_cannot_be_shifted_into_one_another() -> None:
    shifted = replace(RECORD, config_id=RECORD.config_id + RECORD.scene_id, scene_id="")
    assert shifted.digest() != RECORD.id


def test_start_is_the_stream_s_own_float_of_the_stamp() -> None:
    record = replace(RECORD, start_ns=1_764_000_000_123_456_789)
    assert record.start == 1_764_000_000 + 1e-9 * 123_456_789


def test_takeover_is_exact_to_half_a_nanosecond() -> None:
    late = replace(RECORD, start_ns=1_764_000_000_123_456_789)
    assert takeover_ns(late, 1.5) == late.start_ns + 1_500_000_000
    follower = make_record(previous=RECORD, previous_time=1.25)
    assert follower.start_ns == RECORD.start_ns + 1_250_000_000
    assert (follower.previous_id, follower.previous_time) == (RECORD.id, 1.25)


def test_holds_bounds_inside_and_its_own() -> None:
    middle = PRIOR.centre
    assert RECORD.holds(PRIOR)
    assert RECORD.holds(Bounds(middle, middle))
    for side in (-1.0, 1.0):
        ends = [PRIOR.lower.copy(), PRIOR.upper.copy()]
        ends[int(side > 0)][3] += side * 1e-12
        assert not RECORD.holds(Bounds(*ends))
    assert not RECORD.holds(Bounds(np.zeros(3), np.ones(3)))


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        RECORD.k[0] = 0.0


def test_a_refusal_is_recorded_without_an_envelope() -> None:
    nothing = np.full(7, -np.inf)
    margins = Margins(nothing, nothing, nothing, -np.inf, -np.inf)
    refused = Certificate(Verdict.TRACKING, margins, "errors", np.zeros(7), np.zeros(7), None, 4)
    record = record_trajectory(
        RECORD, refused, start_ns=5, joint_names=RECORD.joint_names, bounds=PRIOR, bounds_window=3,
        nominal=RECORD.nominal, start_rate=0.0, body="b", target="body", config_id="c", scene_id="s",
    )  # fmt: skip
    assert record.verdict == Verdict.TRACKING
    assert record.edges.size == record.error_energy.size == record.error_norm.size == 0
    assert record.digest() == record.id
    assert (record.margins == -np.inf).all()
