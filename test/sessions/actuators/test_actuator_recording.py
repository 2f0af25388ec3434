# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from shared.actuator_stand import leg

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.sessions.actuators.recording import recorded_log

NAMES = ("FL_calf_joint", "FL_hip_joint", "FL_thigh_joint")
EMPTY = np.zeros(0)


def states(count: int = 5) -> list[RawJointState]:
    return [RawJointState(1.0 + 0.01 * k, NAMES, np.array([k, 0.0, 1.0]), EMPTY, EMPTY) for k in range(count)]


def points(
    t: list[float], q: list[list[float]], *, stamped: bool = True, names: tuple[str, ...] = NAMES
) -> RawSetPoints:
    return RawSetPoints(t[0], stamped, names, np.array(t), np.array(q), None)


def test_columns_come_in_the_robots_order_and_velocities_are_not_needed() -> None:
    log = recorded_log(leg(), states(), [points([1.0], [[3.0, 1.0, 2.0]]), points([1.02], [[6.0, 4.0, 5.0]])])
    assert log.names == leg().joint_names
    np.testing.assert_array_equal(log.q[2], [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(log.command, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    np.testing.assert_allclose(log.command_t, [1.0, 1.02])
    assert log.command_rate is None


def test_a_trajectory_is_sampled_as_its_controller_joins_it() -> None:
    log = recorded_log(leg(), states(), [points([1.0, 1.04], [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0]])])
    np.testing.assert_allclose(log.command[:, 2], np.clip((log.command_t - 1.0) * 100.0, 0.0, 4.0), atol=1e-9)


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ([points([1.0], [[0.0]], names=("FL_hip_joint",))], "command 0 has no joint 'FL_thigh_joint'"),
        ([points([1.0], [[0.0, 0.0, 0.0]], stamped=False)], "command 0 has no stamp"),
        ([RawSetPoints(1.0, True, NAMES, EMPTY, np.zeros((0, 3)), None)], "no command with a point"),
        ([points([1.0, 0.9], [[0.0] * 3] * 2)], "command 0: the times of set-points must increase"),
    ],
)
def test_commands_that_cannot_be_used_are_refused(commands: list[RawSetPoints], message: str) -> None:
    with pytest.raises(LogError, match=message):
        recorded_log(leg(), states(), commands)


def test_encoders_that_cannot_be_used_are_refused() -> None:
    other = [RawJointState(1.0, ("a",), np.zeros(1), EMPTY, EMPTY)]
    with pytest.raises(LogError, match="no usable joint state"):
        recorded_log(leg(), other, [points([1.0], [[0.0, 0.0, 0.0]])])
