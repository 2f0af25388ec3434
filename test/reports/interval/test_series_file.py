# SPDX-License-Identifier: Apache-2.0
"""series.npz: torques survive, damage does not pass."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from shared.synthetic_run import torques

from sysid_nodes.exceptions import InputError, SamplesError
from sysid_nodes.reports.interval.series_file import read_series, write_series
from sysid_nodes.sessions.interval.run import TorqueSeries


def test_round_trip(tmp_path: Path) -> None:
    series = torques(200)
    write_series(tmp_path / "series.npz", series)
    back = read_series(tmp_path / "series.npz")
    assert back.joint_names == series.joint_names
    np.testing.assert_array_equal(back.t, series.t)
    # single precision: 2^-24 relative
    for name in ("measured", "predicted", "radius"):
        np.testing.assert_allclose(getattr(back, name), getattr(series, name), rtol=6e-8)


def test_the_radius_is_optional(tmp_path: Path) -> None:
    series = TorqueSeries(("a",), np.arange(3.0), np.zeros((3, 1)), np.zeros((3, 1)))
    write_series(tmp_path / "series.npz", series)
    assert read_series(tmp_path / "series.npz").radius is None


def _npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an archive",
        _npy(),
        _npz(t=np.zeros(3)),
        _npz(joint_names=np.array(["a"]), t=np.zeros(3), measured=np.zeros((2, 1)), predicted=np.zeros((3, 1))),
        _npz(
            joint_names=np.array([{}], dtype=object),
            t=np.zeros(1),
            measured=np.zeros((1, 1)),
            predicted=np.zeros((1, 1)),
        ),
    ],
    ids=["empty", "text", "bare array", "array missing", "shapes", "pickle"],
)  # fmt: skip
def test_damage_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "series.npz"
    file.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(f"{file}: not a series file")):
        read_series(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"series\.npz: no such file"):
        read_series(tmp_path / "series.npz")


def test_shapes_must_belong_together() -> None:
    with pytest.raises(SamplesError, match=re.escape("predicted torque must have shape (3, 2), got (3, 1)")):
        TorqueSeries(("a", "b"), np.arange(3.0), np.zeros((3, 2)), np.zeros((3, 1)))


def test_rms_leaves_out_what_has_no_prediction() -> None:
    predicted = np.array([[0.0, np.nan], [1.0, np.nan], [np.nan, np.nan]])
    series = TorqueSeries(("a", "b"), np.arange(3.0), np.full((3, 2), 2.0), predicted)
    rms = series.rms()
    assert rms[0] == pytest.approx(np.sqrt((2.0**2 + 1.0**2) / 2.0))
    assert np.isnan(rms[1])
