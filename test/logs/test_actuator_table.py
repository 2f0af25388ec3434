# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.actuator_table import read_actuator_table

GOOD: dict[str, Any] = {
    "time": np.array([0.0, 0.1, 0.2]),
    "dof_pos": np.arange(6.0).reshape(3, 2),
    "des_dof_pos": np.ones((3, 2)),
    "kp": np.array([20.0, 30.0]),
}


def test_an_archive_is_a_log(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **GOOD)
    log = read_actuator_table(tmp_path / "a.npz", ("one", "two"))
    assert log.names == ("one", "two")
    np.testing.assert_array_equal(log.q, GOOD["dof_pos"])
    assert log.stiffness is not None and log.stiffness.tolist() == [20.0, 30.0]
    assert log.damping is None


def test_a_text_file_is_a_log(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("t,command_b,q_b\n0.0,1.0,2.0\n0.5,3.0,4.0\n", encoding="utf-8")
    log = read_actuator_table(path)
    assert log.names == ("b",)
    assert (log.t.tolist(), log.q.tolist(), log.command.tolist()) == ([0.0, 0.5], [[2.0], [4.0]], [[1.0], [3.0]])


def test_a_text_file_may_state_gains_in_every_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = "t,q_a,q_b,command_a,command_b,kp_a,kp_b\n0,1,2,3,4,20,30\n1,1,2,3,4,20,30\n"
    path.write_text(rows, encoding="utf-8")
    log = read_actuator_table(path)
    assert log.stiffness is not None and log.stiffness.tolist() == [20.0, 30.0]
    assert log.damping is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dof_pos": None}, "has no 'dof_pos' or 'q'; it has des_dof_pos, kp, time"),
        ({"dof_pos": np.zeros((3, 4))}, "do not fit 2 joint names"),
        ({"time": np.array([0.0, 0.2, 0.1])}, "t must increase"),
        ({"des_dof_pos": np.full((3, 2), np.nan)}, "command of joint 'one' is not finite"),
        ({"dof_pos": np.array([["a"]])}, "does not hold numbers"),
        ({"kp": np.array([1.0, 2.0, 3.0])}, r"'kp' of shape \(3,\) does not fit 2 joint names"),
        ({"joint_names": np.array(["x"])}, "do not fit 1 joint names"),
    ],
)
def test_an_archive_that_is_no_log_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{name: value for name, value in (GOOD | change).items() if value is not None})
    with pytest.raises(LogError, match=message):
        read_actuator_table(tmp_path / "a.npz", ("one", "two"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t,q_a\n0,1\n1,2\n", "has no 'des_dof_pos' or 'command'; it has q, t"),
        ("x\n1\n2\n", "has no column 't'"),
        ("t\n1\n2\n", "has no column 'q_NAME'"),
        ("t,q_a,command_a\n0,x,1\n", "holds what is not a number"),
        ("t,q_a,command_a,kp_a\n0,1,1,20\n1,1,1,25\n", "'kp' of joint 'a' changes on the way"),
        ("t,q_a,command_a,kp_a\n0,1,1,nan\n1,1,1,nan\n", "stiffness of joint 'a' is not finite"),
        ("t,q_a,q_b,command_a,command_b,kp_a\n0,1,1,1,1,20\n", "has no column 'kp_b'"),
        ("t,q_a,command_a\n0,1\n", "does not have 3 cells"),
        ("t,q_a,command_a\n", "has no rows"),
    ],
)
def test_a_text_file_that_is_no_log_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(LogError, match=message):
        read_actuator_table(tmp_path / "a.csv")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK no archive")
    with pytest.raises(LogError, match="is damaged"):
        read_actuator_table(tmp_path / "a.npz")
    with pytest.raises(LogError, match=r"neither .npz nor .csv"):
        read_actuator_table(tmp_path / "a.mat")
    with pytest.raises(LogError, match="No such file"):
        read_actuator_table(tmp_path / "b.csv")
