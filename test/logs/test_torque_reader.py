# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.torque_reader import TORQUE_COMMAND, RawTorques, read_torques
from sysid_nodes.logs.writer import BagWriter


def commanded(folder: Path, torque: list[float]) -> list[RawTorques]:
    header = {"stamp": {"sec": 2, "nanosec": 500_000_000}}
    with BagWriter(folder / "bag") as bag:
        bag.add_topic("/torque_command", TORQUE_COMMAND)
        bag.write("/torque_command", 9.0, {"header": header, "joint_names": ["a", "b"], "torque": torque})
    return list(read_torques(folder / "bag", "/torque_command"))


def test_a_command_counts_from_the_joint_state_that_it_answers(tmp_path: Path) -> None:
    (found,) = commanded(tmp_path, [1.0, -2.0])
    assert (found.stamp, found.names) == (2.5, ("a", "b"))
    np.testing.assert_array_equal(found.torque, [1.0, -2.0])


def test_a_command_without_a_torque_for_each_joint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="1 torques for 2 joints"):
        commanded(tmp_path, [1.0])
