# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sysid_nodes.data import JointSamples
from sysid_nodes.exceptions import SamplesError

NAMES = ("shoulder", "elbow")


def fields(**changes: Any) -> dict[str, Any]:
    return {"names": NAMES, "t": np.arange(4.0), "q": np.zeros((4, 2)), "qd": np.zeros((4, 2)),
            "tau": np.zeros((4, 2))} | changes  # fmt: skip


def spoilt(value: float) -> np.ndarray:
    array = np.zeros((4, 2))
    array[2, 1] = value
    return array


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t": np.zeros((4, 1))}, r"one-dimensional, got shape \(4, 1\)"),
        ({"t": np.array([0.0, 1.0, np.nan, 3.0])}, "a stamp is not finite"),
        ({"t": np.array([0.0, 1.0, 1.0, 3.0])}, "stamps must increase; they do not after sample 1"),
        ({"t": np.array([0.0, 1.0, 2.0, 1.5])}, "stamps must increase; they do not after sample 2"),
        ({"q": np.zeros((4, 3))}, r"q must have shape \(4, 2\), got \(4, 3\)"),
        ({"tau": np.zeros(4)}, r"tau must have shape \(4, 2\), got \(4,\)"),
        ({"q": spoilt(np.nan)}, "q of joint 'elbow' is not finite at sample 2"),
        ({"qd": spoilt(np.inf)}, "qd of joint 'elbow' is not finite at sample 2"),
    ],
)
def test_bad_samples_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SamplesError, match=message):
        JointSamples(**fields(**changes))


def test_samples_are_read_only_and_leave_the_callers_arrays_alone() -> None:
    given = fields()
    samples = JointSamples(**given)
    with pytest.raises(ValueError, match="read-only"):
        samples.q[0, 0] = 1.0
    assert given["t"].flags.writeable and given["q"].flags.writeable


def test_a_slice_shares_memory() -> None:
    samples = JointSamples(**fields())
    part = samples.slice(1, 3)
    assert len(part) == 2 and part.t.tolist() == [1.0, 2.0]
    assert np.shares_memory(part.q, samples.q)


def test_no_samples_are_samples() -> None:
    empty = np.zeros((0, 2))
    assert len(JointSamples(NAMES, np.zeros(0), empty, empty, empty)) == 0
