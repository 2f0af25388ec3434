# SPDX-License-Identifier: Apache-2.0
"""Force sensors of feet: three kinds of messages, whose times they are, and one line for what is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_nodes.exceptions import ConfigError, LogError
from sysid_nodes.logs import BagWriter, stamp_fields
from sysid_nodes.logs.foot_force_reader import FootForce, read_foot_forces

FEET = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
T = 100.0 + 0.01 * np.arange(50)
DELAY = 0.003
"""From a stamp to its recording [s]."""

LOW_STATE = "int16[4] foot_force\nuint32 tick\n"


@pytest.fixture(scope="module")
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("feet") / "bag"
    with BagWriter(path, storage="mcap", definitions={"unitree_go/msg/LowState": LOW_STATE}) as bag:
        bag.add_topic("/joint_states", "sensor_msgs/msg/JointState")
        bag.add_topic("/fl", "geometry_msgs/msg/WrenchStamped")
        bag.add_topic("/fr", "std_msgs/msg/Float64")
        bag.add_topic("/lowstate", "unitree_go/msg/LowState")
        for k, t in enumerate(T):
            now, header = round(1e9 * (t + DELAY)), {"stamp": stamp_fields(t), "frame_id": ""}
            bag.write("/joint_states", now, {"header": header, "name": ["a"], "position": [0.0]})
            force = {"x": 3.0 * k, "y": 0.0, "z": 4.0 * k}
            bag.write("/fl", now + 50_000_000, {"header": header, "wrench": {"force": force}})
            bag.write("/fr", now, {"data": 2.0 * k})
            bag.write("/lowstate", now, {"foot_force": [k, 10 * k, 100 * k, 200 * k], "tick": k})
    return path


def read(bag: Path, *given: str) -> dict[str, FootForce]:
    return read_foot_forces(bag, given, FEET, "/joint_states")


def test_a_wrench_has_stamps_of_its_own_and_the_length_of_its_force(bag: Path) -> None:
    force = read(bag, "FL=fl")["FL_foot"]
    np.testing.assert_allclose(force.t, T, atol=1e-6)
    np.testing.assert_allclose(force.reading, 5.0 * np.arange(50))
    assert force.topic == "/fl"


def test_what_has_no_stamp_counts_from_its_recording_as_joint_states_do(bag: Path) -> None:
    force = read(bag, "FR_foot=/fr")["FR_foot"]
    np.testing.assert_allclose(force.t, T, atol=1e-6)
    np.testing.assert_allclose(force.reading, 2.0 * np.arange(50))


def test_a_low_state_has_four_feet_in_the_vendors_order(bag: Path) -> None:
    found = read(bag, "lowstate")
    largest = {name: force.reading[-1] for name, force in found.items()}
    assert largest == {"FR_foot": 49.0, "FL_foot": 490.0, "RR_foot": 4900.0, "RL_foot": 9800.0}
    np.testing.assert_allclose(found["RL_foot"].t, T, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("F=/fl",), "'F' is several feet of the robot: FL_foot, FR_foot, RL_foot, RR_foot"),
        (("tail=/fl",), "'tail' is no foot of the robot: FL_foot, FR_foot, RL_foot, RR_foot"),
        (("FL=/fl", "FL_foot=/fr"), "the force of foot 'FL_foot' is given twice"),
        (("lowstate", "FL=/fl"), "the force of foot 'FL_foot' is given twice"),
        (("FL=/lowstate",), "foot forces of unitree_go/msg/LowState are given as the topic alone, got 'FL=/lowstate'"),
        (("FL=/joint_states",), "topic '/joint_states' is of type sensor_msgs/msg/JointState: no foot force"),
    ],
)
def test_what_cannot_be_is_named(bag: Path, given: tuple[str, ...], line: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read(bag, *given)
    assert line in str(raised.value)


def test_a_foot_has_to_be_named_for_its_topic(bag: Path) -> None:
    with pytest.raises(ConfigError, match="are given as FOOT=TOPIC, got '/fl'"):
        read(bag, "/fl")


def test_a_topic_that_is_not_there_is_named(bag: Path) -> None:
    with pytest.raises(LogError, match="has no topic '/nowhere'"):
        read(bag, "FL=/nowhere")
