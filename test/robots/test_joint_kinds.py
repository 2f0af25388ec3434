# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinds import joint_kinds, spread

GO2 = load_robot("go2")


def test_legs_share_their_kinds_of_joints():
    names, which = joint_kinds(GO2)
    assert names == ("hip", "thigh", "calf")
    assert which.tolist() == [0, 1, 2] * 4


def test_sides_of_the_g1_share_theirs_and_its_waist_stands_alone():
    robot = load_robot("g1")
    names, which = joint_kinds(robot)
    left, right = (robot.joint_names.index(f"{side}_knee_joint") for side in ("left", "right"))
    assert which[left] == which[right]
    assert "waist_yaw" in names


@pytest.mark.parametrize(
    ("values", "expected"),
    [((3.0,), [3.0] * 12), ((1.0, 2.0, 3.0), [1.0, 2.0, 3.0] * 4), (tuple(range(12)), list(range(12)))],
)
def test_numbers_for_all_for_kinds_or_for_each(values, expected):
    np.testing.assert_array_equal(spread(values, GO2, "gain"), expected)


def test_any_other_count_is_refused():
    with pytest.raises(ConfigError, match=r"'gain' needs 1, 3 \(hip, thigh, calf\) or 12 numbers .* got 2"):
        spread((1.0, 2.0), GO2, "gain")
