# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared.actuator_stand import leg

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.command_reader import RawSetPoints, read_set_points
from sysid_nodes.logs.writer import BagWriter
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.actuators.recording import recorded_log, torque_log

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
        ([points([1.0], [[0.0] * 4], names=(*NAMES, NAMES[1]))], f"command 0 has joint '{NAMES[1]}' twice"),
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


MOTOR = "float32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\nfloat32 kd\n"
LOW = {"unitree_go/msg/MotorCmd": MOTOR, "unitree_go/msg/LowCmd": "unitree_go/MotorCmd[20] motor_cmd\n"}


def test_unitrees_commands_are_read_by_the_recordings_own_definition(tmp_path: Path) -> None:
    """Motors are in the vendor's order, right legs first, and the bag says what a LowCmd is."""
    motors = load_robot("go2").motor_order
    with BagWriter(tmp_path / "bag", definitions=LOW) as bag:
        bag.add_topic("/lowcmd", "unitree_go/msg/LowCmd")
        for k in range(4):
            told = [{"q": 0.5 * m, "dq": 1.0, "tau": 0.25, "kp": 20.0 if k else 5.0, "kd": 1.0} for m in range(20)]
            bag.write("/lowcmd", 1.0 + 0.01 * k, {"motor_cmd": told})
    with pytest.raises(LogError, match="whose motors are these"):
        read_set_points(tmp_path / "bag", "/lowcmd")
    commands = list(read_set_points(tmp_path / "bag", "/lowcmd", motors))
    assert commands[0].names == motors
    log = recorded_log(leg(), states(), commands)
    assert log.names == leg().joint_names
    np.testing.assert_allclose(log.command[0], [0.5 * motors.index(name) for name in log.names])
    np.testing.assert_allclose(log.torque, 0.25)
    np.testing.assert_allclose(log.command_rate, 1.0)
    # The first command has other gains than the rest: it is left out, and that is said.
    np.testing.assert_allclose(log.stiffness, 20.0)
    np.testing.assert_allclose(log.command_t, [1.01, 1.02, 1.03], atol=1e-9)
    assert log.t[0] >= 1.01 - 1e-9
    assert "gains change" in log.notes[0]


def test_a_log_without_commands_is_driven_by_its_efforts() -> None:
    told = [
        RawJointState(1.0 + 0.01 * k, NAMES, np.array([k, 0.0, 1.0]), EMPTY, np.array([3.0, 1.0, 2.0]))
        for k in range(5)
    ]
    log = torque_log(leg(), told)
    np.testing.assert_allclose(log.torque, np.tile([1.0, 2.0, 3.0], (5, 1)))
    np.testing.assert_array_equal(log.stiffness, 0.0)
    with pytest.raises(LogError, match="no effort"):
        torque_log(leg(), states())
