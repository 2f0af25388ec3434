# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.joint_table import joint_samples
from sysid_nodes.logs.table import read_table

GOOD = {"t": np.array([0.0, 0.1, 0.2]), **{name: np.arange(6.0).reshape(3, 2) for name in ("q", "qd", "tau")}}


def test_an_archive_is_a_log_of_torques(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **GOOD)
    samples = joint_samples(read_table(tmp_path / "a.npz", ("one", "two")))
    assert samples.names == ("one", "two")
    np.testing.assert_array_equal(samples.tau, GOOD["tau"])


def test_columns_of_a_text_file_are_found_by_joint(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,effort_b,q_b,qd_b\n0.0,1.0,2.0,3.0\n0.5,4.0,5.0,6.0\n", encoding="utf-8")
    samples = joint_samples(read_table(tmp_path / "a.csv"))
    assert samples.names == ("b",)
    np.testing.assert_array_equal(np.hstack([samples.q, samples.qd, samples.tau]), [[2.0, 3.0, 1.0], [5.0, 6.0, 4.0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [({"qd": np.zeros((2, 2))}, "qd must have shape"), ({"t": np.zeros(3)}, "stamps must increase")],
)
def test_an_archive_that_is_no_log_is_refused(change: dict[str, np.ndarray], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **(GOOD | change))
    with pytest.raises(LogError, match=message):
        joint_samples(read_table(tmp_path / "a.npz", ("one", "two")))


def test_a_column_of_one_joint_only_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,q_a,q_b,effort_a\n0,1,1,1\n", encoding="utf-8")
    with pytest.raises(LogError, match="has no column 'effort_b'"):
        read_table(tmp_path / "a.csv")


def test_velocities_that_are_not_there_are_central_differences(tmp_path: Path) -> None:
    """Of a parabola they are exact, at uneven stamps too, but for the first and the last."""
    t = np.array([0.0, 0.1, 0.25, 0.3, 0.5])
    np.savez(tmp_path / "a.npz", t=t, q=(3.0 * t**2)[:, None], tau=np.zeros((5, 1)))
    samples = joint_samples(read_table(tmp_path / "a.npz", ("one",)))
    np.testing.assert_allclose(samples.qd[1:-1, 0], 6.0 * t[1:-1], rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"t": [0.0, 0.0, 1.0]}, "stamps must increase"), ({"tau": [[1.0]]}, "tau must have shape"), ({}, "too few rows")],
)
def test_a_table_without_velocities_that_is_no_log_is_refused(
    change: dict[str, list[float]], message: str, tmp_path: Path
) -> None:
    few = slice(None) if change else slice(2)
    arrays = {"t": np.arange(3.0)[few], "q": np.zeros((3, 1))[few], "tau": np.zeros((3, 1))[few]}
    np.savez(tmp_path / "a.npz", **(arrays | {name: np.array(value) for name, value in change.items()}))
    with pytest.raises(LogError, match=message):
        joint_samples(read_table(tmp_path / "a.npz", ("one",)))
